"""What the common writers leave behind is found as the table that was written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from r2d2.lake.discover import discover
from r2d2.model.table import Table

CITIES = ["Köln", "New York", "a/b", "50% off", "x=y", "007", None]
DATA = pa.table({"id": pa.array(range(len(CITIES))), "city": CITIES})


def pyarrow_dataset(path: Path) -> None:
    flavour = ds.partitioning(pa.schema([("city", pa.string())]), flavor="hive")
    ds.write_dataset(DATA, path, format="parquet", partitioning=flavour)


def pyarrow_legacy(path: Path) -> None:
    pq.write_to_dataset(DATA, path, partition_cols=["city"])


def duckdb_copy(path: Path) -> None:
    city_rows = DATA  # noqa: F841  (duckdb finds it by its name)
    duckdb.sql(f"COPY city_rows TO '{path}' (FORMAT parquet, PARTITION_BY (city))")


def polars_hive(path: Path) -> None:
    pl.DataFrame(DATA).write_parquet(path, partition_by="city")


@pytest.mark.parametrize("write", [pyarrow_dataset, pyarrow_legacy, duckdb_copy, polars_hive])
def test_a_partitioned_table_comes_back_with_its_values(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "cities")
    table = only_table(tmp_path)
    assert {file.partition for file in table.files} == {(("city", city),) for city in CITIES}
    assert table.unexplained == ()


def pyarrow_parts(path: Path) -> None:
    ds.write_dataset(DATA, path, format="parquet", max_rows_per_file=2, max_rows_per_group=2)


def duckdb_parts(path: Path) -> None:
    duckdb.sql(f"COPY (FROM range(300000)) TO '{path}' (FORMAT parquet, PER_THREAD_OUTPUT)")


@pytest.mark.parametrize("write", [pyarrow_parts, duckdb_parts])
def test_a_table_of_parts_comes_back_as_one(tmp_path: Path, write: Callable[[Path], None]) -> None:
    write(tmp_path / "cities")
    assert len(only_table(tmp_path).files) == len(list((tmp_path / "cities").iterdir()))


def only_table(lake: Path) -> Table:
    found = discover([str(lake)])
    (table,) = found.tables
    assert table.name == "cities" and not found.problems
    return table
