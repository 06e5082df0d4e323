"""Sorted, distinct row hashes with their multiplicities: the unit that tasks exchange and compare.

128 bits decide, but the first 64 do the work: rows are sorted by the first half with their number packed
into its lowest bits (one fast sort of plain words), and the few remaining ties are sorted afterwards.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.mixing import HASH_VERSION, WORD, Hashes

_HEADER = struct.Struct("<4sHHQ")  # magic, hash version, bytes per count (0: all are one), distinct rows
_MAGIC = b"R2HB"
_COUNT_TYPES: dict[int, np.dtype[np.unsignedinteger]] = {
    1: np.dtype("u1"),
    2: np.dtype("<u2"),
    4: np.dtype("<u4"),
    8: np.dtype("<u8"),
}


@dataclass(frozen=True, slots=True, eq=False)
class HashBlock:
    """A multiset of rows."""

    hashes: Hashes  # (2, distinct rows), ascending by (first half, second half), distinct
    counts: NDArray[np.uint64] | None = None  # multiplicity of each; None: all are 1

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


def merge(blocks: Sequence[HashBlock]) -> HashBlock:
    """The multiset sum of blocks: the slices of one table put together."""
    full = [block for block in blocks if block.distinct_rows]
    if len(full) < 2:
        return full[0] if full else HashBlock(np.empty((2, 0), np.uint64))
    counts = None
    if any(block.counts is not None for block in full):
        counts = np.concatenate([block.counts_at(np.arange(block.distinct_rows)) for block in full])
    return block_of(np.concatenate([block.hashes for block in full], axis=1), counts)


def split(block: HashBlock, ranges: int) -> list[HashBlock]:
    """The rows by hash range: range r holds the first halves from r * 2^64 / ranges on. No copy."""
    bounds = np.array([-(-(number << 64) // ranges) for number in range(1, ranges)], np.uint64)
    cuts = [0, *np.searchsorted(block.hashes[0], bounds).tolist(), block.distinct_rows]
    return [_part(block, slice(*cut)) for cut in pairwise(cuts)]


def to_bytes(block: HashBlock) -> bytes:
    """Header, first halves, second halves, counts (none if all are one)."""
    counts, width = b"", 0
    if block.counts is not None and block.distinct_rows and int(block.counts.max()) > 1:
        largest = int(block.counts.max())
        width = next(width for width in _COUNT_TYPES if largest < 256**width)
        counts = block.counts.astype(_COUNT_TYPES[width]).tobytes()
    header = _HEADER.pack(_MAGIC, HASH_VERSION, width, block.distinct_rows)
    return b"".join([header, block.hashes[0].tobytes(), block.hashes[1].tobytes(), counts])


def from_bytes(data: bytes | memoryview) -> HashBlock:
    """The block that `to_bytes` wrote; ValueError for any other bytes."""
    if len(data) < _HEADER.size:
        raise ValueError(f"a hash block of {len(data)} bytes is cut short")
    magic, version, width, count = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != HASH_VERSION or width not in (0, *_COUNT_TYPES):
        raise ValueError(f"not a hash block of version {HASH_VERSION}: {magic!r} version {version}")
    if len(data) != _HEADER.size + count * (16 + width):
        raise ValueError(f"a hash block of {count} rows has {len(data)} bytes")
    hashes = np.frombuffer(data, WORD, count=2 * count, offset=_HEADER.size).reshape(2, count)
    hashes = np.require(hashes, requirements=["ALIGNED"])
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
