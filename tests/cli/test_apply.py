"""Deleting and restoring as a person does it: plan, apply, status, drill, purge, restore, doctor."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.safety.plan import parse_plan, plan_bytes, seal
from r2d2.synthetic.canonical import canonical_values
from tests.cli.conftest import Command

AT_ONCE = ("--quiet-period", "0")
PLAN = ("--accesses-per-week", "0", "--min-age", "0", "--plan-empty")


@dataclass(frozen=True)
class Lake:
    """A lake, its state, and what was in it."""

    path: Path
    state: Path

    def table(self, name: str) -> Path:
        return self.path / name


def rows_of(path: Path) -> Counter[Any]:
    """The rows of a table, by plain Python; what its folders' names say counts as text."""
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    rows: Counter[Any] = Counter()
    for file in files:
        with pq.ParquetFile(file) as opened:
            table = opened.read()
        folders = file.relative_to(path).parts[:-1]
        columns = [canonical_values(table.column(name).combine_chunks()) for name in table.column_names]
        rows.update((folders, *row) for row in zip(*columns, strict=True))
    return rows


def schema_of(path: Path) -> list[Any]:
    """Names, types and whether NULL is allowed, as the footer of a file says, and Arrow's note beside it."""
    file = sorted(path.rglob("*.parquet"))[0] if path.is_dir() else path
    leaves = pq.read_metadata(file).schema
    return [
        pq.read_schema(file),
        [
            (leaf.path, leaf.physical_type, str(leaf.logical_type), leaf.max_definition_level, leaf.max_repetition_level)
            for leaf in (leaves.column(number) for number in range(len(leaves)))
        ],
    ]


def put(table: pa.Table, path: Path, files: int = 1, **how: Any) -> None:
    if files == 1:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, **how)
        return
    step = -(-table.num_rows // files)
    for number in range(files):
        put(table.slice(number * step, step), path / f"part-{number}.parquet", **how)


def nasty(rows: int = 60) -> pa.Table:
    """Every type that lakes have, odd values, NULLs, copies."""
    numbers = [number // 2 for number in range(rows)]  # each row twice
    odd = [0.0, -0.0, math.nan, math.inf, 0.1, None]
    columns: dict[str, pa.Array] = {
        "id": pa.array(numbers, pa.int32()),
        "kind": pa.array([("a", "B", "ü", None)[n % 4] for n in numbers]),
        "unsigned": pa.array([2**64 - 1 - n for n in numbers], pa.uint64()),
        "small": pa.array([n % 256 for n in numbers], pa.uint8()),
        "double": pa.array([odd[n % 6] for n in numbers], pa.float64()),
        "float": pa.array([odd[n % 6] for n in numbers], pa.float32()),
        "money": pa.array([Decimal(n).scaleb(-2) for n in numbers], pa.decimal128(9, 2)),
        "huge": pa.array([Decimal(10**30 + n).scaleb(-10) for n in numbers], pa.decimal128(38, 10)),
        "bytes": pa.array([bytes([n % 256, 0, 255]) for n in numbers], pa.binary()),
        "three": pa.array([bytes([n % 256, 0, 255]) for n in numbers], pa.binary(3)),
        "day": pa.array([date(1, 1, 1) if n % 5 == 0 else date(2024, 1, 1 + n % 28) for n in numbers]),
        "local ms": pa.array([n * 1000 for n in numbers], pa.timestamp("ms")),
        "moment": pa.array([datetime(2024, 1, 1, n % 24, tzinfo=UTC) for n in numbers], pa.timestamp("us", "UTC")),
        "nanos": pa.array([10**18 + n for n in numbers], pa.timestamp("ns")),
        "clock": pa.array([n for n in numbers], pa.time64("us")),
        "span": pa.array([n for n in numbers], pa.duration("ms")),
        "nothing": pa.nulls(rows),
        "word": pa.array([("x", "y")[n % 2] for n in numbers]).dictionary_encode(),
        "list": pa.array([[n, None] if n % 3 else [] for n in numbers], pa.list_(pa.int64())),
        "map": pa.array([[("k", n), ("j", None)] for n in numbers], pa.map_(pa.string(), pa.uint32())),
        "a.b": pa.array(
            [None if n % 7 == 0 else {"c`d": n, "e": None if n % 5 else {"f": str(n)}} for n in numbers],
            pa.struct([("c`d", pa.int64()), ("e", pa.struct([("f", pa.string())]))]),
        ),
    }
    return pa.table(columns)


def write_lake(lake: Path) -> None:
    table = nasty()
    put(table, lake / "orders", files=3)
    put(table.filter(pa.compute.less(table["id"], 11)), lake / "odd [1]* %20 {é}" / "part-0.parquet")
    put(table.slice(20, 20), lake / "extracts" / "listed.parquet")
    narrow = table.select(["map", "id", "a.b", "nanos", "unsigned", "double"])
    put(narrow.slice(0, 30), lake / "extracts" / "narrow", files=2, compression="zstd")
    required = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("moment", pa.timestamp("us", "UTC"))])
    put(table.select(["id", "moment"]).cast(required), lake / "required.parquet")
    put(table.select(["id", "kind"]).slice(0, 0), lake / "nobody.parquet")
    days = pa.table({"n": list(range(40)), "day": [date(2024, 1, 1 + n // 10) for n in range(40)], "city": ["São", "a b"] * 20})
    put(days, lake / "events", files=2)
    for day in range(1, 4):
        for city, folder in (("São", "city=S%C3%A3o"), ("a b", "city=a b")):
            here = [n for n in range(40) if 1 + n // 10 == day and ("São", "a b")[n % 2] == city]
            put(pa.table({"n": here}), lake / "by_day" / f"day=2024-01-{day:02d}" / folder / "part-0.parquet")
    half = pa.table({"h": pa.array([0.5, 1.5, None], pa.float16()), "other": [1, 2, 3]})
    put(half, lake / "half_parent.parquet")
    put(half.slice(0, 2), lake / "half_child.parquet")


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Lake:
    """A nasty lake, scanned."""
    write_lake(tmp_path / "lake")
    return scanned(spark, tmp_path)


def scanned(spark: Any, folder: Path, **how: Any) -> Lake:
    from r2d2.api import scan_lake
    from r2d2.settings import Settings

    scan_lake([str(folder / "lake")], Settings(state=str(folder / "state")), spark=spark, **how)
    return Lake(folder / "lake", folder / "state")


def plan(r2d2: Command, lake: Lake, name: str = "plan.json") -> tuple[Path, dict[str, Any]]:
    out = lake.state.parent / name
    done = r2d2("plan", "--state", lake.state, "--out", out, "--json", *PLAN)
    assert done.code == 0, done
    return out, json.loads(done.out)


def test_tables_go_come_back_from_quarantine_and_by_recipe_with_every_row_and_type(r2d2: Command, lake: Lake) -> None:
    out, proposed = plan(r2d2, lake)
    children = {entry["child"]["name"] for entry in json.loads(out.read_text())["entries"]}
    print(proposed)
    assert children >= {"odd [1]* %20 {é}", "extracts/listed", "extracts/narrow", "required", "by_day", "nobody"}
