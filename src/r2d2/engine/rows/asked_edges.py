"""The edges that an exchange counts: columns of table numbers, projection by projection.

They travel as blocks to the groups of their projection only, thinned by differences, about a byte an edge; the counts
of a group travel back alike.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.contract import Block
from r2d2.model.schema import Token
from r2d2.model.work import Projection

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]  # of tables

EDGES = -1  # stands for the table of a block that holds edges
EDGES_PER_BLOCK = 1 << 18
BYTES_PER_EDGE = 8  # at most, compressed or not, but for some bytes of every block
GROUP_BYTES = 16 << 20  # hashes that may meet in one group; some copies of them are made there
_HEADER = struct.Struct("<QIII")  # the first edge's place, edges, bytes of the first column, bytes of the second


@dataclass(frozen=True, slots=True, eq=False)
class AskedEdges:
    """Edges ordered by projection, parent and child."""

    parents: Numbers
    children: Numbers
    begins: Ints  # where the edges of each projection begin; one more for the end
    ranges: Sequence[int]  # hash ranges of each projection

    def __len__(self) -> int:
        return len(self.parents)

    def blocks(self, most_bytes: int) -> Iterator[Block]:
        """The edges as blocks of about *most_bytes* at most (0: any), for every range of their projection."""
        most = min(EDGES_PER_BLOCK, most_bytes // BYTES_PER_EDGE) if most_bytes else EDGES_PER_BLOCK
        for number, ranges in enumerate(self.ranges):
            for first in range(int(self.begins[number]), int(self.begins[number + 1]), most):
                last = min(first + most, int(self.begins[number + 1]))
                block = pack_edges(first, self.parents[first:last], self.children[first:last])
                yield from ((number, part, EDGES, [block]) for part in range(ranges))


NO_EDGES = AskedEdges(np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(1, np.int64), ())


class Columns(NamedTuple):
    """Two columns about a run of edges: parents and children, or missing rows and copies."""

    first: int  # the place of the first edge among all
    one: Ints
    other: Ints


def pack_edges(first: int, parents: Numbers, children: Numbers) -> bytes:
    """A run of edges as bytes."""
    thin = [np.diff(column, prepend=0).astype(np.int32) for column in (parents, children)]
    return _pack(first, thin[0], thin[1])


def unpack_edges(block: bytes | memoryview) -> Columns:
    """The run of edges that `pack_edges` packed."""
    ((first, parents, children),) = _unpacked(block, [np.dtype(np.int32)] * 2)
    return Columns(first, np.cumsum(parents), np.cumsum(children))


def pack_counts(first: int, rows: Ints, copies: Ints) -> bytes:
    """Missing rows and copies of a run of edges as bytes; nothing where nothing is missing."""
    return _pack(first, rows, copies - rows) if copies.any() else b""


def unpack_counts(counts: bytes | memoryview) -> Iterator[Columns]:
    """The runs that `pack_counts` packed, one after another."""
    for first, rows, more in _unpacked(counts, [np.dtype(np.int64)] * 2):
        yield Columns(first, rows, rows + more)


def _pack(first: int, one: npt.NDArray[np.signedinteger], other: npt.NDArray[np.signedinteger]) -> bytes:
    texts = [zlib.compress(column.tobytes(), 1) for column in (one, other)]
    return b"".join([_HEADER.pack(first, len(one), *map(len, texts)), *texts])


def _unpacked(packed: bytes | memoryview, kinds: Sequence[np.dtype[np.signedinteger]]) -> Iterator[Columns]:
    place = 0
    while place < len(packed):
        first, count, *sizes = _HEADER.unpack_from(packed, place)
        place += _HEADER.size
        columns = []
        for size, kind in zip(sizes, kinds, strict=True):
            text = zlib.decompress(packed[place : place + size])
            columns.append(np.frombuffer(text, kind, count=count).astype(np.int64))
            place += size
        yield Columns(first, *columns)


def share_projections(
    tables: Sequence[TableContent], pairs: Ints, at_no_cost: Ints
) -> tuple[dict[int, list[Projection]], AskedEdges]:
    """Per table what to hash it by, and the edges by projection. A projection is a child's set of columns.

    Pairs are ascending numbers, parent * tables + child. Those in *at_no_cost* join where the hashes that they need are
    there anyway.
    """
    numbers: dict[tuple[Token, ...], int] = {}
    projection_of = np.full(len(tables), -1, np.int64)
    for child in np.unique(pairs % len(tables)).tolist():
        projection_of[child] = numbers.setdefault(tuple(tables[child].tokens), len(numbers))
    for child in np.unique(at_no_cost % len(tables)).tolist():
        projection_of[child] = numbers.get(tuple(tables[child].tokens), -1)
    members = _members(pairs, projection_of)
    along = at_no_cost[_come_along(at_no_cost, projection_of, members)]
    by_projection = np.split(members % len(tables), np.searchsorted(members, np.arange(1, len(numbers)) * len(tables)))
    asked: defaultdict[int, list[Projection]] = defaultdict(list)
    ranges = []
    for (tokens, number), theirs in zip(numbers.items(), by_projection, strict=False):
        hashes_bytes = 16 * sum(tables[table].rows for table in theirs.tolist())
        ranges.append(1 + hashes_bytes // GROUP_BYTES)
        for table in theirs.tolist():
            asked[table].append((number, tokens, ranges[-1]))
    return asked, _in_order(np.union1d(pairs, along) if len(along) else pairs, projection_of, ranges)


def _members(pairs: Ints, projection_of: Ints) -> Ints:
    """Each projection and a table that is hashed by it, as one number, ascending."""
    tables = len(projection_of)
    parents, children = pairs // tables, pairs % tables
    both = [np.unique(projection_of[children] * tables + table) for table in (parents, children)]
    return np.union1d(*both)


def _come_along(pairs: Ints, projection_of: Ints, members: Ints) -> npt.NDArray[np.bool_]:
    tables = len(projection_of)
    parents, children = pairs // tables, pairs % tables
    number = projection_of[children]
    both = [np.isin(number * tables + table, members, assume_unique=False) for table in (parents, children)]
    return (number >= 0) & both[0] & both[1]


def _in_order(pairs: Ints, projection_of: Ints, ranges: Sequence[int]) -> AskedEdges:
    """The ascending pairs by projection."""
    tables = max(1, len(projection_of))
    number = projection_of.astype(np.int32)[pairs % tables]
    begins = np.searchsorted(np.sort(number), np.arange(len(ranges) + 1))
    pairs = pairs[np.argsort(number, kind="stable")]
    return AskedEdges((pairs // tables).astype(np.int32), (pairs % tables).astype(np.int32), begins, ranges)
