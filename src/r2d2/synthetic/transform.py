"""Transformations of tables in a lake, as data: each turns one stream of rows into another (section 6.1.1).

A step holds all its parameters, including its random seed, so that it can be written to the lineage and repeated with
the same result. The result does not depend on the batches of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from r2d2.synthetic.columns import wider
from r2d2.synthetic.conditions import Condition, all_hold
from r2d2.synthetic.noise import jitter
from r2d2.synthetic.reservoir import Reservoir
from r2d2.synthetic.stream import Stream, rechunk, split

NEW_ROWS_AT_ONCE = 4096


class Step(Protocol):
    """One transformation."""

    def apply(self, source: Stream) -> Stream:
        """Transform the stream; never more than a few batches are in memory."""
        ...


@dataclass(frozen=True, slots=True)
class Copy:
    """The same rows and columns; only the layout of the files may differ."""

    def apply(self, source: Stream) -> Stream:
        """The source itself."""
        return source


@dataclass(frozen=True, slots=True)
class SelectWhere:
    """SELECT columns WHERE all conditions hold ("size reduction via sampling")."""

    columns: tuple[str, ...]
    where: tuple[Condition, ...] = ()

    def apply(self, source: Stream) -> Stream:
        """The chosen columns of the rows that satisfy every condition."""
        return source.map(pa.schema([source.schema.field(name) for name in self.columns]), self._select)

    def _select(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        chosen = batch.select(list(self.columns))
        return chosen.filter(all_hold(batch, self.where)) if self.where else chosen


@dataclass(frozen=True, slots=True)
class KeepFields:
    """A struct reduced to some of its fields; the rows stay."""

    column: str
    fields: tuple[str, ...]

    def apply(self, source: Stream) -> Stream:
        """The source with the narrower struct in the same place."""
        place = source.schema.get_field_index(self.column)
        struct = source.schema.field(place)
        kept = pa.struct([struct.type.field(name) for name in self.fields])
        schema = source.schema.set(place, struct.with_type(kept))
        return source.map(schema, lambda batch: _with_column(batch, schema, self.column, self._narrow(batch)))

    def _narrow(self, batch: pa.RecordBatch) -> pa.StructArray:
        struct = batch.column(self.column)
        kept = [struct.type.get_field_index(name) for name in self.fields]
        arrays = struct.flatten()
        return pa.StructArray.from_arrays(
            [arrays[i] for i in kept], fields=[struct.type.field(i) for i in kept], mask=struct.is_null()
        )


@dataclass(frozen=True, slots=True)
class AddRows:
    """New rows, a *share* of the old number, each value drawn from its own column ("adding rows")."""

    share: float
    seed: int
    reservoir_rows: int = 1024

    def apply(self, source: Stream) -> Stream:
        """The source, then the new rows."""
        return Stream(source.schema, self._old_then_new(source))

    def _old_then_new(self, source: Stream) -> Iterator[pa.RecordBatch]:
        reservoir = Reservoir(rows=self.reservoir_rows, seed=self.seed)
        for batch in source.batches:
            reservoir.add(batch)
            yield batch
        sample = reservoir.sample()
        if sample is not None:
            yield from _shuffle_columns(sample, count=round(self.share * reservoir.seen), seed=self.seed + 1)


@dataclass(frozen=True, slots=True)
class RepeatRows:
    """A share of the rows occurs twice: contained in the source as a set, no longer as a bag (HAZARDS 2)."""

    share: float
    seed: int

    def apply(self, source: Stream) -> Stream:
        """The source with the repeated rows beside their originals."""
        random = np.random.default_rng(self.seed)
        return source.map(source.schema, lambda batch: self._repeat(batch, random))

    def _repeat(self, batch: pa.RecordBatch, random: np.random.Generator) -> pa.RecordBatch:
        times = 1 + (random.random(batch.num_rows) < self.share)
        return batch.take(pa.array(np.repeat(np.arange(batch.num_rows), times)))


@dataclass(frozen=True, slots=True)
class AddColumn:
    """One more column, constant + sum of weight * column over the terms ("adding columns")."""

    name: str
    terms: tuple[tuple[str, float], ...]
    constant: float = 0.0

    def apply(self, source: Stream) -> Stream:
        """The source with the new column last; NULL where any term is NULL."""
        schema = source.schema.append(pa.field(self.name, pa.float64()))
        return source.map(schema, lambda batch: _batch([*batch.columns, self._combine(batch)], schema))

    def _combine(self, batch: pa.RecordBatch) -> pa.Array:
        total: pa.Array = pa.repeat(pa.scalar(self.constant, pa.float64()), batch.num_rows)
        for column, weight in self.terms:
            values = pc.cast(batch.column(column), pa.float64(), safe=False)
            total = pc.add(total, pc.multiply(values, weight))
        return pc.add(total, 0.0)  # -0.0 becomes 0.0


@dataclass(frozen=True, slots=True)
class AddNoise:
    """Numbers of one column changed at random, by about *scale*, in a share of the rows ("noise")."""

    column: str
    scale: float
    share: float
    seed: int

    def apply(self, source: Stream) -> Stream:
        """The source with the changed column in its place and type."""
        schema = source.schema
        hits, moves = np.random.default_rng([self.seed, 0]), np.random.default_rng([self.seed, 1])

        def disturb(batch: pa.RecordBatch) -> pa.RecordBatch:
            hit = pa.array(hits.random(batch.num_rows) < self.share)
            moved = jitter(batch.column(self.column), moves.standard_normal(batch.num_rows) * self.scale)
            return _with_column(batch, schema, self.column, pc.if_else(hit, moved, batch.column(self.column)))

        return source.map(schema, disturb)


@dataclass(frozen=True, slots=True)
class ShuffleRows:
    """The same rows in random order within windows of *window_rows*."""

    window_rows: int
    seed: int

    def apply(self, source: Stream) -> Stream:
        """The source, window after window."""
        random = np.random.default_rng(self.seed)
        windows = rechunk(source.batches, rows=self.window_rows)
        shuffled = (batch.take(pa.array(random.permutation(batch.num_rows))) for batch in windows)
        return Stream(source.schema, shuffled)


@dataclass(frozen=True, slots=True)
class WidenTypes:
    """Columns in a larger type (int32 as int64); every value stays the same value."""

    columns: tuple[str, ...]

    def apply(self, source: Stream) -> Stream:
        """The source with the named columns cast; a column without a wider type stays."""
        schema = pa.schema([self._widened(field) for field in source.schema])
        return source.map(schema, lambda batch: _batch(_cast_all(batch, schema), schema))

    def _widened(self, field: pa.Field) -> pa.Field:
        return field.with_type(wider(field.type) or field.type) if field.name in self.columns else field


def apply_steps(steps: Sequence[Step], source: Stream, *, batch_rows: int) -> Stream:
    """The source after all steps; no batch is larger than *batch_rows*."""
    stream = source
    for step in steps:
        made = step.apply(stream)
        stream = Stream(made.schema, split(made.batches, rows=batch_rows))
    return stream


def _shuffle_columns(sample: pa.Table, *, count: int, seed: int) -> Iterator[pa.RecordBatch]:
    """New rows whose values are drawn from the sample, column by column."""
    random = np.random.default_rng(seed)
    for start in range(0, count, NEW_ROWS_AT_ONCE):
        size = min(NEW_ROWS_AT_ONCE, count - start)
        drawn = [random.integers(0, sample.num_rows, size) for _ in range(sample.num_columns)]
        columns = [column.take(pa.array(rows)) for column, rows in zip(sample.columns, drawn, strict=True)]
        yield from pa.Table.from_arrays(columns, schema=sample.schema).combine_chunks().to_batches()


def _cast_all(batch: pa.RecordBatch, schema: pa.Schema) -> list[pa.Array]:
    return [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]


def _with_column(batch: pa.RecordBatch, schema: pa.Schema, name: str, column: pa.Array) -> pa.RecordBatch:
    arrays = list(batch.columns)
    arrays[schema.get_field_index(name)] = column
    return _batch(arrays, schema)


def _batch(arrays: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(arrays), schema=schema)
