"""Tables as streams of record batches, so that tables of any size need bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Stream:
    """The schema, and the batches in order. It can be read once."""

    schema: pa.Schema
    batches: Iterable[pa.RecordBatch]

    def map(self, schema: pa.Schema, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Stream:
        """The stream with every batch changed by itself; empty batches are dropped."""
        changed = (change(batch) for batch in self.batches)
        return Stream(schema, (batch for batch in changed if batch.num_rows))

    def to_table(self) -> pa.Table:
        """All rows at once. For samples and tests; a table of a lake may not fit."""
        return pa.Table.from_batches(list(self.batches), self.schema)


def stream_of(table: pa.Table, *, batch_rows: int | None = None) -> Stream:
    """A table in memory, as a stream."""
    return Stream(table.schema, table.to_batches(max_chunksize=batch_rows))


def split(batches: Iterable[pa.RecordBatch], *, rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of at most *rows* rows."""
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def rechunk(batches: Iterable[pa.RecordBatch], *, rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of exactly *rows* rows; only the last may be smaller."""
    pending: list[pa.RecordBatch] = []
    room = rows
    for batch in batches:
        start = 0
        while batch.num_rows - start >= room:
            yield from _joined([*pending, batch.slice(start, room)])
            start, pending, room = start + room, [], rows
        if start < batch.num_rows:
            pending.append(batch.slice(start))
            room -= batch.num_rows - start
    yield from _joined(pending)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    return list(pa.Table.from_batches(batches).combine_chunks().to_batches())
