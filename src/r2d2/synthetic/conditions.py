"""WHERE conditions, as data. A value is kept as text and read in the type of its column."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class OneOf:
    """column IN (values); None among them is IS NULL."""

    column: str
    values: tuple[str | None, ...]

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Which rows satisfy it."""
        column = batch.column(self.column)
        return pc.is_in(column, value_set=pa.array(self.values, pa.string()).cast(column.type))


@dataclass(frozen=True, slots=True)
class Between:
    """low <= column <= high; an end that is None is open. A NULL or NaN satisfies it never."""

    column: str
    low: str | None
    high: str | None

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Which rows satisfy it; NULL counts as no."""
        column = batch.column(self.column)
        above = pc.is_valid(column)
        if self.low is not None:
            above = pc.and_(above, pc.greater_equal(column, _typed(self.low, column.type)))
        if self.high is not None:
            above = pc.and_(above, pc.less_equal(column, _typed(self.high, column.type)))
        return above.fill_null(False)


Condition = OneOf | Between


def all_hold(batch: pa.RecordBatch, where: tuple[Condition, ...]) -> pa.BooleanArray:
    """Which rows satisfy every condition; *where* must not be empty."""
    mask = where[0].mask(batch)
    for condition in where[1:]:
        mask = pc.and_(mask, condition.mask(batch))
    return mask


def _typed(text: str, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(text, pa.string()).cast(kind)
