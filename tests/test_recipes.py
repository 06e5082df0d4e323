"""Recipes for whole random lakes, inferred on Spark, carried out in plain Python: every one gives its child exactly."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from r2d2.app.recipe_jobs import infer_recipes, try_recipe
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.recipe import Recipe, projection
from r2d2.model.scan import Scan
from r2d2.model.schema import Column
from r2d2.report.edges import standing_edges
from r2d2.settings import Settings, load_settings
from r2d2.steps.infer_recipes import NoRecipe
from tests.support.random_lakes import write_lake
from tests.support.recipe_oracle import rows_made, rows_there

LAKES = 25


def scanned(spark: Any, folder: Path, **given: Any) -> tuple[Scan, Settings]:
    in_force = load_settings({"state": str(folder / "state"), "recipe_parents": 0} | given, environment={})
    return scan_lake(Workspace(in_force, spark=spark), [str(folder / "lakes")]), in_force


@settings(max_examples=3, database=None, phases=[Phase.generate])  # to shrink a lake takes for ever
@given(st.integers(0, 10**9))
def test_every_edge_that_holds_as_a_bag_has_a_recipe_that_rebuilds_its_child(spark: Any, seed: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(seed * LAKES, (seed + 1) * LAKES):
            write_lake(folder / "lakes", number)
        scan, in_force = scanned(spark, folder)
        found = infer_recipes(Workspace(in_force, spark=spark), scan)
        edges = {(edge.parent, edge.child): edge for edge in standing_edges(scan)}
        assert found.keys() == edges.keys()
        for pair, answer in found.items():
            if edges[pair].bag:
                assert isinstance(answer, Recipe), (pair, answer)
                assert_rebuilds(scan, folder / "lakes", pair, answer)
            else:
                assert isinstance(answer, NoRecipe) and "as a set only" in answer.because


def assert_rebuilds(scan: Scan, lake: Path, pair: tuple[str, str], recipe: Recipe) -> None:
    parent, child = pair
    schema = scan.profiles[scan.number_of[child]].schema
    assert {output.column for output in recipe.columns} == set(schema.columns)
    assert rows_made(recipe, lake / parent) == rows_there(lake / child)


def write(path: Path, **columns: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


@pytest.fixture(scope="module")
def small(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Scan, Settings, Path]:
    folder = tmp_path_factory.mktemp("recipes")
    lake = folder / "lakes"
    ids = pa.array(range(1000), pa.int64())
    write(lake / "all.parquet", id=ids, x=pa.array([n % 7 for n in range(1000)], pa.int64()))
    write(lake / "copy.parquet", id=ids.cast(pa.int16()), x=pa.array([n % 7 for n in range(1000)], pa.float64()))
    write(lake / "some.parquet", id=ids.slice(100, 50).cast(pa.decimal128(21, 2)))
    write(lake / "empty.parquet", id=ids.slice(0, 0))
    write(lake / "twice.parquet", x=pa.array([3] * 400, pa.int64()))
    scan, in_force = scanned(spark, folder)
    return scan, in_force, lake


def test_types_are_cast_back_and_copies_kept(spark: Any, small: Any) -> None:
    scan, in_force, lake = small
    found = infer_recipes(Workspace(in_force, spark=spark), scan)
    assert found["all.parquet", "copy.parquet"] == Recipe(
        projection([Column(("id",), "int16"), Column(("x",), "float64")]),
        order=(),  # its rows stand as the parent has them
    )
    assert found["copy.parquet", "all.parquet"].kind == "projection"  # type: ignore[union-attr]
    for pair in (("all.parquet", "some.parquet"), ("copy.parquet", "some.parquet"), ("all.parquet", "empty.parquet")):
        recipe = found[pair]
        assert isinstance(recipe, Recipe) and recipe.kind == "predicate"
        assert_rebuilds(scan, lake, pair, recipe)
    assert "as a set only" in found["all.parquet", "twice.parquet"].because  # type: ignore[union-attr]


def test_only_the_smallest_parents_are_tried_unless_an_edge_is_named(spark: Any, small: Any) -> None:
    scan, _, _ = small
    in_force = load_settings({"state": small[1].state, "recipe_parents": 1}, environment={})
    found = infer_recipes(Workspace(in_force, spark=spark), scan)
    tried = [pair for pair, answer in found.items() if pair[1] == "some.parquet" and isinstance(answer, Recipe)]
    assert len(tried) == 1
    (left,) = [pair for pair, answer in found.items() if pair[1] == "some.parquet" and isinstance(answer, NoRecipe)]
    assert "not tried" in found[left].because  # type: ignore[union-attr]
    named = infer_recipes(Workspace(in_force, spark=spark), scan, only=[left, ("some.parquet", "all.parquet")])
    assert isinstance(named[left], Recipe)
    assert "not contained" in named["some.parquet", "all.parquet"].because  # type: ignore[union-attr]


def test_a_child_too_large_to_search_gets_its_box_if_that_is_all_it_takes(spark: Any, small: Any) -> None:
    scan, _, lake = small
    in_force = load_settings({"state": small[1].state, "recipe_rows": 10}, environment={})
    found = infer_recipes(Workspace(in_force, spark=spark), scan, only=[("all.parquet", "some.parquet")])
    recipe = found["all.parquet", "some.parquet"]
    assert isinstance(recipe, Recipe) and recipe.kind == "predicate"
    assert_rebuilds(scan, lake, ("all.parquet", "some.parquet"), recipe)


def test_a_wrong_recipe_is_counted_not_believed(spark: Any, small: Any) -> None:
    scan, in_force, _ = small
    columns = projection(scan.profiles[scan.number_of["some.parquet"]].schema)
    asked = {"parent": "all.parquet", "child": "some.parquet"}
    wrong = Recipe(columns, Compare(("id",), "<", Literal("int", 120)))
    difference = try_recipe(Workspace(in_force, spark=spark), scan, wrong, examples=3, **asked)
    assert (difference.rows, difference.too_many, difference.too_few) == (120, 100, 30) and not difference.same
    assert len(difference.example_too_many) == 3 and {"id": "0.00"} in difference.example_too_many
    narrow = Recipe(projection([Column(("id",), "int8")]))
    assert "cannot be cast" in try_recipe(Workspace(in_force, spark=spark), scan, narrow, **asked).wrong


def test_a_table_that_changed_since_the_scan_is_refused(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "lakes" / "a.parquet", x=[1, 2, 3])
    write(tmp_path / "lakes" / "b.parquet", x=[1, 2])
    scan, in_force = scanned(spark, tmp_path)
    write(tmp_path / "lakes" / "a.parquet", x=[1, 2, 3, 4])
    with pytest.raises(UserError, match=r"a\.parquet has changed since the scan"):
        infer_recipes(Workspace(in_force, spark=spark), scan)
