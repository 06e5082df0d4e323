"""The search finds recipes that rebuild the child exactly, in the plain reading of another reader, without Spark."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.recipes import labelled_rows as marked_rows
from r2d2.engine.recipes import sample as held_rows
from r2d2.engine.recipes.jobs import RecipeJobs
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.inline import Inline
from r2d2.formats.arrow_types import flatten_fields, type_name
from r2d2.formats.parquet.read import read_slice, slices
from r2d2.model.predicate import leaves
from r2d2.model.recipe import Recipe
from r2d2.model.schema import Column, Schema
from r2d2.model.table import DataFile
from r2d2.model.versions import FileVersion
from r2d2.steps.infer_recipes import find_boxes
from tests.support.random_tables import pairs
from tests.support.recipe_oracle import rows_made, rows_there

HASHING = Hashing(read_slice, bytes(range(32)))


def stored(path: Path, table: pa.Table, files: int = 1) -> TableContent:
    """A table on disk, as one file or as a folder of part files."""
    if files == 1:
        pq.write_table(table, path, row_group_size=7)
        paths = [path]
    else:
        path.mkdir()
        step = -(-table.num_rows // files)
        paths = [path / f"part-{number}.parquet" for number in range(files)]
        for number, part in enumerate(paths):
            pq.write_table(table.slice(number * step, step), part)
    found = [DataFile(str(p), 1, 1, FileVersion(str(p), ""), (), _row_groups(p)) for p in paths]
    columns = [Column(token, type_name(kind)) for token, kind, _ in flatten_fields(table.schema)]
    return TableContent(tuple(slices(found, {})), Schema.of(columns).columns, str(path))


def _row_groups(path: Path) -> tuple[tuple[int, int], ...]:
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return tuple((group.num_rows, group.total_byte_size) for group in groups)


def search(parent: TableContent, child: TableContent) -> Recipe:
    """What a task answers, without Spark."""
    jobs = RecipeJobs(Content(Inline(), [parent, child], HASHING, lambda parts: {}), find_boxes)
    return jobs.search([(0, 1)])[0, 1]


def found(folder: Path, parent: pa.Table, child: pa.Table, files: int = 1) -> Recipe:
    """The recipe for these two, after it was carried out in plain Python."""
    recipe = search(stored(folder / "parent", parent, files), stored(folder / "child", child))
    assert rows_made(recipe, folder / "parent") == rows_there(folder / "child")
    return recipe


@settings(max_examples=150)
@given(pairs(), st.integers(1, 3), st.sampled_from([4, 60_000]))
def test_any_child_that_is_contained_as_a_bag_is_rebuilt(tables: Any, files: int, held: int) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(held_rows, "HELD_ROWS", held)
        patch.setattr(marked_rows, "CACHED_CELLS", 0 if held == 4 else 10**6)
        folder = Path(name)
        parent, child = tables
        stored(folder / "a", parent), stored(folder / "b", child)
        names = sorted(child.column_names)
        kept = rows_there(folder / "b")
        whole = rows_there_in(folder / "a", names)
        if child.num_rows and kept <= whole:
            found(folder, parent.select(sorted(parent.column_names)), child.select(names), files)


def rows_there_in(path: Path, names: list[str]) -> Any:
    pq.write_table(pq.read_table(path).select(names), path.with_suffix(".some"))
    return rows_there(path.with_suffix(".some"))


def orders(rows: int, seed: int = 1) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "country": [draw.choice(["DE", "FR", "IN", None]) for _ in range(rows)],
            "price": [
                draw.choice([-0.0, 0.0, float("nan"), None, *(draw.random() * 100 for _ in range(9))])
                for _ in range(rows)
            ],
            "day": pa.array([draw.randrange(20_000, 20_400) for _ in range(rows)], pa.int32()).cast(pa.date32()),
            "total": pa.array([draw.randrange(500) for _ in range(rows)], pa.int16()),
        }
    )


def where(table: pa.Table, keep: Any, columns: list[str]) -> pa.Table:
    rows = table.to_pylist()
    return table.filter(pa.array([bool(keep(row)) for row in rows])).select(columns)


EVERYTHING = ["id", "country", "price", "day", "total"]
SELECTS = {
    "a list of a kept column": (lambda r: r["country"] in ("DE", "FR"), EVERYTHING),
    "NULL only": (lambda r: r["country"] is None, EVERYTHING),
    "NULL or a value": (lambda r: r["country"] in (None, "IN"), ["id", "country"]),
    "a range of a lost column": (lambda r: 100 <= r["id"] <= 3000, ["country", "total"]),
    "a list of a lost column": (lambda r: r["country"] in ("DE", "IN"), ["total", "day"]),
    "a lost list and a lost range": (lambda r: r["country"] == "DE" and r["total"] < 200, ["day", "price"]),
    "a kept list and a lost range": (lambda r: r["country"] == "FR" and r["id"] > 900, ["country", "day"]),
    "a hole": (lambda r: not 100 < r["total"] < 300, EVERYTHING),
    "numbers above the rest": (lambda r: r["price"] is not None and r["price"] != r["price"], EVERYTHING),
    "three conditions": (
        lambda r: r["total"] > 50 and r["country"] == "IN" and r["id"] % 1000 < 2000 and r["id"] < 3500,
        EVERYTHING,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("held", [200, 60_000])
@pytest.mark.parametrize("name", SELECTS)
def test_selections_are_found_as_predicates(tmp_path: Path, name: str, held: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(held_rows, "HELD_ROWS", held)
    monkeypatch.setattr(marked_rows, "CACHED_CELLS", 0)
    keep, columns = SELECTS[name]
    parent = orders(4000)
    recipe = found(tmp_path, parent, where(parent, keep, columns), files=3)
    assert recipe.kind == "predicate" and recipe.where is not None
    assert len(list(leaves(recipe.where))) <= 4


def test_each_row_once_is_found_as_distinct(tmp_path: Path) -> None:
    parent = orders(3000)
    child = (
        where(parent, lambda r: r["country"] == "DE", ["country", "total"]).group_by(["country", "total"]).aggregate([])
    )
    recipe = found(tmp_path, parent, child)
    assert recipe.distinct and recipe.kind == "predicate"


def test_a_random_sample_is_listed_with_its_copies(tmp_path: Path) -> None:
    parent = pa.concat_tables([orders(2000)] * 3)
    draw = random.Random(5)
    child = parent.take(pa.array(sorted(draw.sample(range(6000), 1500))))
    recipe = found(tmp_path, parent, child, files=4)
    assert recipe.kind == "rows" and 0 < recipe.selector_bytes < 6000


def test_an_unreadable_child_is_reported_and_costs_no_other(tmp_path: Path) -> None:
    parent = orders(100)
    contents = [
        stored(tmp_path / "p", parent),
        stored(tmp_path / "bad", parent),
        stored(tmp_path / "c", parent.slice(5, 9)),
    ]
    (tmp_path / "bad").write_bytes(b"PAR1")
    content = Content(Inline(), contents, HASHING, lambda parts: {})
    found = RecipeJobs(content, find_boxes).search([(0, 1), (0, 2)])
    assert content.failed.keys() == {1} and "cannot be read" in content.failed[1][0]
    assert found.keys() == {(0, 2)} and found[0, 2].where is not None
