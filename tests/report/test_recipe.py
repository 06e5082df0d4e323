"""Recipes as documents and in words."""

from __future__ import annotations

from r2d2.app.recipes import Entry
from r2d2.engine.recipes.jobs import Difference
from r2d2.model.recipe import Recipe, projection
from r2d2.model.schema import Column
from r2d2.report.recipe import order_in_words, recipe_entry, recipe_line, recipe_trial
from r2d2.state.recipes import StoredRecipe

RECIPE = Recipe(projection([Column(("x",), "int64")]))


def stored(recipe: Recipe | None, because: str = "") -> StoredRecipe:
    return StoredRecipe("p", "c", "1", "2", "inferred", recipe, because)


def test_an_edge_without_a_recipe_says_why_and_nothing_else() -> None:
    line = recipe_line(stored(None, "rows differ"))
    assert (line.kind, line.selector_bytes, line.sql, line.because) == (None, None, None, "rows differ")
    assert recipe_entry(Entry(stored(None, "rows differ"), current=True)).recipe is None


def test_a_stored_recipe_is_there_for_people_and_for_machines() -> None:
    entry = recipe_entry(Entry(stored(RECIPE), current=False))
    assert entry.sql == "SELECT x FROM p" and entry.kind == "projection" and entry.because is None
    assert entry.recipe is not None and entry.recipe["columns"] and not entry.current


def test_a_trial_is_kept_only_if_it_is_exact() -> None:
    exact = recipe_trial(RECIPE, Difference(rows=3), parent="p", child="c")
    assert (exact.exact, exact.kept, exact.because) == (True, True, None)
    for difference in (Difference(too_many=1), Difference(too_few=1), Difference(wrong="no")):
        assert not recipe_trial(RECIPE, difference, parent="p", child="c").kept


def test_the_order_of_rows_in_words() -> None:
    assert order_in_words(RECIPE) == ""
    kept = Recipe(RECIPE.columns, order=())
    assert order_in_words(kept) == "rows come back in the parent's order"
    lost = Recipe(RECIPE.columns, lost_order="too many rows")
    assert order_in_words(lost) == "the order of the rows will not come back: too many rows"
