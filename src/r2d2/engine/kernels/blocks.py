"""Sorted, distinct row hashes with their multiplicities: the unit that tasks exchange and compare.

128 bits decide, but the first 64 do the work: rows are sorted by the first half with their number packed
into its lowest bits (one fast sort of plain words), and the few remaining ties are sorted afterwards.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import HASH_VERSION, WORD, Hashes, Words
from r2d2.engine.kernels.scratch import scratch

_HEADER = struct.Struct("<4sHHQ")  # magic, hash version, bytes per count (0: all are one), distinct rows
_MAGIC, _UNSORTED = b"R2HB", b"R2HU"
_MOST_RANGES = 1 << 16
_LOOK_AT = 4096  # rows that tell whether there are many repetitions
_COUNT_TYPES: dict[int, np.dtype[np.unsignedinteger]] = {
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
    8: np.dtype("<u8"),
}


Pieces = Sequence[bytes | memoryview]  # of a packed block, one after another


class Source(Protocol):
    """The bytes of a packed block, wherever they lie."""

    @property
    def size(self) -> int:
        """How many they are."""

    def fill(self, start: int, into: Sequence[memoryview]) -> None:
        """Write them, from *start* on, into memory, one piece after another."""

    def all(self) -> bytes | memoryview:
        """All of them."""


@dataclass(frozen=True, slots=True, eq=False)
class HashBlock:
    """A multiset of rows."""

    hashes: Hashes  # (2, distinct rows), ascending by (first half, second half), distinct
    counts: NDArray[np.uint64] | None = None  # multiplicity of each; None: all are 1
    is_sorted: bool = True  # False: in any order and with repetitions, fit for `merge` only

    @property
    def distinct_rows(self) -> int:
        """Number of distinct rows."""
        return int(self.hashes.shape[1])

    @property
    def rows(self) -> int:
        """Number of rows, with multiplicity."""
        return self.distinct_rows if self.counts is None else int(self.counts.sum())

    def counts_at(self, places: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Multiplicities of the rows at some places."""
        return np.ones(len(places), np.uint64) if self.counts is None else self.counts[places]


def block_of(hashes: Hashes, counts: NDArray[np.uint64] | None = None) -> HashBlock:
    """The block of rows with these hashes, in any order and with repetitions."""
    if LOOPS.compiled and counts is None:
        return _compiled_block(LOOPS.compiled, hashes)
    order, hashes, ties = _sort(hashes)
    counts = None if counts is None else counts[order]
    again = ties[(hashes.take(ties, axis=1) == hashes.take(ties - 1, axis=1)).all(axis=0)]
    if not len(again):
        return HashBlock(hashes, counts)
    starts = np.delete(np.arange(hashes.shape[1]), again)
    if counts is None:
        counts = np.diff(starts, append=hashes.shape[1]).astype(np.uint64)
    else:
        counts = np.add.reduceat(counts, starts)
    return HashBlock(hashes.take(starts, axis=1), counts)


def _compiled_block(loops: ModuleType, hashes: Hashes) -> HashBlock:
    first, second = (np.ascontiguousarray(half) for half in hashes)
    return _sorted_into(loops, first, second, np.empty(hashes.shape, np.uint64))


def _sorted_into(loops: ModuleType, first: Words, second: Words, out: Hashes) -> HashBlock:
    """The block of rows, made in the memory of *out*."""
    count = len(first)
    counts, distinct = scratch("counts", count), np.zeros(1, np.int64)
    loops.sort_rows(first, second, scratch("first", count), scratch("second", count), out[0], out[1])
    loops.squeeze(out[0], out[1], counts, distinct)
    rows = int(distinct[0])
    return HashBlock(out[:, :rows], None if rows == count else counts[:rows].copy())


def merge(blocks: Sequence[HashBlock]) -> HashBlock:
    """The multiset sum of blocks: the slices of one table put together."""
    full = [block for block in blocks if block.distinct_rows]
    if len(full) == 1 and not full[0].is_sorted:
        return block_of(full[0].hashes)
    if len(full) < 2:
        return full[0] if full else HashBlock(np.empty((2, 0), np.uint64))
    counts = None
    if any(block.counts is not None for block in full):
        counts = np.concatenate([block.counts_at(np.arange(block.distinct_rows)) for block in full])
    return block_of(np.concatenate([block.hashes for block in full], axis=1), counts)


