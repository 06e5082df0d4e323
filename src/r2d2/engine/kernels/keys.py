"""Kinds of value that a hash distinguishes, and each column's secrets for them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import (
    Hashes,
    Words,
    first_position_secrets,
    mix_pair,
    position_secrets,
    secret_words,
)

Token = tuple[str, ...]
Kinds = int | NDArray[np.uint8]  # one Kind for a whole block, or one for each value


class NotComparable(ValueError):
    """The values of a column have no defined row identity, for a `reason`."""

    def __init__(self, reason: str, *, token: Token = ()) -> None:
        where = f"column {'.'.join(token)}" if token else "values"
        super().__init__(f"{where} cannot be compared: {reason}")
        self.reason = reason
        self.token = token


class Kind(IntEnum):
    """Meaning of one word of payload. Equal payloads of two kinds are different values."""

    NULL = 0
    BOOLEAN = 1
    INTEGER = 2  # a number that is an integer of 64 bits
    DOUBLE = 3  # any other number that a double holds exactly, and NaN, the infinities, -0.0
    DATE = 4
    TIME = 5
    INSTANT = 6  # and 7, 8, 9: see temporal.py
    LOCAL = 10  # and 11, 12, 13
    DURATION = 14  # and 15, 16, 17
    DECIMAL = 18  # + scale: any other number, unscaled, without trailing zeros
    LENGTH = 18 + 77  # of a list or map
    LIST = 18 + 78
    MAP = 18 + 79
    STRUCT = 18 + 80


LARGEST_SCALE = 76  # of a decimal of 256 bits; Kind.DECIMAL + scale goes up to it
_KINDS = Kind.STRUCT + 1
_KEPT_POSITIONS = 1024


class Chain(IntEnum):
    """Kinds of values of several words, each position with secrets of its own."""

    STRING = 0
    BINARY = 1
    WIDE_DECIMAL = 2
    LIST = 3


class ColumnKeys:
    """The secrets of one column, or of one level inside a nested one."""

    def __init__(self, path: bytes, key: bytes) -> None:
        words = secret_words(key=key, purpose=path, count=2 * (_KINDS + len(Chain)))
        self.first, self.second, seeds = np.split(words, [_KINDS, 2 * _KINDS])
        self._seeds = seeds.reshape(2, len(Chain))
        self._path = path
        self._key = key

    def seeds(self, kind: Chain) -> tuple[np.uint64, np.uint64]:
        """Seeds of the position secrets of both halves."""
        return self._seeds[0, kind], self._seeds[1, kind]

    def positions(self, kind: Chain, count: int) -> tuple[Words, Words]:
        """The secrets of the first *count* positions (or a few more), for both halves."""
        enough = max(16, 1 << count.bit_length())
        first, second = self.seeds(kind)
        if enough > _KEPT_POSITIONS:
            return position_secrets(first, 0, count), position_secrets(second, 0, count)
        return first_position_secrets(first, enough), first_position_secrets(second, enough)

    def inside(self, mark: bytes, name: str = "") -> ColumnKeys:
        """The secrets one level down: an element, a map's key or value, the field *name*."""
        return _column_keys(self._path + _step(mark, name), self._key)


def column_keys(token: Sequence[str], key: bytes) -> ColumnKeys:
    """The secrets of the column *token*. The tuple counts: ("a.b",) is not ("a", "b")."""
    return _column_keys(b"".join(_step(b"c", part) for part in token), key)


def hash_word(words: Words, kinds: Kinds, *, keys: ColumnKeys, out: Hashes) -> None:
    """Hash values of one word, all of one kind or each of its own, into both halves."""
    if isinstance(kinds, int):
        mix_pair(words, keys.first[kinds], keys.second[kinds], out)
    elif LOOPS.compiled:
        LOOPS.compiled.mix_by_kind(np.ascontiguousarray(words), kinds, keys.first, keys.second, out[0], out[1])
    else:
        mix_pair(words, keys.first.take(kinds), keys.second.take(kinds), out)


@lru_cache(maxsize=8192)
def _column_keys(path: bytes, key: bytes) -> ColumnKeys:
    return ColumnKeys(path, key)


def _step(mark: bytes, name: str) -> bytes:
    text = name.encode("utf-8", "surrogatepass")
    return mark + struct.pack("<I", len(text)) + text
