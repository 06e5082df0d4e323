"""How often a table is read, from logs in three formats; nobody is counted who should not be."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from r2d2.errors import UserError
from r2d2.lake.access_log import DAYS_PER_MONTH, read_access_log, read_latencies, read_names
from r2d2.lake.log_names import NOT_SCANNED, UNKNOWN, LogNames, elsewhere_in_lake
from r2d2.model.prices import Usage

TABLES = {"sales": 0, "raw/events": 1, "old": 2}
NAMES = LogNames(TABLES)
DEFAULT = Usage(1.0, 4.0)
ROWS = [
    {"table": "sales", "time": "2026-01-01T00:00:00Z", "kind": "read", "reader": "ann"},
    {"table": "/sales/", "time": "2026-01-20T12:00:00Z", "kind": "read", "reader": "bob"},
    {"table": "raw/events", "time": "2026-01-31T10:30:00Z", "kind": "GDPR", "reader": "dpo"},
    {"table": "sales", "time": "2026-01-15T00:00:00Z", "kind": "read", "reader": "r2d2"},
    {"table": "nowhere", "time": "2026-01-15T00:00:00Z", "kind": "read", "reader": "ann"},
]
MONTHS = (30 + 10.5 / 24) / DAYS_PER_MONTH


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    if path.suffix == ".csv":
        pl.DataFrame(rows).write_csv(path)
    elif path.suffix == ".parquet":
        times = [datetime.fromisoformat(row["time"]).replace(tzinfo=None) for row in rows]
        pl.DataFrame(rows).with_columns(pl.Series("time", times)).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "ndjson", "parquet"])
def test_every_format_says_the_same(tmp_path: Path, ending: str) -> None:
    log = write(tmp_path / f"log.{ending}", ROWS)
    usage, match = read_access_log(log, names=NAMES, default=DEFAULT, excluded_readers=["r2d2"])
    assert match.unknown == ("nowhere",) and (match.lines, match.matched) == (4, 3)
    assert usage[0].accesses_per_month == pytest.approx(2 / MONTHS)
    assert usage[1] == Usage(0.0, pytest.approx(1 / MONTHS))
    assert usage[2] == Usage(0.0, 0.0)  # nobody asked for it, and the log speaks for the lake


def test_a_log_without_kinds_leaves_maintenance_to_the_default(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", [{"table": row["table"], "time": row["time"]} for row in ROWS])
    usage, _ = read_access_log(log, names=NAMES, default=DEFAULT)
    assert usage[2] == Usage(0.0, DEFAULT.maintenance_per_month)


def test_a_log_of_one_moment_counts_as_a_day(tmp_path: Path) -> None:
    usage, _ = read_access_log(write(tmp_path / "log.csv", ROWS[:1]), names=NAMES, default=DEFAULT)
    assert usage[0].accesses_per_month == pytest.approx(DAYS_PER_MONTH)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("log.txt", "table,time\n", "what kind of log"),
        ("log.csv", "table\nsales\n", "no column time"),
        ("log.csv", "table,time\n", "no rows that count"),
        ("log.csv", "table,time\nsales,soon\n", "line 2 of .*log.csv has the time 'soon', which cannot be read"),
        ("log.csv", "table,time\nsales,2026-01-01T00:00:00Z\nold,soon\n", "line 3 of .* has the time 'soon'"),
        ("log.csv", "table,time\nold,2026-01-01T00:00:00Z\nsales,\n", "line 3 of .*log.csv has no time"),
        ("log.json", '{"table": "old", "time": "then"}\n', "line 1 of .*log.json has the time 'then'"),
        ("log.json", "{", "cannot read the log"),
        ("log.parquet", "PAR1", "cannot read the log"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_in_words(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=says):
        read_access_log(str(tmp_path / name), names=NAMES, default=DEFAULT)


def test_a_log_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the log .*: there is no such file"):
        read_access_log(str(tmp_path / "log.csv"), names=NAMES, default=DEFAULT)


def test_the_longest_rebuild_of_each_pair_counts(tmp_path: Path) -> None:
    log = tmp_path / "rebuilds.csv"
    log.write_text("parent,child,seconds\nsales,old,12.5\nsales,/old/,30\nsales,nowhere,5\nold,sales,1\n")
    assert read_latencies(str(log), tables=TABLES) == {(0, 2): 30.0, (2, 0): 1.0}


@pytest.mark.parametrize("seconds", ["soon", "-1", "inf", "nan", ""])
def test_times_that_are_none_are_refused(tmp_path: Path, seconds: str) -> None:
    (tmp_path / "rebuilds.csv").write_text(f"parent,child,seconds\nsales,old,1\nsales,old,{seconds}\n")
    with pytest.raises(UserError, match=f"line 3 of .*rebuilds.csv has the seconds '{seconds}'.*no number from 0 up"):
        read_latencies(str(tmp_path / "rebuilds.csv"), tables=TABLES)


def lines(*names: str) -> list[dict[str, Any]]:
    return [{"table": name, "time": f"2026-01-{1 + n % 28:02}T00:00:00Z"} for n, name in enumerate(names)]


@pytest.mark.parametrize(
    "names",
    [
        ["main.sales.orders", "main.raw.events"],
        ["s3://bucket/lake/sales", "s3://bucket/lake/raw/events", "sales"],
        ["SALES", "RAW/EVENTS"],
        ["raw", "raw", "sales"],  # a folder of tables says nothing of any of them
        ["", "/", "..", "sales"],
    ],
)
def test_a_log_in_another_naming_is_refused_with_the_names_that_did_not_match(tmp_path: Path, names: list[str]) -> None:
    log = write(tmp_path / "log.csv", lines(*names))
    with pytest.raises(UserError, match=r"less than half of the lines of .*log.csv name tables") as refused:
        read_access_log(log, names=NAMES, default=DEFAULT)
    assert repr(names[0]) in str(refused.value) and "--access-names" in refused.value.hint


def test_half_of_the_lines_are_enough(tmp_path: Path) -> None:
    _, match = read_access_log(
        write(tmp_path / "log.csv", lines("a", "sales", "b", "old")), names=NAMES, default=DEFAULT
    )
    assert match.share == 0.5 and match.unknown == ("a", "b")
    with pytest.raises(UserError, match="1 of 3"):
        read_access_log(write(tmp_path / "log.csv", lines("a", "sales", "b")), names=NAMES, default=DEFAULT)


def test_lines_of_excluded_readers_speak_neither_for_nor_against_a_log(tmp_path: Path) -> None:
    rows = [row | {"reader": "bot"} for row in lines("x", "y", "z")] + [row | {"reader": "ann"} for row in lines("old")]
    log = write(tmp_path / "log.csv", rows)
    _, match = read_access_log(log, names=NAMES, default=DEFAULT, excluded_readers=["bot"])
    assert (match.lines, match.matched, match.unknown) == (1, 1, ())
    with pytest.raises(UserError, match="1 of 4"):
        read_access_log(log, names=NAMES, default=DEFAULT)


def test_tables_that_the_scan_left_out_speak_neither_for_nor_against_a_log(tmp_path: Path) -> None:
    names = LogNames(TABLES, is_elsewhere={"hr/people", "gone"}.__contains__)
    log = write(tmp_path / "log.csv", lines("hr/people", "/gone/", "hr/people", "sales"))
    _, match = read_access_log(log, names=names, default=DEFAULT)
    assert (match.lines, match.matched, match.not_scanned, match.share) == (4, 1, 3, 1.0)
    with pytest.raises(UserError, match="none of the lines"):
        read_access_log(write(tmp_path / "log.csv", lines("hr/people")), names=names, default=DEFAULT)


def test_a_file_or_partition_of_a_table_is_a_read_of_the_table(tmp_path: Path) -> None:
    names = LogNames(TABLES, is_elsewhere=lambda name: True)
    log = write(tmp_path / "log.csv", lines("raw/events/day=1/part-0.parquet", "raw/events/day=2", "old"))
    usage, match = read_access_log(log, names=names, default=DEFAULT)
    assert usage[1].accesses_per_month > 0 and match.matched == 3


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_names_are_mapped_by_a_file_of_two_columns(tmp_path: Path, ending: str) -> None:
    rows = [{"name": "main.sales", "table": "sales"}, {"name": "s3://b/old/", "table": "/old"}]
    rows += [{"name": "other.thing", "table": ""}]
    path = tmp_path / f"names.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        getattr(pl.DataFrame(rows), f"write_{ending}")(path)
    names = LogNames(TABLES, given=read_names(str(path)))
    log = write(tmp_path / "log.csv", lines("main.sales", "s3://b/old", "other.thing", "other.thing", "other.thing"))
    usage, match = read_access_log(log, names=names, default=DEFAULT)
    assert usage[0].accesses_per_month > 0 and usage[2].accesses_per_month > 0
    assert (match.matched, match.not_scanned, match.share) == (2, 3, 1.0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("name\nx\n", "no column table"),
        ("name,table\nx,sale\n", "names the table 'sale', which this lake does not have"),
        ("name,table\nx,sales\nx,old\n", "line 3 of .* maps 'x' a second time"),
        ("name,table\nx//y,sales\nx/./y,old\n", "line 3 of .* maps 'x/./y' a second time"),
        ("name,table\n,old\n", "line 2 of .* maps no name"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_refused_in_words(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "names.csv").write_text(content)
    with pytest.raises(UserError, match=says):
        LogNames(TABLES, given=read_names(str(tmp_path / "names.csv")))


def test_lines_without_a_reader_count_whoever_is_excluded(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "table,time,reader\nsales,2026-01-01T00:00:00Z,\nold,2026-01-02T00:00:00Z,bot\nold,2026-01-03T00:00:00Z,ann\n"
    )
    usage, match = read_access_log(
        str(tmp_path / "log.csv"), names=NAMES, default=DEFAULT, excluded_readers=["bot", "2"]
    )
    assert match.lines == 2 and usage[0].accesses_per_month > 0


def test_readers_and_kinds_of_any_type_are_compared_by_their_text(tmp_path: Path) -> None:
    rows = [row | {"reader": n, "kind": "GDPR"} for n, row in enumerate(lines("sales", "old", "old"))]
    log = pl.DataFrame(rows).with_columns(pl.col("kind").cast(pl.Categorical))
    log.write_parquet(tmp_path / "log.parquet")
    usage, match = read_access_log(str(tmp_path / "log.parquet"), names=NAMES, default=DEFAULT, excluded_readers=["1"])
    assert match.lines == 2 and usage[0].maintenance_per_month > 0
    log.with_columns(kind=7).write_parquet(tmp_path / "log.parquet")
    assert read_access_log(str(tmp_path / "log.parquet"), names=NAMES, default=DEFAULT)[1].lines == 3


@pytest.mark.parametrize("name", ["./sales", "raw//events", "/raw/./events//", "raw/events/./day=1", "raw/x/../events"])
def test_a_table_by_a_roundabout_path_is_never_taken_for_a_part_that_was_not_scanned(tmp_path: Path, name: str) -> None:
    for table in TABLES:
        (tmp_path / "lake" / table / "day=1").mkdir(parents=True)
    (tmp_path / "lake" / "raw" / "x").mkdir()
    names = LogNames(TABLES, is_elsewhere=elsewhere_in_lake([str(tmp_path / "lake")], ()))
    assert names.number(name) == (UNKNOWN if ".." in name else 0 if "sales" in name else 1)


def test_a_table_behind_a_link_is_never_taken_for_a_part_that_was_not_scanned(tmp_path: Path) -> None:
    for table in TABLES:
        (tmp_path / "lake" / table).mkdir(parents=True)
    (tmp_path / "lake" / "link").symlink_to("raw")
    names = LogNames(TABLES, is_elsewhere=elsewhere_in_lake([str(tmp_path / "lake")], ()))
    assert names.number("link/events/part-0.parquet") == UNKNOWN
    (tmp_path / "lake" / "left out").mkdir()
    assert names.number("left out") == NOT_SCANNED
