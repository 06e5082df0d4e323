"""WHERE conditions, as data. A value is stored as text and converted to the type of its column."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class OneOf:
    """Condition column IN (values); None among them means IS NULL."""

    column: str
    values: tuple[str | None, ...]

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Flags of the rows that satisfy the condition."""
        column = batch.column(self.column)
        return pc.is_in(column, value_set=pa.array(self.values, pa.string()).cast(column.type))


@dataclass(frozen=True, slots=True)
class Between:
    """Condition low <= column <= high; a bound of None is open. NULL and NaN never satisfy it."""

    column: str
    low: str | None
    high: str | None

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Flags of the rows that satisfy the condition; False for NULL."""
        column = batch.column(self.column)
        above = pc.is_valid(column)
        if self.low is not None:
            above = pc.and_(above, pc.greater_equal(column, _typed(self.low, column.type)))
        if self.high is not None:
            above = pc.and_(above, pc.less_equal(column, _typed(self.high, column.type)))
        return above.fill_null(False)


Condition = OneOf | Between


def all_hold(batch: pa.RecordBatch, where: tuple[Condition, ...]) -> pa.BooleanArray:
    """Flags of the rows that satisfy every condition; *where* must not be empty."""
    mask = where[0].mask(batch)
    for condition in where[1:]:
        mask = pc.and_(mask, condition.mask(batch))
    return mask


def _typed(text: str, kind: pa.DataType) -> pa.Scalar:
    return pa.scalar(text, pa.string()).cast(kind)
