"""The hash of a row under a projection: the sum of its columns' hashes, mixed.

Columns are hashed once; every projection costs additions only. The last mixing ties the values of a row
together, so that sums over rows (fingerprint.py) depend on which values were in one row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from r2d2.engine.kernels.column_hash import hash_column, hash_into, hashed_in_blocks
from r2d2.engine.kernels.keys import Token
from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import BLOCK_ROWS, Hashes, Words, mix, secret_words
from r2d2.engine.kernels.scratch import scratch

ALL_BITS = 128
_SMALL_BATCH = BLOCK_ROWS // 8  # chunks smaller than this are combined first
_BLOCK_BYTES = 64 << 20  # of the hashes of a block's columns, where there are very many columns
_LEAST_ROWS = 1024
_TILE = 1024  # rows that are summed at a time: they stay in the fastest cache
_ROWS_WORTH_A_PLAN = 4096
_LOOK_BACK = 64  # earlier projections considered as a start for the next


def hash_rows(
    columns: Mapping[Token, pa.ChunkedArray],
    *,
    projections: Sequence[Collection[Token]],
    key: bytes,
    bits: int = ALL_BITS,
    into: Words | None = None,
) -> list[Hashes]:
    """For each projection the hashes of all rows, shape (2, rows).

    Takes 16 bytes per row and projection, so the caller bounds the rows of a slice; *into* is memory for them, shape
    (projections, 2, rows). With fewer than 128 *bits* only that many of the upper ones are kept: tests do so to make
    collisions common.
    """
    if not 1 <= bits <= ALL_BITS:
        raise ValueError(f"a row hash has 1 to {ALL_BITS} bits, not {bits}")
    if not all(projections):
        raise ValueError("a projection without columns has no rows to hash")
    tokens = sorted({token for projection in projections for token in projection})
    places = {token: place for place, token in enumerate(tokens)}
    members = [[places[token] for token in projection] for projection in projections]
    rows = len(columns[tokens[0]]) if tokens else 0
    secrets = secret_words(key=key, purpose=b"row", count=2)
    LOOPS.expect(len(tokens) * rows)
    summing = _Compiled if LOOPS.compiled else _Plain
    out = np.empty((len(members), 2, rows), np.uint64) if into is None else into
    sums = summing(members, secrets, bits, out)
    begin = 0
    for hashes in _blocks([(token, columns[token]) for token in tokens], key):
        sums.add_block(hashes, begin)
        begin += hashes.shape[2]
    return list(out)


class _Plain:
    """The sums of all projections, with NumPy."""

    def __init__(self, members: Sequence[Collection[int]], secrets: Words, bits: int, out: Words) -> None:
        self._out = out
        self._sums = plan_sums(members) if out.shape[2] >= _ROWS_WORTH_A_PLAN else sum_each(members)
        self._secrets = secrets
        self._bits = bits

    def add_block(self, hashes: Hashes, begin: int) -> None:
        """Sum the hashes of a block's columns for the rows from *begin* on."""
        parts = self._out[:, :, begin : begin + hashes.shape[2]]
        _add_up(hashes, self._sums, parts)
        for part in parts:
            _finish(part, self._secrets, self._bits)


class _Compiled:
    """The same, in one compiled pass over a block."""

    def __init__(self, members: Sequence[Collection[int]], secrets: Words, bits: int, out: Words) -> None:
        self._out = out
        plan = plan_sums(members) if out.shape[2] >= _ROWS_WORTH_A_PLAN else sum_each(members)
        self._order = np.array([step.projection for step in plan], np.int64)
        self._bases = np.array([-1 if step.start is None else step.start for step in plan], np.int64)
        self._columns = np.array([c for step in plan for c in (*step.add, *(-1 - c for c in step.subtract))], np.int64)
        self._ends = np.cumsum([len(step.add) + len(step.subtract) for step in plan], dtype=np.int64)
        self._sums = scratch("sums", len(members), 2, _TILE)
        self._mixing = np.array([*secrets, _upper_bits(bits), _upper_bits(bits - 64)], np.uint64)

    def add_block(self, hashes: Hashes, begin: int) -> None:
        """Sum the hashes of a block's columns for the rows from *begin* on."""
        assert LOOPS.compiled
        LOOPS.compiled.add_up(
            hashes,
            self._order,
            self._bases,
            self._columns,
            self._ends,
            begin,
            self._mixing,
            self._sums,
            self._out,
        )


