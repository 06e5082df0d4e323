"""How often a table is read, from logs in three formats; nobody is counted who should not be."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from r2d2.errors import UserError
from r2d2.lake.access_log import DAYS_PER_MONTH, read_access_log, read_latencies
from r2d2.model.prices import Usage

TABLES = {"sales": 0, "raw/events": 1, "old": 2}
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
    usage, unknown = read_access_log(log, tables=TABLES, default=DEFAULT, excluded_readers=["r2d2"])
    assert unknown == ["nowhere"]
    assert usage[0].accesses_per_month == pytest.approx(2 / MONTHS)
    assert usage[1] == Usage(0.0, pytest.approx(1 / MONTHS))
    assert usage[2] == Usage(0.0, 0.0)  # nobody asked for it, and the log speaks for the lake


def test_a_log_without_kinds_leaves_maintenance_to_the_default(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", [{"table": row["table"], "time": row["time"]} for row in ROWS])
    usage, _ = read_access_log(log, tables=TABLES, default=DEFAULT)
    assert usage[2] == Usage(0.0, DEFAULT.maintenance_per_month)


def test_a_log_of_one_moment_counts_as_a_day(tmp_path: Path) -> None:
    usage, _ = read_access_log(write(tmp_path / "log.csv", ROWS[:1]), tables=TABLES, default=DEFAULT)
    assert usage[0].accesses_per_month == pytest.approx(DAYS_PER_MONTH)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("log.txt", "table,time\n", "what kind of log"),
        ("log.csv", "table\nsales\n", "no column time"),
        ("log.csv", "table,time\n", "no rows that count"),
        ("log.csv", "table,time\nsales,soon\n", "a time that cannot be read"),
        ("log.csv", "table,time\nsales,\n", "without a time"),
        ("log.json", "{", "cannot read the log"),
        ("log.parquet", "PAR1", "cannot read the log"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_in_words(tmp_path: Path, name: str, content: str, says: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=says):
        read_access_log(str(tmp_path / name), tables=TABLES, default=DEFAULT)


def test_a_log_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the log"):
        read_access_log(str(tmp_path / "log.csv"), tables=TABLES, default=DEFAULT)


def test_the_longest_rebuild_of_each_pair_counts(tmp_path: Path) -> None:
    log = tmp_path / "rebuilds.csv"
    log.write_text("parent,child,seconds\nsales,old,12.5\nsales,/old/,30\nsales,nowhere,5\nold,sales,1\n")
    assert read_latencies(str(log), tables=TABLES) == {(0, 2): 30.0, (2, 0): 1.0}


@pytest.mark.parametrize("seconds", ["soon", "-1", "inf", "nan", ""])
def test_times_that_are_none_are_refused(tmp_path: Path, seconds: str) -> None:
    (tmp_path / "rebuilds.csv").write_text(f"parent,child,seconds\nsales,old,{seconds}\n")
    with pytest.raises(UserError, match="no number from 0 up"):
        read_latencies(str(tmp_path / "rebuilds.csv"), tables=TABLES)
