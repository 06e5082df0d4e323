"""Rows of a parent, labelled with the child's row that each equals, slice by slice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.recipes.cast import Columns
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.table_content import about_rows
from r2d2.model.schema import Token
from r2d2.model.work import ShippedSlice, TableRows

CACHED_CELLS = 12_000_000  # a parent with at most this many values is read once
OUTSIDE = -1  # the group of rows that the child does not have
Words = NDArray[np.uint64]
Groups = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The child's rows: distinct hashes (the first half of each), and the number of copies of each."""

    tokens: list[Token]
    hashes: Words
    counts: Groups

    @staticmethod
    def read(child: TableRows, hashing: Hashing) -> Wanted:
        """All rows of a child, read slice by slice."""
        tokens = [tuple(token) for token in child["tokens"]]
        parts = [hashing.rows(hashing.read(part, tokens), [tokens])[0][0] for part in child["slices"]]
        hashes, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *parts]), return_counts=True)
        return Wanted(tokens, hashes, counts.astype(np.int64))

    def groups(self, hashes: Words) -> Groups:
        """For each hash the number of the child's row that it equals; -1 without one."""
        if not len(self.hashes):
            return np.full(len(hashes), OUTSIDE, np.int64)
        places = np.searchsorted(self.hashes, hashes)
        places[places == len(self.hashes)] = 0
        return np.where(self.hashes[places] == hashes, places, OUTSIDE)


class Parent:
    """The parent's slices, read whenever needed, or once if all of it fits into memory."""

    def __init__(self, slices: Sequence[ShippedSlice], tokens: list[Token], hashing: Hashing) -> None:
        self.tokens = tokens
        self._slices = slices
        self._hashing = hashing
        rows = sum(map(about_rows, slices))
        self._keep = rows * len(tokens) <= CACHED_CELLS
        self._cache: dict[int, Columns] = {}

    def parts(self, tokens: Sequence[Token]) -> Iterator[tuple[ShippedSlice, Columns]]:
        """At least these columns, slice by slice."""
        for number, part in enumerate(self._slices):
            if not self._keep:
                yield part, self._hashing.read(part, tokens)
                continue
            if number not in self._cache:
                self._cache[number] = self._hashing.read(part, self.tokens)
            yield part, self._cache[number]

    def hashes(self, columns: Columns, tokens: list[Token]) -> Words:
        """The first half of each row's hash in the child's columns."""
        first: Words = self._hashing.rows(columns, [tokens])[0][0]
        return first
