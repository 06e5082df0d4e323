"""The content of a table as its metadata states it, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from r2d2.model.schema import Column, Schema

Value = int | float | Decimal | bytes
"""A bound in its canonical form: numbers compare exactly across int, float and Decimal; booleans are 0 and 1;
dates are days, times and timestamps nanoseconds, since the epoch; strings are their UTF-8 bytes."""


class ColumnStats(NamedTuple):
    """Nulls and bounds of one column. None is unknown, and unknown never prunes.

    A bound is *valid*: no value lies beyond it (NaN aside). It is *exact* if the column contains that value.
    """

    nulls: int | None = None
    low: Value | None = None
    high: Value | None = None
    low_exact: bool = False
    high_exact: bool = False

    def holds_value(self, rows: int | None) -> bool:
        """Whether a column of so many *rows* (None: unknown) is known to hold a value that is not NULL."""
        if self.nulls is not None and rows is not None:
            return self.nulls < rows
        return self.low_exact or self.high_exact


@dataclass(frozen=True, slots=True)
class TableProfile:
    """Schema, size and column statistics of one table; `stats` runs along `schema.columns`."""

    table: str
    schema: Schema
    rows: int | None  # None: not known before the table is read; unknown never prunes and never proves
    size_bytes: int
    stats: tuple[ColumnStats, ...]

    def known_values(self) -> bytes:
        """One byte per column: 1 where it is known to hold at least one value that is not NULL."""
        return bytes(stats.holds_value(self.rows) for stats in self.stats)

    def column(self, column: Column) -> ColumnStats | None:
        """The statistics of *column*, or None where the table has no such column."""
        for candidate, stats in zip(self.schema.columns, self.stats, strict=True):
            if candidate.token == column.token:
                return stats
        return None
