"""Dates and timestamps that Spark stored in the old calendar never count as others; what Spark reads decides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.errors import TableError
from r2d2.formats.parquet import read as read_slice
from r2d2.formats.parquet.footer import read_footer
from r2d2.formats.parquet.old_calendar import OldCalendar, old_calendar
from r2d2.formats.parquet.ranges import slice_range
from r2d2.model.profile import ColumnStats
from r2d2.report.edges import standing_edges
from r2d2.settings import Settings
from tests.support.in_process import Reader

VERSION, DATES, INT96 = (b"org.apache.spark." + name for name in (b"version", b"legacyDateTime", b"legacyINT96"))

# Kinds of columns in Spark's SQL: how a day (and its midnight in UTC) is written, and how it is read as a number.
KINDS = {
    "date": ("date'{day}'", "unix_date(v)"),
    "INT64": ("timestamp'{day} 00:00:00 UTC'", "unix_micros(v)"),
    "INT96": ("timestamp'{day} 00:00:00 UTC'", "unix_micros(v)"),
    "list of dates": ("array(date'{day}')", "unix_date(v[0])"),
    "map of INT96": ("map('k', timestamp'{day} 00:00:00 UTC')", "unix_micros(v['k'])"),
    "date in a struct": ("named_struct('f', date'{day}', 'g', 1)", "unix_date(v.f)"),
}
OLD, ITS_DOUBLE = ["1000-01-01", "2024-02-29"], ["1000-01-06", "2024-02-29"]
NEW = ["1900-01-01", "2024-02-29", "9999-12-31"]


def write(spark: Any, folder: Path, kind: str, days: list[str], mode: str, zone: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", mode)
    session.conf.set("spark.sql.parquet.int96RebaseModeInWrite", mode)
    session.conf.set("spark.sql.parquet.outputTimestampType", "INT96" if "INT96" in kind else "TIMESTAMP_MICROS")
    session.conf.set("spark.sql.session.timeZone", zone)
    rows = " union all ".join("select " + KINDS[kind][0].format(day=day) + " as v" for day in days)
    session.sql(rows).coalesce(1).write.parquet(str(folder))


def spark_reads(spark: Any, folder: Path, kind: str) -> set[int]:
    return {row[0] for row in spark.read.parquet(str(folder)).selectExpr(KINDS[kind][1]).collect()}


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
@pytest.mark.parametrize("kind", KINDS)
def test_edges_are_those_of_what_spark_reads_and_old_days_are_refused(
    spark: Any, tmp_path: Path, kind: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    tables = {
        "legacy_old": (OLD, "LEGACY"), "old": (OLD, "CORRECTED"), "double": (ITS_DOUBLE, "CORRECTED"),
        "legacy_new": (NEW, "LEGACY"), "new": (NEW, "CORRECTED"),
    }  # fmt: skip
    for name, (days, mode) in tables.items():
        write(spark, lake / name, kind, days, mode, zone)
    values = {name: spark_reads(spark, lake / name, kind) for name in tables}
    assert values["legacy_old"] == values["old"] != values["double"], "Spark does not convert"
    for small in (True, False):
        monkeypatch.setattr(read_slice, "SMALL_BYTES", 1 << 40 if small else 0)
        scan = Reader().scan(str(lake), Settings())
        assert {problem.where for problem in scan.problems} == {"legacy_old"}
        assert all("old calendar" in problem.because and "CORRECTED" in problem.hint for problem in scan.problems)
        found = {(edge.parent, edge.child) for edge in standing_edges(scan)}
        rest = tables.keys() - {"legacy_old"}
        assert found == {(p, c) for p in rest for c in rest if p != c and values[c] <= values[p]}


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        (None, (False, False)),
        ({DATES: b"", INT96: b""}, (False, False)),  # Spark does not heed them without a version
        ({VERSION: b"2.4.8"}, (True, True)),
        ({VERSION: b"3.0.3"}, (False, True)),
        ({VERSION: b"3.1.0"}, (False, False)),
        ({VERSION: b"4.1.4", DATES: b""}, (True, False)),
        ({VERSION: b"4.1.4", INT96: b""}, (False, True)),
    ],
)
def test_a_footer_says_so_as_spark_takes_it(notes: Mapping[bytes, bytes] | None, expected: tuple[bool, bool]) -> None:
    assert old_calendar(notes) == OldCalendar(*expected)


def noted(path: Path, columns: Mapping[str, pa.Array], notes: Mapping[bytes, bytes], **how: Any) -> dict[str, Any]:
    """A file with these notes, and all of it as a slice."""
    table = pa.table(columns).replace_schema_metadata(dict(notes))
    pq.write_table(table, path, **how)
    return {"path": str(path), "first": 0, "rows": table.num_rows, "partition": [], "fold": False}


@pytest.mark.parametrize("notes", [{VERSION: b"2.4.8"}, {VERSION: b"4.1.4", DATES: b""}])
@pytest.mark.parametrize("statistics", [True, False])
def test_days_up_to_the_change_are_refused_and_later_ones_read(
    notes: Mapping[bytes, bytes], statistics: bool, tmp_path: Path
) -> None:
    for value, kind in (
        (date(1582, 10, 15), pa.date32()),
        (datetime(1900, 1, 1, tzinfo=UTC), pa.timestamp("us", "UTC")),
        (datetime(1900, 1, 1, tzinfo=UTC), pa.timestamp("ms", "UTC")),
    ):
        first = pa.array([value], kind)
        step = pa.array([1], pa.int32() if kind == pa.date32() else pa.int64())
        before = pa.compute.subtract(first.cast(step.type), step).cast(kind)
        for name, column in (("at", first), ("before", before)):
            path = tmp_path / f"{name}.parquet"
            part = noted(path, {"v": column}, notes, write_statistics=statistics)
            if name == "at":
                assert read_slice.read_slice(part, [("v",)])[("v",)].to_pylist() == first.to_pylist()
                assert (read_footer(str(path)).columns[("v",)].stats.low is not None) == statistics
                continue
            with pytest.raises(TableError, match="column v holds dates or timestamps that Spark stored in the old"):
                read_slice.read_slice(part, [("v",)])
            assert read_footer(str(path)).columns[("v",)].stats._replace(nulls=None) == ColumnStats()
            assert slice_range(part, ("v",)) is None


def test_other_columns_of_such_a_file_and_clock_readings_are_read(tmp_path: Path) -> None:
    """Spark converts neither timestamps without a zone nor what is in no calendar."""
    columns = {
        "v": pa.array([date(1000, 1, 6)]),
        "n": pa.array([-(10**6)]),
        "clock": pa.array([datetime(1000, 1, 1)], pa.timestamp("us")),
    }
    part = noted(tmp_path / "t.parquet", columns, {VERSION: b"4.1.4", DATES: b""})
    read = read_slice.read_slice(part, [("n",), ("clock",)])
    assert read[("clock",)].to_pylist() == [datetime(1000, 1, 1)] and read[("n",)].to_pylist() == [-(10**6)]
    with pytest.raises(TableError, match="old calendar"):
        read_slice.read_slice(part, [("n",), ("v",)])
