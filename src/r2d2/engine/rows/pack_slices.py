"""Tasks on slices whose rows are compared: hash them and pack the hashes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from r2d2.engine.kernels import Hashes, pack_rows
from r2d2.engine.kernels.scratch import scratch
from r2d2.engine.rows.hash_slices import Columns, Hashing, failure, tokens_of
from r2d2.engine.run.contract import NOTE, Block
from r2d2.errors import TableError
from r2d2.model.schema import Token
from r2d2.model.work import HashWork

AT_ONCE_BYTES = 64 << 20  # of hashes, under all projections of a slice
LEAST_ROWS = 4096
HASH_BYTES = 16


def block_bundle(bundle: Sequence[HashWork], most_bytes: int, *, hashing: Hashing) -> Iterator[Block]:
    """The hashes of each slice under each of its projections, packed by hash range. A failure comes as a note."""
    most_rows = max(1, most_bytes // HASH_BYTES) if most_bytes else 0
    for piece in bundle:
        table, asked = piece["table"], piece["projections"]
        wanted = [tokens_of(tokens) for _, tokens, _ in asked]
        try:
            columns = hashing.columns(piece["slice"], wanted)
            for rows in _portions(columns, wanted, hashing):
                for hashes, (number, _, ranges) in zip(rows, asked, strict=True):
                    yield from ((number, part, table, block) for part, block in pack_rows(hashes, ranges, most_rows))
        except TableError as error:
            yield NOTE, 0, table, [json.dumps(failure(table, error)).encode()]


def _portions(columns: Columns, wanted: Sequence[Sequence[Token]], hashing: Hashing) -> Iterator[list[Hashes]]:
    """The hashes of some rows after the other, as many as take AT_ONCE_BYTES under all projections."""
    rows = len(next(iter(columns.values()), ()))
    most = max(LEAST_ROWS, AT_ONCE_BYTES // (HASH_BYTES * len(wanted)))
    for begin in range(0, rows, most):
        some = {token: column.slice(begin, most) for token, column in columns.items()} if rows > most else columns
        into = scratch("rows", len(wanted), 2, min(most, rows - begin))
        yield hashing.rows(some, wanted, into)
