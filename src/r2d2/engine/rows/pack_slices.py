"""Tasks on slices whose rows are compared: hash them and pack the hashes.

Small slices with the same columns are hashed together: for few rows, getting started takes longer than hashing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from r2d2.engine.kernels import Hashes, pack_rows
from r2d2.engine.kernels.scratch import scratch
from r2d2.engine.rows.hash_slices import Columns, Hashing, failure, tokens_of
from r2d2.engine.run.contract import NOTE, Block
from r2d2.errors import TableError
from r2d2.model.schema import Token
from r2d2.model.work import HashWork

AT_ONCE_BYTES = 64 << 20  # of hashes, under all projections of some rows
LEAST_ROWS = 4096
SMALL_ROWS = 4096  # of a slice that waits to be hashed together with others …
TOGETHER_ROWS = 1 << 16  # … until they have so many
HASH_BYTES = 16


class _Read(NamedTuple):
    """A slice whose columns were read, and its rows."""

    piece: HashWork
    columns: Columns
    rows: int


def block_bundle(bundle: Sequence[HashWork], most_bytes: int, *, hashing: Hashing) -> Iterator[Block]:
    """The hashes of each slice under each of its projections, packed by hash range. A failure comes as a note."""
    most_rows = max(1, most_bytes // HASH_BYTES) if most_bytes else 0
    waiting: dict[object, list[_Read]] = {}
    for piece in bundle:
        try:
            columns = hashing.columns(piece["slice"], _wanted(piece))
        except TableError as error:
            yield _note(piece, error)
            continue
        read = _Read(piece, columns, len(next(iter(columns.values()), ())))
        if read.rows > SMALL_ROWS:
            yield from _packed([read], hashing, most_rows)
            continue
        alike = waiting.setdefault(_kind(read), [])
        alike.append(read)
        if sum(one.rows for one in alike) >= TOGETHER_ROWS:
            yield from _packed(waiting.pop(_kind(read)), hashing, most_rows)
    for alike in waiting.values():
        yield from _packed(alike, hashing, most_rows)


def _wanted(piece: HashWork) -> list[list[Token]]:
    return [tokens_of(tokens) for _, tokens, _ in piece["projections"]]


def _kind(read: _Read) -> object:
    """The projections and types that slices need to have in common to be hashed together."""
    projections = tuple(number for number, _, _ in read.piece["projections"])
    return projections, tuple(sorted((token, str(column.type)) for token, column in read.columns.items()))


def _packed(alike: Sequence[_Read], hashing: Hashing, most_rows: int) -> Iterator[Block]:
    """The blocks of slices that are hashed together."""
    wanted, begin = _wanted(alike[0].piece), 0
    try:
        for rows in _portions(_together(alike), wanted, hashing):
            for piece, some in _by_slice(alike, begin, begin + rows[0].shape[1]):
                for hashes, (number, _, ranges) in zip(rows, piece["projections"], strict=True):
                    for part, block in pack_rows(hashes[:, some], ranges, most_rows):
                        yield number, part, piece["table"], block
            begin += rows[0].shape[1]
    except TableError as error:
        yield from (_note(one.piece, error) for one in alike)


def _together(alike: Sequence[_Read]) -> Columns:
    if len(alike) == 1:
        return alike[0].columns
    import pyarrow as pa

    return {
        token: pa.chunked_array([chunk for one in alike for chunk in one.columns[token].chunks], column.type)
        for token, column in alike[0].columns.items()
    }


def _by_slice(alike: Sequence[_Read], begin: int, end: int) -> Iterator[tuple[HashWork, slice]]:
    """The slices that have some of the rows from *begin* to *end*, and the places of these among them."""
    for one, last in zip(alike, accumulate(one.rows for one in alike), strict=True):
        low, high = max(begin, last - one.rows), min(end, last)
        if low < high:
            yield one.piece, slice(low - begin, high - begin)


def _portions(columns: Columns, wanted: Sequence[Sequence[Token]], hashing: Hashing) -> Iterator[list[Hashes]]:
    """The hashes of some rows after the other, as many as take AT_ONCE_BYTES under all projections."""
    rows = len(next(iter(columns.values()), ()))
    most = max(LEAST_ROWS, AT_ONCE_BYTES // (HASH_BYTES * len(wanted)))
    for begin in range(0, rows, most):
        some = {token: column.slice(begin, most) for token, column in columns.items()} if rows > most else columns
        into = scratch("rows", len(wanted), 2, min(most, rows - begin))
        yield hashing.rows(some, wanted, into)


def _note(piece: HashWork, error: TableError) -> Block:
    return NOTE, 0, piece["table"], [json.dumps(failure(piece["table"], error)).encode()]