class Sum(NamedTuple):
    """Plan of one projection's sum: an earlier projection or zero as start, columns to add and to subtract."""

    projection: int
    start: int | None
    add: list[int]
    subtract: list[int]


def sum_each(projections: Sequence[Collection[int]]) -> list[Sum]:
    """Plan each projection as the sum of its columns: for few rows that costs less than a better plan."""
    return [Sum(number, None, sorted(projection), []) for number, projection in enumerate(projections)]


def plan_sums(projections: Sequence[Collection[int]]) -> list[Sum]:
    """Plan the projections from small to large, each starting from the most similar earlier one.

    >>> [(step.projection, step.start, step.add) for step in plan_sums([{0, 1, 2, 3}, {0, 1, 3}])]
    [(1, None, [0, 1, 3]), (0, 1, [2])]
    """
    chosen = [frozenset(projection) for projection in projections]
    plan: list[Sum] = []
    for number in sorted(range(len(chosen)), key=lambda number: len(chosen[number])):
        starts = [step.projection for step in plan[-_LOOK_BACK:]]
        nearest = min(starts, key=lambda start: len(chosen[start] ^ chosen[number]), default=None)
        if nearest is None or len(chosen[nearest] ^ chosen[number]) >= len(chosen[number]):
            plan.append(Sum(number, None, sorted(chosen[number]), []))
        else:
            add, subtract = chosen[number] - chosen[nearest], chosen[nearest] - chosen[number]
            plan.append(Sum(number, nearest, sorted(add), sorted(subtract)))
    return plan


def _blocks(columns: Sequence[tuple[Token, pa.ChunkedArray]], key: bytes) -> Iterator[Hashes]:
    """The columns' hashes, (columns, 2, rows), in blocks of rows that fit into the processor's cache."""
    whole = {
        place: hash_column(column, token=token, key=key)
        for place, (token, column) in enumerate(columns)
        if not hashed_in_blocks(column.type, token=token)
    }
    begin = 0
    for batch in _batches([column for _, column in columns]):
        end = begin + batch.num_rows
        hashes = np.empty((len(columns), 2, batch.num_rows), np.uint64)
        for place, (token, _) in enumerate(columns):
            if place in whole:
                hashes[place] = whole[place][:, begin:end]
            else:
                hash_into(batch.column(place), token=token, key=key, out=hashes[place])
        yield hashes
        begin = end


def _batches(columns: Sequence[pa.ChunkedArray]) -> list[pa.RecordBatch]:
    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    most = max(_LEAST_ROWS, min(BLOCK_ROWS, _BLOCK_BYTES // (16 * max(1, len(columns)))))
    batches = table.to_batches(max_chunksize=most)
    if len(batches) > 1 and table.num_rows < len(batches) * min(_SMALL_BATCH, most // 2):
        batches = table.combine_chunks().to_batches(max_chunksize=most)
    return [batch for batch in batches if batch.num_rows]


def _add_up(hashes: Hashes, sums: Sequence[Sum], out: Hashes) -> None:
    for projection, start, add, subtract in sums:
        total = out[projection]
        total[:] = 0 if start is None else out[start]
        for place in add:
            total += hashes[place]
        for place in subtract:
            total -= hashes[place]


def _finish(total: Hashes, secrets: Words, bits: int) -> None:
    """Mix the sums so that each half depends on both, and keep the upper *bits*."""
    first, second = total
    first ^= secrets[0]
    mix(first)
    second ^= secrets[1]
    second ^= first
    mix(second)
    first += second
    if bits < ALL_BITS:
        first &= _upper_bits(bits)
        second &= _upper_bits(bits - 64)


def _upper_bits(bits: int) -> np.uint64:
    bits = min(max(bits, 0), 64)
    return np.uint64((2**64 - 1) >> (64 - bits) << (64 - bits))
