"""Dates and timestamps that Spark stored in the calendar used before 1582 (docs/decisions/0018-old-calendar.md).

Spark before 3.0, and later versions if told to, store a day before 1582-10-15 by its name in the Julian calendar: what
such a file stores for 1000-01-01 is 1000-01-06 elsewhere. Spark itself converts when it reads, by a note in the footer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.errors import TableError
from r2d2.formats.parquet.int96 import times_inside
from r2d2.formats.parquet.layout import Layout
from r2d2.model.profile import Value
from r2d2.model.schema import Token, spell

FIRST_DAY = -141_427  # 1582-10-15: from here on both calendars agree
FIRST_MOMENT = -2_208_988_800  # 1900-01-01, in seconds: by then every time zone has its present form
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class OldCalendar(NamedTuple):
    """Flags for the kinds of values that a file stores in the old calendar; only old values differ by it."""

    dates: bool  # and INT64 timestamps with a zone
    int96: bool


def old_calendar(notes: Mapping[bytes, bytes] | None) -> OldCalendar:
    """Decide as Spark does, from the key-value notes of a footer: a file without Spark's version is never old."""
    version = (notes or {}).get(b"org.apache.spark.version")
    if notes is None or version is None:
        return OldCalendar(dates=False, int96=False)
    return OldCalendar(
        dates=version < b"3.0.0" or b"org.apache.spark.legacyDateTime" in notes,
        int96=version < b"3.1.0" or b"org.apache.spark.legacyINT96" in notes,
    )


def is_old(low: Value, kind: pa.DataType) -> bool:
    """Whether the lowest value of a column lies where the calendars differ; *low* is in the form of a bound."""
    if is_.is_date32(kind):
        return low < FIRST_DAY  # type: ignore[operator]
    return bool(is_.is_timestamp(kind) and kind.tz) and low < FIRST_MOMENT * 10**9  # type: ignore[operator]


def refuse_old_values(file: pq.ParquetFile, layout: Layout, columns: Mapping[Token, pa.ChunkedArray]) -> None:
    """TableError if a column that was read holds values in the old calendar: they are not what they seem."""
    old = old_calendar(file.metadata.metadata)
    if not any(old):
        return
    for token, is_int96 in _stored_so(layout, old):
        if token in columns and any(_has_old_values(leaf, is_int96) for leaf in times_inside(columns[token])):
            raise TableError(
                f"column {spell(token)} holds dates or timestamps that Spark stored in the old calendar",
                hint="rewrite the table with Spark: read it, and write it with "
                "spark.sql.parquet.datetimeRebaseModeInWrite and int96RebaseModeInWrite set to CORRECTED",
            )


def _stored_so(layout: Layout, old: OldCalendar) -> Iterator[tuple[Token, bool]]:
    """Columns of the file that may be in the old calendar, and whether there is INT96 in them."""
    for column in layout.columns:
        if (old.int96 and column.has_int96) or (old.dates and column.has_other):
            yield column.token, column.has_int96


def _has_old_values(array: pa.Array, is_int96: bool) -> bool:
    kind = array.type
    if is_.is_date(kind):
        return _is_any_below(array.cast(pa.date32()).cast(pa.int32()), FIRST_DAY)
    if kind.tz is None and not is_int96:  # the reading of a clock; INT96 in a list has no zone either
        return False
    return _is_any_below(array.cast(pa.int64()), FIRST_MOMENT * _PER_SECOND[kind.unit])


def _is_any_below(counts: pa.Array, first: int) -> bool:
    return bool(pc.any(pc.less(counts, first)).as_py())
