"""Recipes in the state folder come back as they were, and a stale one is known as such."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from r2d2.errors import StateError
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.recipe import ChosenRows, Recipe, SortKey, projection
from r2d2.model.schema import Column
from r2d2.model.table import DataFile, Table
from r2d2.model.versions import FileVersion
from r2d2.state.recipes import RecipeStore, StoredRecipe

COLUMNS = projection([Column(("x",), "int64")])
TABLE = Table("a", "parquet", "/lake/a", (DataFile("/lake/a/part-0.parquet", 5, 7, FileVersion("1:2", "")),))
CHANGED = replace(TABLE, files=(replace(TABLE.files[0], modified_ns=8),))


def stored(parent: str = "p", child: str = "c", **changes: object) -> StoredRecipe:
    plain = StoredRecipe(parent, child, TABLE.version, TABLE.version, "inferred", Recipe(COLUMNS))
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_what_is_saved_is_loaded_under_any_name(tmp_path: Path) -> None:
    store = RecipeStore(tmp_path)
    hostile = ["../../etc/passwd", "a\nb", "ü", "x" * 3000, "c", "p\0c"]
    all_of_them = [
        stored(name, "c", recipe=Recipe(COLUMNS, Compare(("x",), "<", Literal("float", float("nan")))))
        for name in hostile
    ]
    all_of_them += [
        stored("p", "rows", recipe=Recipe(COLUMNS, rows=(ChosenRows("f", 3, b"\x00\xff"),))),
        stored("p", "none", recipe=None, because="contained as a set only"),
    ]
    store.save(all_of_them)
    for one in all_of_them:
        assert store.load(one.parent, one.child) == one
    assert sorted(store.all(), key=repr) == sorted(all_of_them, key=repr)
    assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path / "recipes"}


def test_the_later_one_counts_and_forgetting_removes_it(tmp_path: Path) -> None:
    store = RecipeStore(tmp_path)
    assert store.load("p", "c") is None and list(store.all()) == []
    store.save([stored()])
    store.save([stored(origin="given")])
    found = store.load("p", "c")
    assert found is not None and found.origin == "given"
    assert store.forget("p", "c") and not store.forget("p", "c")
    assert store.load("p", "c") is None


def test_the_order_of_rows_is_kept(tmp_path: Path) -> None:
    store = RecipeStore(tmp_path)
    store.save([stored(recipe=Recipe(COLUMNS, order=(SortKey(("x",)),), lost_order="by y"))])
    found = store.load("p", "c")
    assert found is not None and found.recipe is not None
    assert (found.recipe.order, found.recipe.lost_order) == ((SortKey(("x",)),), "by y")


def test_a_recipe_is_current_as_long_as_neither_table_has_changed() -> None:
    assert stored().is_current(parent=TABLE, child=TABLE)
    assert not stored().is_current(parent=CHANGED, child=TABLE)
    assert not stored().is_current(parent=TABLE, child=CHANGED)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}', '{"format": 99, "recipe": null}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    store = RecipeStore(tmp_path)
    store.save([stored()])
    (path,) = tmp_path.rglob("*.json")
    path.write_text(text)
    with pytest.raises(StateError, match="cannot be read"):
        store.load("p", "c")


def test_recipes_can_be_read_by_their_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        for _ in range(2):
            RecipeStore(tmp_path).save([stored()])
    finally:
        os.umask(mask)
    (path,) = (tmp_path / "recipes").iterdir()
    assert (tmp_path / "recipes").stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
