"""INT96 are moments, as Spark writes and reads them: copies in the newer form are found, and readings of a clock are not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.lake import Lake
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.formats.parquet import read as read_slice
from r2d2.formats.parquet.footer import read_footer
from r2d2.formats.parquet.int96 import exact_moments
from r2d2.report.edges import standing_edges
from r2d2.settings import Settings, load_settings
from tests.support.in_process import Reader

FOR_EVER = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
MOMENTS = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(microseconds=number) for number in range(40)] + [None]
ZONED = pa.array(MOMENTS, pa.timestamp("us", "UTC"))
CLOCK = pa.array([one and one.replace(tzinfo=None) for one in MOMENTS], pa.timestamp("us"))
IDS = list(range(len(MOMENTS)))


def write(path: Path, at: pa.Array, **how: Any) -> None:
    inside = pa.StructArray.from_arrays([at, pa.array(IDS)], names=["at", "n"])
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": IDS, "at": at, "s": inside}), path, **how)


@pytest.mark.parametrize("moments", [MOMENTS, [FOR_EVER, *MOMENTS[1:]]], ids=["now", "for ever"])
@pytest.mark.parametrize("small", [True, False])
def test_a_copy_that_spark_wrote_is_found_and_a_clock_is_no_moment(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: bool, moments: list[datetime | None]
) -> None:
    if not small:
        monkeypatch.setattr(read_slice, "SMALL_BYTES", 0)
    lake = tmp_path / "lake"
    write(lake / "zoned.parquet", pa.array(moments, ZONED.type))
    write(lake / "clock.parquet", CLOCK)
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", "INT96")  # Spark's default
    session.read.parquet(str(lake / "zoned.parquet")).repartition(2).write.parquet(str(lake / "copied"))
    session.read.parquet(str(lake / "zoned.parquet")).where("id < 9").write.parquet(str(lake / "some"))
    leaves = pq.ParquetFile(next((lake / "copied").glob("*.parquet"))).schema
    assert [leaves.column(number).physical_type for number in range(4)] == ["INT64", "INT96", "INT96", "INT64"]
    given = load_settings({"state": str(tmp_path / "state")}, environment={})
    found = Lake(scan_lake(Workspace(given, spark=spark), [str(lake)]))
    assert {(edge.parent, edge.child) for edge in found.edges()} == {
        ("zoned.parquet", "copied"), ("copied", "zoned.parquet"), ("zoned.parquet", "some"), ("copied", "some"),
    }  # fmt: skip


def test_what_pyarrow_calls_it_makes_no_difference(tmp_path: Path) -> None:
    for name, at in (("clock", CLOCK), ("zoned", ZONED)):
        write(tmp_path / f"{name}.parquet", at, use_deprecated_int96_timestamps=True)
        columns = read_footer(str(tmp_path / f"{name}.parquet")).columns
        assert {columns[token].type_name for token in (("at",), ("s", "at"))} == {"timestamp(ns,UTC)"}
        part = {"path": str(tmp_path / f"{name}.parquet"), "first": 0, "rows": len(IDS), "partition": [], "fold": False}
        for column in read_slice.read_slice(part, [("at",), ("s", "at")]).values():
            assert column.type == pa.timestamp("ns", "UTC") and column.cast(ZONED.type).to_pylist() == MOMENTS


def test_what_does_not_fit_nanoseconds_is_read_as_it_is(tmp_path: Path) -> None:
    """Moments 2^64 nanoseconds apart are one to pyarrow."""
    far = [FOR_EVER, None, FOR_EVER - timedelta(microseconds=1), datetime(1500, 1, 1, tzinfo=UTC), *MOMENTS[4:]]
    write(tmp_path / "far.parquet", pa.array(far, ZONED.type), use_deprecated_int96_timestamps=True)
    part = {"path": str(tmp_path / "far.parquet"), "first": 0, "rows": len(IDS), "partition": [], "fold": False}
    assert read_slice.read_slice(part, [("at",)])[("at",)].to_pylist() == far
    assert read_slice.read_slice(part, [("s", "at")])[("s", "at")].to_pylist() == far


def moments(*nanos: int) -> pa.ChunkedArray:
    """INT96 of these nanoseconds since 1970, as it is read: modulo 2^64, unless a coarser unit is asked for."""

    def read_as(unit: str) -> pa.ChunkedArray:
        counts = [(one // {"ns": 1, "us": 10**3, "ms": 10**6}[unit] + 2**63) % 2**64 - 2**63 for one in nanos]
        return pa.chunked_array([pa.array(counts, pa.timestamp(unit))])

    return exact_moments(read_as("ns"), read_as)


def test_a_column_that_no_unit_holds_is_refused() -> None:
    beyond = 10**19  # in the year 2286
    assert moments(1_001, -1).type == pa.timestamp("ns", "UTC")
    kept = moments(1_000, beyond)
    assert kept.cast(pa.int64()).to_pylist() == [1, beyond // 1000] and kept.type == pa.timestamp("us", "UTC")
    for wrong in ((1_001, beyond), (1_000, 2**64 * 1000 + 1_000), (0, -(2**63) * 1000)):
        with pytest.raises(ValueError, match="beyond"):
            moments(*wrong)


NESTED = {
    "list": (lambda one: [one], pa.list_),
    "list in a list": (lambda one: [[], [one, None]], lambda kind: pa.list_(pa.list_(kind))),
    "value of a map": (lambda one: [("k", one)], lambda kind: pa.map_(pa.string(), kind)),
    "key of a map": (lambda one: [(one, 1)], lambda kind: pa.map_(kind, pa.int64())),
    "struct in a list": (lambda one: [{"a": one, "n": 1}], lambda kind: pa.list_(pa.struct({"a": kind, "n": "int64"}))),
    "list in a struct": (lambda one: {"a": [one], "n": 1}, lambda kind: pa.struct({"a": pa.list_(kind), "n": "int64"})),
}


@pytest.mark.parametrize("shape", NESTED)
def test_inside_lists_and_maps_moments_2_to_the_64_nanoseconds_apart_are_two(tmp_path: Path, shape: str) -> None:
    wrap, nest = NESTED[shape]
    far = int(FOR_EVER.replace(microsecond=0).timestamp()) * 10**6
    tables = {"far": (far, "us"), "its_double": ((far * 1000 + 2**63) % 2**64 - 2**63, "ns"), "near": (1, "us")}
    for name, (value, unit) in tables.items():
        column = pa.array([wrap(value), None], nest(pa.timestamp(unit)))
        for folder, how in (("int96", {"use_deprecated_int96_timestamps": True}), ("int64", {})):
            (tmp_path / folder).mkdir(exist_ok=True)
            pq.write_table(pa.table({"id": [1, 2], "v": column}), tmp_path / folder / f"{name}.parquet", **how)
    scan = Reader().scan(str(tmp_path), Settings())
    assert not scan.problems
    assert {(edge.parent, edge.child) for edge in standing_edges(scan)} == {
        (f"{one}/{name}.parquet", f"{other}/{name}.parquet")
        for name in tables
        for one, other in (("int96", "int64"), ("int64", "int96"))
    }


def test_inside_a_list_it_stays_what_pyarrow_calls_it(tmp_path: Path) -> None:
    lists = pa.array([[one] for one in CLOCK.to_pylist()], pa.list_(pa.timestamp("us")))
    pq.write_table(pa.table({"l": lists}), tmp_path / "l.parquet", use_deprecated_int96_timestamps=True)
    assert read_footer(str(tmp_path / "l.parquet")).columns[("l",)].type_name == "list<timestamp(ns)>"
