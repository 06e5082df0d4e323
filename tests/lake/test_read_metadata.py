"""The metadata of a whole lake comes by one job; a broken table costs itself only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.lake_tools import read_metadata
from r2d2.engine.run.spark import SparkExecutor
from r2d2.formats.merge import FilesProfile, merge_files
from r2d2.formats.parquet.footer import read_footer
from r2d2.lake import read_metadata as module
from r2d2.model.profile import ColumnStats
from r2d2.model.schema import Token
from r2d2.model.table import DataFile, Problem, Table
from r2d2.model.versions import FileVersion


def table_at(folder: Path) -> Table:
    files = [
        DataFile(str(path), path.stat().st_size, 0, FileVersion(str(n), ""))
        for n, path in enumerate(sorted(folder.iterdir()))
    ]
    return Table(folder.name, "parquet", str(folder), tuple(files))


def write_table(lake: Path, number: int) -> Table:
    """A table with a file or three, and now and then one of them broken."""
    folder = lake / f"t{number:03d}"
    folder.mkdir()
    for part in range(number % 3 + 1):
        columns = {"id": [number, number + part, None], f"c{number % 5}": ["x", None, "y"]}
        pq.write_table(pa.table(columns), folder / f"part-{part}.parquet")
    last = folder / f"part-{number % 3}.parquet"
    if number % 20 == 0:
        last.write_bytes(last.read_bytes()[:-9])
    elif number % 20 == 5:
        last.write_bytes(b"")
    elif number % 20 == 10:
        length = 2**31 - 1
        last.write_bytes(b"PAR1" + b"\x15" * 500 + length.to_bytes(4, "little") + b"PAR1")
    elif number % 20 == 14 and number % 3:  # the last of several files has another type
        pq.write_table(pa.table({"id": ["text"]}), last)
    return table_at(folder)


def is_broken(number: int) -> bool:
    return number % 20 in (0, 5, 10) or (number % 20 == 14 and number % 3 > 0)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    folder = tmp_path_factory.mktemp("lake")
    return [write_table(folder, number) for number in range(200)]


def read(spark: Any, tables: list[Table]) -> tuple[dict[str, FilesProfile], list[Problem]]:
    found = read_metadata(tables, SparkExecutor(lambda: spark), timeout_seconds=30)
    assert not found.apart
    return found.merged, found.problems


def said(profile: FilesProfile) -> dict[Token, tuple[str, ColumnStats]]:
    return {token: (column.type_name, column.stats) for token, column in profile.columns.items()}


def one_by_one(table: Table) -> FilesProfile:
    return merge_files(read_footer(file.path) for file in table.files)


def test_a_broken_table_is_named_and_every_other_is_read(spark: Any, lake: list[Table]) -> None:
    metadata, problems = read(spark, lake)
    broken = [table.name for number, table in enumerate(lake) if is_broken(number)]
    assert [problem.where for problem in problems] == broken
    for problem in problems:
        assert problem.because and problem.hint and problem.needs_a_look and "\n" not in problem.because
    assert metadata == {table.name: one_by_one(table) for n, table in enumerate(lake) if not is_broken(n)}


def test_the_number_of_jobs_does_not_grow_with_the_lake(spark: Any, lake: list[Table]) -> None:
    tracker = spark.sparkContext.statusTracker()
    jobs = []
    for tables in (lake[:5], lake):
        before = len(tracker.getJobIdsForGroup(None))
        read(spark, tables)
        jobs.append(len(tracker.getJobIdsForGroup(None)) - before)
    assert jobs[0] == jobs[1] <= 2


def test_no_tables_are_no_job(spark: Any) -> None:
    before = len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))
    assert read(spark, []) == ({}, [])
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(None)) == before


def test_a_table_of_many_files_is_read_in_pieces_and_put_together(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILES_PER_PIECE", 3)
    folders = [tmp_path / "many", tmp_path / "few", tmp_path / "clash", tmp_path / "broken"]
    for folder in folders:
        folder.mkdir()
    for number in range(20):
        columns = {"id": [number, None], f"late{number // 10}": [number, 5]}
        pq.write_table(pa.table(columns), folders[0] / f"part-{number:02d}.parquet")
        pq.write_table(pa.table({"id": ["a"] if number == 19 else [1]}), folders[2] / f"part-{number:02d}.parquet")
        pq.write_table(pa.table({"id": [1]}), folders[3] / f"part-{number:02d}.parquet")
    (folders[3] / "part-10.parquet").write_bytes(b"")
    pq.write_table(pa.table({"id": [7]}), folders[1] / "part-0.parquet")
    tables = [table_at(folder) for folder in folders]
    metadata, problems = read(spark, tables)
    many = metadata["many"]
    assert said(many) == said(one_by_one(tables[0]))
    assert sorted(many.files, key=lambda file: file.path) == list(one_by_one(tables[0]).files)
    assert many.columns["id",].stats == ColumnStats(20, 0, 19, True, True)
    assert many.columns["late0",].stats == ColumnStats(20, 0, 9, True, True)
    assert metadata.keys() == {"many", "few"}
    assert [problem.where for problem in problems] == ["clash", "broken"]
    assert "string in part-19.parquet" in problems[0].because and "int64 in part-" in problems[0].because
    assert problems[1].because == "part-10.parquet is empty (0 bytes)"


def test_a_table_of_which_nothing_was_read_is_named() -> None:
    found = module.gather_metadata([Table("empty", "parquet", "/lake/empty", ())], [])
    assert found.problems == [Problem("empty", "it has no file that could be read")] and not found.merged
