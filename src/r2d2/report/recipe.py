"""Recipes: the documents of `r2d2 recipe infer`, `show`, `set` and `forget`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from r2d2.model import recipe as recipes
from r2d2.model.recipe import Recipe
from r2d2.report.document import Document

if TYPE_CHECKING:
    from r2d2.app.recipes import Entry
    from r2d2.engine.recipes.jobs import Difference
    from r2d2.state.recipes import StoredRecipe


@dataclass(frozen=True)
class RecipeLine(Document):
    """The recipe of one edge, or the reason that it has none: a line of `infer`."""

    parent: str
    child: str
    origin: str  # inferred, or given by a person
    kind: str | None  # None: there is no recipe
    selector_bytes: int | None
    sql: str | None
    because: str | None


@dataclass(frozen=True)
class RecipeEntry(RecipeLine):
    """A stored recipe as `show` prints it."""

    current: bool  # both tables are unchanged since
    recipe: Mapping[str, Any] | None


@dataclass(frozen=True)
class RecipeTrial(Document):
    """The output of a person's recipe, compared with the child: the document of `set`."""

    parent: str
    child: str
    exact: bool
    kept: bool
    rows: int
    too_many: int
    too_few: int
    because: str | None
    example_too_many: tuple[Mapping[str, str | None], ...]
    example_too_few: tuple[Mapping[str, str | None], ...]
    recipe: Mapping[str, Any]


@dataclass(frozen=True)
class RecipeForgotten(Document):
    """The document of `forget`."""

    parent: str
    child: str
    forgotten: bool


def recipe_line(stored: StoredRecipe) -> RecipeLine:
    """The line of a stored recipe."""
    recipe = stored.recipe
    return RecipeLine(
        stored.parent,
        stored.child,
        stored.origin,
        kind=recipe.kind if recipe else None,
        selector_bytes=recipe.selector_bytes if recipe else None,
        sql=recipes.to_sql(recipe, stored.parent) if recipe else None,
        because=stored.because or None,
    )


def recipe_entry(entry: Entry) -> RecipeEntry:
    """A stored recipe with its whole text."""
    recipe = entry.stored.recipe
    whole = None if recipe is None else recipes.to_json(recipe)
    return RecipeEntry(**vars(recipe_line(entry.stored)), current=entry.current, recipe=whole)


def recipe_trial(recipe: Recipe, difference: Difference, *, parent: str, child: str) -> RecipeTrial:
    """The comparison of a person's recipe with the child. The recipe is kept if the rows are equal."""
    return RecipeTrial(
        parent,
        child,
        exact=difference.same,
        kept=difference.same,
        rows=difference.rows,
        too_many=difference.too_many,
        too_few=difference.too_few,
        because=difference.wrong or None,
        example_too_many=tuple(difference.example_too_many),
        example_too_few=tuple(difference.example_too_few),
        recipe=recipes.to_json(recipe),
    )


def order_in_words(recipe: Recipe) -> str:
    """The order of rebuilt rows in words; empty without a defined order."""
    given = ""
    if recipe.order is not None:
        ties = "" if recipe.distinct else ", ties as in the parent"
        given = f"rows come back sorted{ties}" if recipe.order else "rows come back in the parent's order"
    lost = f"the order of the rows will not come back: {recipe.lost_order}" if recipe.lost_order else ""
    return "; ".join(filter(None, (given, lost)))
