"""The hash of a row under a projection: the sum of its columns' hashes, mixed.

Columns are hashed once; every projection costs additions only. The last mixing ties the values of a row
together, so that sums over rows (fingerprint.py) depend on which values were in one row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from r2d2.engine.kernels.column_hash import hash_column, hashed_in_blocks
from r2d2.engine.kernels.keys import Token
from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import BLOCK_ROWS, Hashes, Words, mix, secret_words

ALL_BITS = 128
_SMALL_BATCH = BLOCK_ROWS // 8  # chunks smaller than this are combined first
_LOOK_BACK = 64  # earlier projections considered as a start for the next


def hash_rows(
    columns: Mapping[Token, pa.ChunkedArray],
    *,
    projections: Sequence[Collection[Token]],
    key: bytes,
    bits: int = ALL_BITS,
) -> list[Hashes]:
    """For each projection the hashes of all rows, shape (2, rows).

    Takes 16 bytes per row and projection, so the caller bounds the rows of a slice. With fewer than 128
    *bits* only that many of the upper ones are kept: tests do so to make collisions common.
    """
    if not 1 <= bits <= ALL_BITS:
        raise ValueError(f"a row hash has 1 to {ALL_BITS} bits, not {bits}")
    if not all(projections):
        raise ValueError("a projection without columns has no rows to hash")
    tokens = sorted({token for projection in projections for token in projection})
    sums = plan_sums([{tokens.index(token) for token in projection} for projection in projections])
    out = [np.zeros((2, len(columns[tokens[0]])), np.uint64) for _ in projections]
    secrets = secret_words(key=key, purpose=b"row", count=2)
    LOOPS.expect(sum(len(columns[token]) for token in tokens))
    begin = 0
    for hashes in _blocks([(token, columns[token]) for token in tokens], key):
        end = begin + hashes[0].shape[1]
        parts = [part[:, begin:end] for part in out]
        _add_up(hashes, sums, parts)
        for part in parts:
            _finish(part, secrets, bits)
        begin = end
    return out


class Sum(NamedTuple):
    """Plan of one projection's sum: an earlier projection or zero as start, columns to add and to subtract."""

    projection: int
    start: int | None
    add: list[int]
    subtract: list[int]


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


def _blocks(columns: Sequence[tuple[Token, pa.ChunkedArray]], key: bytes) -> Iterator[list[Hashes]]:
    """The columns' hashes, in blocks of rows that fit into the processor's cache."""
    whole = {
        place: hash_column(column, token=token, key=key)
        for place, (token, column) in enumerate(columns)
        if not hashed_in_blocks(column.type, token=token)
    }
    begin = 0
    for batch in _batches([column for _, column in columns]):
        end = begin + batch.num_rows
        yield [
            whole[place][:, begin:end] if place in whole else hash_column(batch.column(place), token=token, key=key)
            for place, (token, _) in enumerate(columns)
        ]
        begin = end


def _batches(columns: Sequence[pa.ChunkedArray]) -> list[pa.RecordBatch]:
    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    batches = table.to_batches(max_chunksize=BLOCK_ROWS)
    if len(batches) > 1 and table.num_rows < len(batches) * _SMALL_BATCH:
        batches = table.combine_chunks().to_batches(max_chunksize=BLOCK_ROWS)
    return [batch for batch in batches if batch.num_rows]


def _add_up(hashes: Sequence[Hashes], sums: Sequence[Sum], out: Sequence[Hashes]) -> None:
    for projection, start, add, subtract in sums:
        total = out[projection]
        if start is not None:
            total[:] = out[start]
        for place in add:
            total += hashes[place]
        for place in subtract:
            total -= hashes[place]


def _finish(total: Hashes, secrets: Words, bits: int) -> None:
    """Mix the sums so that each half depends on both, and keep the upper *bits*."""
    first, second = total
    if LOOPS.compiled:
        LOOPS.compiled.finish(first, second, secrets[0], secrets[1], _upper_bits(bits), _upper_bits(bits - 64))
        return
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
