"""One damaged table costs its own edges, never the run (HAZARDS 25, 26)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.lake_tools import read_metadata
from r2d2.engine.recipes.jobs import RecipeJobs
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.contract import ReaderDied
from r2d2.engine.run.inline import Inline
from r2d2.engine.run.spark import SparkExecutor
from r2d2.errors import UserError
from r2d2.formats.parquet.read import read_slice
from r2d2.lake.deadly_slices import deadly_slices
from r2d2.lake.discover import discover
from r2d2.model.recipe import Recipe, projection
from r2d2.model.schema import Column, Token
from r2d2.steps.infer_recipes import find_boxes
from r2d2.steps.prune_by_content import Probe
from tests.support.pairs import by_pair, numbers


def read_or_die(part: Mapping[str, Any], tokens: Iterable[Token]) -> Any:
    """A reader that a file named `deadly` kills, as a damaged page can."""
    if "deadly" in part["path"]:
        os.abort()
    return read_slice(part, tokens)


def write(folder: Path, name: str, rows: range) -> TableContent:
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table({"x": list(rows)}), path)
    part = {"format": "parquet", "path": str(path), "first": 0, "rows": len(rows), "bytes": 1}
    part |= {"partition": [], "fold": False}
    return TableContent((part,), (Column(("x",), "int64"),))


def test_a_table_that_kills_its_reader_is_left_out_and_the_others_are_compared(spark: Any, tmp_path: Path) -> None:
    tables = [
        write(tmp_path, "big", range(10)),
        write(tmp_path, "small", range(5)),
        write(tmp_path, "deadly", range(3)),
    ]
    content = Content(SparkExecutor(lambda: spark), tables, Hashing(read_or_die, bytes(32)), find_by_name)
    counted = content.compare(numbers([(0, 1), (1, 0), (0, 2)], 3))
    assert by_pair(counted, 3) == {(0, 1): (0, 0), (1, 0): (5, 5)}
    assert content.failed == {2: ("killed", "")}


def test_recipes_are_found_though_another_table_kills_its_reader(spark: Any, tmp_path: Path) -> None:
    tables = [
        write(tmp_path, "big", range(10)),
        write(tmp_path, "same", range(10)),
        write(tmp_path, "deadly", range(10)),
    ]
    content = Content(SparkExecutor(lambda: spark), tables, Hashing(read_or_die, bytes(32)), find_by_name)
    every_row = Recipe(projection([Column(("x",), "int64")]))
    outcomes = RecipeJobs(content, find_boxes).rebuild({(0, 1): every_row, (0, 2): every_row})
    assert outcomes[0, 1].same and (0, 2) not in outcomes
    assert content.failed == {2: ("killed", "")}


class Dying:
    """An executor whose readers are always killed."""

    def run(self, task: Any, items: Any, progress: Any = None) -> Any:
        raise ReaderDied(UserError("Python on a worker was killed", hint="more memory"))

    exchange = run


@pytest.mark.parametrize("third", ["deadly", "harmless"])
def test_readers_that_are_killed_whatever_they_read_are_told_in_one_sentence(tmp_path: Path, third: str) -> None:
    tables = [write(tmp_path, name, range(4)) for name in ("one", "two", third)]
    content = Content(Dying(), tables, Hashing(read_slice, bytes(32)), find_by_name)
    with pytest.raises(UserError, match="Python on a worker was killed"):
        content.compare(numbers([(0, 1), (0, 2)], 3))
    every_row = Recipe(projection([Column(("x",), "int64")]))
    content = Content(Dying(), tables, Hashing(read_slice, bytes(32)), find_by_name)
    with pytest.raises(UserError, match="Python on a worker was killed"):
        RecipeJobs(content, find_boxes).rebuild({(0, 1): every_row, (0, 2): every_row})
    (tmp_path / "lake").mkdir()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "lake" / "t.parquet")
    with pytest.raises(UserError, match="Python on a worker was killed"):
        read_metadata(discover([str(tmp_path / "lake")]).tables, Dying(), timeout_seconds=9)


def find_by_name(parts: Any) -> dict[int, str]:
    return {place: "killed" for place, part in enumerate(parts) if "deadly" in part["path"]}


def test_the_slices_that_cannot_be_read_are_found(tmp_path: Path) -> None:
    good, bad = write(tmp_path, "good", range(100)), write(tmp_path, "bad", range(100))
    path = Path(bad.slices[0]["path"])
    data = bytearray(path.read_bytes())
    data[4:60] = bytes(56)  # the first page's header
    path.write_bytes(data)
    find = partial(deadly_slices, timeout_seconds=60)
    assert set(find([good.slices[0], bad.slices[0]])) == {1}


def test_the_search_does_not_hang_where_polars_is_loaded(tmp_path: Path) -> None:
    """A notebook has it, and forks of a process with its threads do not read."""
    good = write(tmp_path, "good", range(100))
    assert pl.scan_parquet(good.slices[0]["path"]).collect().height == 100
    assert deadly_slices([good.slices[0]] * 3, timeout_seconds=20) == {}


def test_a_table_that_does_not_know_its_rows_is_compared_and_not_sampled(tmp_path: Path) -> None:
    tables = [write(tmp_path, "big", range(10)), write(tmp_path, "small", range(5))]
    unknown = replace(tables[1], slices=({**tables[1].slices[0], "rows": None},))

    def read(part: Any, tokens: Iterable[Token]) -> Any:
        return read_slice({**part, "rows": 5 if part["rows"] is None else part["rows"]}, tokens)

    content = Content(Inline(), [tables[0], unknown], Hashing(read, bytes(32)), lambda parts: {})
    assert content.take_samples([Probe(1, unknown.columns, 3, uniform=True)]) == {}
    counted = content.compare(numbers([(0, 1), (1, 0)], 2))
    assert by_pair(counted, 2) == {(0, 1): (0, 0), (1, 0): (5, 5)} and not content.failed
    content.read_through({1: {unknown.slices[0]["path"]}}, {1: [("x",)]})
    assert content.bytes_read == 3 and unknown.rows > 0
