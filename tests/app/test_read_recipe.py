"""A recipe comes as a SELECT or as JSON; what cannot be used says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r2d2.app import read_recipe as reading
from r2d2.app.read_recipe import read_recipe, recipe_text
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.model import recipe as recipes
from tests.app.conftest import SmallLake

TABLES = {"parent": "all.parquet", "child": "part.parquet"}
SELECT = "SELECT id FROM parent WHERE id >= 3 AND id < 8"


def test_a_select_is_taken_as_it_stands_and_a_file_is_read(tmp_path: Path) -> None:
    assert recipe_text(f"  {SELECT}") == f"  {SELECT}"
    (tmp_path / "recipe.json").write_text("{}")
    assert recipe_text(str(tmp_path / "recipe.json")) == "{}"
    with pytest.raises(UserError, match="cannot read nowhere") as refused:
        recipe_text("nowhere.json")
    assert "a SELECT in quotes" in refused.value.hint


def test_a_file_beyond_all_recipes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 10)
    (tmp_path / "large.json").write_text("{" + " " * 10 + "}")
    with pytest.raises(UserError, match="more than 10 bytes"):
        recipe_text(str(tmp_path / "large.json"))


def test_a_select_and_its_json_are_the_same_recipe(small: SmallLake) -> None:
    scan = Workspace(small.settings).newest()
    made = read_recipe(SELECT, scan, **TABLES)
    text = json.dumps(recipes.to_json(made))
    assert read_recipe(text, scan, **TABLES) == made
    shown = json.dumps({"parent": "all.parquet", "recipe": json.loads(text)})
    assert read_recipe(shown, scan, **TABLES) == made, "the output of `r2d2 recipe show --json` can be given back"


@pytest.mark.parametrize("text", ["{", "{}", '{"columns": 3}', '{"a":' * 100_000])
def test_json_that_is_no_recipe_is_refused(small: SmallLake, text: str) -> None:
    with pytest.raises(UserError, match="this is no recipe"):
        read_recipe(text, Workspace(small.settings).newest(), **TABLES)


def test_a_recipe_for_other_tables_is_refused(small: SmallLake) -> None:
    scan = Workspace(small.settings).newest()
    made = json.dumps(recipes.to_json(read_recipe(SELECT, scan, **TABLES)))
    with pytest.raises(UserError, match="does not fit the two tables"):
        read_recipe(made, scan, parent="all.parquet", child="other.parquet")