def split(block: HashBlock, ranges: int) -> list[HashBlock]:
    """The rows by hash range: range r holds the first halves from r * 2^64 / ranges on. No copy."""
    cuts = [0, *np.searchsorted(block.hashes[0], _range_bounds(ranges)[1:]).tolist(), block.distinct_rows]
    return [_part(block, slice(*cut)) for cut in pairwise(cuts)]


def pack_rows(hashes: Hashes, ranges: int, most_rows: int = 0) -> Iterator[tuple[int, Pieces]]:
    """Rows by hash range, as blocks that `unpack` takes together with others; empty ranges are left out.

    A block is given in pieces of memory that is used again for the next rows. With *most_rows* none has more rows.
    Where most rows are repeated, each goes once, with a count. Else they go as they are: they are sorted where the
    rows of a table come together.
    """
    for number, magic, part, counts in _cut(hashes, ranges):
        rows = part.shape[1]
        for begin in range(0, rows, most_rows or rows):
            some = slice(begin, begin + (most_rows or rows))
            yield number, _pack(magic, part[:, some], None if counts is None else counts[some])


def _cut(hashes: Hashes, ranges: int) -> Iterator[tuple[int, bytes, Hashes, NDArray[np.uint64] | None]]:
    count = hashes.shape[1]
    if not LOOPS.compiled or ranges > _MOST_RANGES or count <= _LOOK_AT or _repeats(hashes):
        block = block_of(hashes)
        for number, part in enumerate([block] if ranges == 1 else split(block, ranges)):
            if part.distinct_rows:
                yield number, _MAGIC, part.hashes, part.counts
        return
    out, ends = scratch("split", 2, count), np.zeros(ranges, np.int64)
    numbers = scratch("numbers", count // 4 + 1).view(np.uint16)[:count]
    first, second = (np.ascontiguousarray(half) for half in hashes)
    LOOPS.compiled.split_rows(first, second, _range_bounds(ranges), numbers, ends, out[0], out[1])
    for number, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        if begin < end:
            yield number, _UNSORTED, out[:, begin:end], None


def _repeats(hashes: Hashes) -> bool:
    """Whether the first rows tell that most are there several times."""
    some = block_of(hashes[:, :_LOOK_AT])
    return 2 * some.distinct_rows < some.rows


def _range_bounds(ranges: int) -> NDArray[np.uint64]:
    """The first hash of each range."""
    return np.array([-(-(number << 64) // ranges) for number in range(ranges)], np.uint64)


def unpack(tables: Sequence[Sequence[Source]]) -> list[HashBlock]:
    """For each table its rows in one hash range, put together from its blocks.

    They lie in memory that is used again at the next call.
    """
    headers = [[_header_of(source) for source in sources] for sources in tables]
    begins = np.cumsum([0, *(sum(header.rows for header in of) for of in headers)]).tolist()
    arena = scratch("arena", 2, begins[-1])
    return [
        _put_together(sources, of, arena[:, begin:end])
        for sources, of, (begin, end) in zip(tables, headers, pairwise(begins), strict=True)
    ]


def _put_together(sources: Sequence[Source], headers: Sequence[_Header], out: Hashes) -> HashBlock:
    if not LOOPS.compiled or not sources or any(header.magic != _UNSORTED for header in headers):
        return merge([from_bytes(source.all()) for source in sources])
    first, second = scratch("gathered", 2, out.shape[1])
    begin = 0
    for source, header in zip(sources, headers, strict=True):
        part = slice(begin, begin + header.rows)
        source.fill(_HEADER.size, [memoryview(half[part]).cast("B") for half in (first, second)])
        begin += header.rows
    return _sorted_into(LOOPS.compiled, first, second, out)


def _header_of(source: Source) -> _Header:
    begin = bytearray(min(_HEADER.size, source.size))
    source.fill(0, [memoryview(begin)])
    return _header(begin, source.size)


def to_bytes(block: HashBlock) -> bytes:
    """Header, first halves, second halves, counts (none if all are one)."""
    return b"".join(_pack(_MAGIC, block.hashes, block.counts))


def _pack(magic: bytes, hashes: Hashes, multiplicities: NDArray[np.uint64] | None) -> Pieces:
    counts, width = b"", 0
    if multiplicities is not None and len(multiplicities) and int(multiplicities.max()) > 1:
        largest = int(multiplicities.max())
        width = next(width for width in _COUNT_TYPES if largest < 256**width)
        counts = multiplicities.astype(_COUNT_TYPES[width]).tobytes()
    header = _HEADER.pack(magic, HASH_VERSION, width, hashes.shape[1])
    return header, memoryview(hashes[0]).cast("B"), memoryview(hashes[1]).cast("B"), counts


class _Header(NamedTuple):
    magic: bytes
    width: int  # bytes of a count
    rows: int


def _header(data: bytes | bytearray | memoryview, size: int) -> _Header:
    """The header of a block of so many bytes; ValueError for any other."""
    if size < _HEADER.size:
        raise ValueError(f"a hash block of {size} bytes is cut short")
    magic, version, width, rows = _HEADER.unpack_from(data)
    if magic not in (_MAGIC, _UNSORTED) or version != HASH_VERSION or width not in (0, *_COUNT_TYPES):
        raise ValueError(f"not a hash block of version {HASH_VERSION}: {magic!r} version {version}")
    if size != _HEADER.size + rows * (16 + width):
        raise ValueError(f"a hash block of {rows} rows has {size} bytes")
    return _Header(magic, width, rows)


def from_bytes(data: bytes | memoryview) -> HashBlock:
    """The block that was packed; ValueError for any other bytes."""
    magic, width, count = _header(data, len(data))
    hashes = np.frombuffer(data, WORD, count=2 * count, offset=_HEADER.size).reshape(2, count)
    hashes = np.require(hashes, requirements=["ALIGNED"])
    if magic == _UNSORTED:
        return HashBlock(hashes, is_sorted=False)
    if not width:
        return HashBlock(hashes)
    counts = np.frombuffer(data, _COUNT_TYPES[width], offset=_HEADER.size + 16 * count)
    return HashBlock(hashes, counts.astype(np.uint64))


def _part(block: HashBlock, rows: slice) -> HashBlock:
    return HashBlock(block.hashes[:, rows], None if block.counts is None else block.counts[rows])


def _sort(hashes: Hashes) -> tuple[NDArray[np.intp], Hashes, NDArray[np.intp]]:
    """The order that sorts rows by both halves, the sorted rows, and the places that may equal the one before."""
    count = hashes.shape[1]
    number = np.uint64((1 << max(count - 1, 1).bit_length()) - 1)
    packed = hashes[0] & ~number
    packed |= np.arange(count, dtype=np.uint64)
    packed.sort()
    order = (packed & number).view(np.int64).astype(np.intp, copy=False)
    packed &= ~number
    ties = np.flatnonzero(packed[1:] == packed[:-1]) + 1
    hashes = hashes.take(order, axis=1)
    return *_put_ties_in_order(order, hashes, ties), ties


def _put_ties_in_order(
    order: NDArray[np.intp], hashes: Hashes, ties: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Hashes]:
    """Sort the runs that share a sort key. Nearly all repeat one row and are in order already."""
    (first, second), (first_before, second_before) = hashes.take(ties, axis=1), hashes.take(ties - 1, axis=1)
    wrong = (first < first_before) | ((first == first_before) & (second < second_before))
    if wrong.any():
        rows = _whole_runs(ties, ties[wrong], len(order))
        correct = rows[np.lexsort((hashes[1][rows], hashes[0][rows]))]  # each run stays in its place
        order[rows] = order[correct]
        hashes[:, rows] = hashes[:, correct]
    return order, hashes


def _whole_runs(ties: NDArray[np.intp], some: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """All places of the runs to which *some* of the ties belong, ascending."""
    starts = np.delete(np.arange(count + 1), ties)
    runs = np.unique(np.searchsorted(starts, some, side="right")) - 1
    return np.concatenate([np.arange(starts[run], starts[run + 1]) for run in runs])
