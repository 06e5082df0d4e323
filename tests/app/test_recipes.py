"""Stored recipes are found, kept and dropped by the tables that they are about."""

from __future__ import annotations

import pytest

from r2d2.app import recipes
from r2d2.app.known_recipes import recipes_for
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.model.recipe import GIVEN, INFERRED, Recipe, projection
from r2d2.state.recipes import RecipeStore, StoredRecipe
from r2d2.steps.infer_recipes import NoRecipe
from tests.app.conftest import SmallLake

EDGE = {"parent": "all.parquet", "child": "part.parquet"}


def keep(lake: SmallLake, *, parent: str, child: str, origin: str = INFERRED, because: str = "") -> Recipe:
    """Store a recipe for two tables as they are, or a reason why there is none."""
    scan = Workspace(lake.settings).newest()
    p, c = (scan.tables[scan.number_of[name]] for name in (parent, child))
    recipe = Recipe(projection(scan.profiles[scan.number_of[child]].schema))
    stored = StoredRecipe(p.name, c.name, p.version, c.version, origin, None if because else recipe, because)
    with Workspace(lake.settings).store.locked():
        RecipeStore(lake.settings.state).save([stored])
    return recipe


def test_a_stored_recipe_is_looked_up_by_name_or_path(small: SmallLake) -> None:
    recipe = keep(small, **EDGE)
    entry = recipes.look_up(Workspace(small.settings), **EDGE)
    assert entry.current and entry.stored.recipe == recipe
    paths = {side: str(small.path / name) for side, name in EDGE.items()}
    assert recipes.look_up(Workspace(small.settings), **paths).stored == entry.stored
    assert recipes.table_names(Workspace(small.settings), **paths) == ("all.parquet", "part.parquet")


def test_a_recipe_is_out_of_date_when_a_table_has_changed(small: SmallLake) -> None:
    keep(small, **EDGE)
    small.write("all.parquet", range(30))
    small.save_scan()
    assert not recipes.look_up(Workspace(small.settings), **EDGE).current


def test_what_cannot_be_looked_up_says_what_to_do(small: SmallLake) -> None:
    with pytest.raises(UserError, match="there is no recipe for") as refused:
        recipes.look_up(Workspace(small.settings), **EDGE)
    assert "r2d2 recipe infer" in refused.value.hint
    with pytest.raises(UserError, match="are the same table"):
        recipes.look_up(Workspace(small.settings), parent="all.parquet", child="all.parquet")


def test_a_recipe_is_forgotten_once_even_if_its_table_is_gone(small: SmallLake) -> None:
    keep(small, **EDGE)
    (small.path / "part.parquet").unlink()
    small.save_scan()
    assert recipes.forget(Workspace(small.settings), **EDGE)
    with pytest.raises(UserError):
        recipes.forget(Workspace(small.settings), **EDGE)


# ---- for a plan ------------------------------------------------------------------------------------------------------


def test_a_plan_takes_stored_recipes_and_needs_no_search_where_each_edge_has_an_answer(small: SmallLake) -> None:
    workspace = Workspace(small.settings)
    scan = workspace.scan_of_present()
    assert scan.graph is not None and list(scan.graph.edges()) == [("all.parquet", "part.parquet")]
    recipe = keep(small, **EDGE)
    keep(small, parent="other.parquet", child="part.parquet", origin=GIVEN)
    found = recipes_for(workspace, scan)
    number = scan.number_of
    edge, given = ((number[p], number["part.parquet"]) for p in ("all.parquet", "other.parquet"))
    assert found.recipes == {edge: recipe, given: recipe} and found.given == {given} and not found.notes


def test_a_reason_why_there_is_no_recipe_is_an_answer_too(small: SmallLake) -> None:
    keep(small, **EDGE, because="too many rows")
    found = recipes_for(Workspace(small.settings), Workspace(small.settings).scan_of_present())
    assert list(found.recipes.values()) == [NoRecipe("too many rows")] and not found.given


@pytest.mark.parametrize(
    ("change", "says"), [("write", "other.parquet has changed"), ("remove", "other.parquet has gone")]
)
def test_a_given_recipe_that_no_longer_fits_is_pointed_out(small: SmallLake, change: str, says: str) -> None:
    keep(small, **EDGE)
    keep(small, parent="other.parquet", child="part.parquet", origin=GIVEN)
    small.write("other.parquet", range(4), z=[1, 2, 3, 4])
    if change == "remove":
        (small.path / "other.parquet").unlink()
    small.save_scan()
    workspace = Workspace(small.settings)
    (note,) = recipes_for(workspace, workspace.scan_of_present()).notes
    assert f"no longer fits: {says} since" in note
    assert not recipes_for(workspace, workspace.scan_of_present(), deleted=["other.parquet"]).notes
