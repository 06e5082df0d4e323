"""Recipes that a state folder keeps: look one up, give one, infer them, forget one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from r2d2.app.read_recipe import read_recipe
from r2d2.app.recipe_jobs import Pair, infer_recipes, try_recipe
from r2d2.app.workspace import Workspace
from r2d2.engine.recipes.jobs import Difference
from r2d2.errors import UserError
from r2d2.model.recipe import GIVEN, INFERRED, Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Table
from r2d2.report.explain import find_table
from r2d2.state.recipes import RecipeStore, StoredRecipe

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored recipe, and whether both tables are as they were when it was checked."""

    stored: StoredRecipe
    current: bool


def look_up(workspace: Workspace, *, parent: str, child: str) -> Entry:
    """The recipe that is stored for two tables of the newest scan."""
    p, c = _tables(workspace.newest(), parent, child)
    stored = RecipeStore(workspace.settings.state).load(p.name, c.name)
    if stored is None:
        raise UserError(
            f"there is no recipe for {c.name} from {p.name}",
            hint="`r2d2 recipe infer PARENT CHILD` looks for one, `r2d2 recipe set PARENT CHILD …` takes yours",
        )
    return Entry(stored, stored.is_current(parent=p, child=c))


def table_names(workspace: Workspace, *, parent: str, child: str) -> tuple[str, str]:
    """The names of two tables of the newest scan, each given by its name or its path."""
    p, c = _tables(workspace.newest(), parent, child)
    return p.name, c.name


def infer(workspace: Workspace, *, only: Iterable[Pair] | None = None, also: Iterable[Pair] = ()) -> list[StoredRecipe]:
    """Infer recipes for all proven edges and those in *also*, or *only* for these, and keep them.

    A recipe that a person gave stays as long as neither table has changed, unless its edge is named.
    """
    with workspace.store.locked():
        scan = workspace.scan()
        book = RecipeStore(workspace.settings.state)
        named = None if only is None else [_names(scan, pair) for pair in only]
        found = infer_recipes(workspace, scan, only=named, also=also)
        kept = [_stored(scan, pair, answer) for pair, answer in sorted(found.items())]
        if named is None:
            given = {(s.parent, s.child): s for s in book.all() if s.origin == GIVEN and is_current(scan, s)}
            kept = [given.get((stored.parent, stored.child), stored) for stored in kept]
        book.save(kept)
        return kept


def give(
    workspace: Workspace, text: str, *, parent: str, child: str, show_values: bool = False
) -> tuple[Recipe, Difference]:
    """Try a person's recipe, a SELECT or JSON, on the data; keep it if it gives the child exactly."""
    with workspace.store.locked():
        scan = workspace.scan()
        p, c = _tables(scan, parent, child)
        recipe = read_recipe(text, scan, parent=p.name, child=c.name)
        examples = EXAMPLES if show_values else 0
        difference = try_recipe(workspace, scan, recipe, parent=p.name, child=c.name, examples=examples)
        if difference.same:
            recipe = replace(recipe, order=difference.order, lost_order=difference.lost_order)
            RecipeStore(workspace.settings.state).save(
                [StoredRecipe(p.name, c.name, p.version, c.version, GIVEN, recipe)],
            )
    return recipe, difference


def forget(workspace: Workspace, *, parent: str, child: str) -> bool:
    """Remove the recipe that is stored for an edge; False if there was none."""
    with workspace.store.locked():
        book = RecipeStore(workspace.settings.state)
        if book.load(parent, child) is not None:  # either table may have gone since
            return book.forget(parent, child)
        p, c = _tables(workspace.newest(), parent, child)
        return book.forget(p.name, c.name)


def is_current(scan: Scan, stored: StoredRecipe) -> bool:
    """Whether both tables of a recipe are as they were when it was carried out."""
    if not {stored.parent, stored.child} <= scan.number_of.keys():
        return False
    parent, child = (scan.tables[scan.number_of[name]] for name in (stored.parent, stored.child))
    return stored.is_current(parent=parent, child=child)


def _names(scan: Scan, pair: Pair) -> Pair:
    parent, child = _tables(scan, *pair)
    return parent.name, child.name


def _tables(scan: Scan, parent: str, child: str) -> tuple[Table, Table]:
    p, c = find_table(scan, parent), find_table(scan, child)
    if p == c:
        raise UserError(f"{parent} and {child} are the same table", hint="give two different ones")
    return scan.tables[p], scan.tables[c]


def _stored(scan: Scan, pair: Pair, answer: object) -> StoredRecipe:
    parent, child = _tables(scan, *pair)
    recipe = answer if isinstance(answer, Recipe) else None
    because = "" if recipe is not None else str(getattr(answer, "because", ""))
    return StoredRecipe(parent.name, child.name, parent.version, child.version, INFERRED, recipe, because)
