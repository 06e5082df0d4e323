"""The recipes that a state folder keeps: look one up, give one, have them inferred, forget one."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from r2d2.app.absent import with_absent
from r2d2.app.api import infer_recipes, try_recipe
from r2d2.engine.recipes.jobs import Difference
from r2d2.errors import UserError
from r2d2.model import recipe as recipes
from r2d2.model.recipe import GIVEN, INFERRED, Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Table
from r2d2.report.explain import find_table
from r2d2.settings import Settings
from r2d2.state.recipes import RecipeStore, StoredRecipe
from r2d2.state.store import StateStore
from r2d2.steps.infer_recipes import NOT_TRIED, NoRecipe
from r2d2.steps.sql.check import wrong_with_recipe
from r2d2.steps.sql.select import parse_select

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Pair = tuple[str, str]
EXAMPLES = 5
MOST_BYTES = 256 << 20  # of a recipe file


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored recipe, and whether both tables are as they were when it was checked."""

    stored: StoredRecipe
    current: bool


def look_up(settings: Settings, *, parent: str, child: str) -> Entry:
    """What is stored for an edge of the newest scan."""
    scan = StateStore(settings.state).load()
    p, c = _tables(scan, parent, child)
    stored = RecipeStore(settings.state).load(p.name, c.name)
    if stored is None:
        raise UserError(
            f"there is no recipe for {c.name} from {p.name}",
            hint="`r2d2 recipe infer PARENT CHILD` looks for one, `r2d2 recipe set PARENT CHILD …` takes yours",
        )
    return Entry(stored, stored.is_current(parent=p, child=c))


def table_names(settings: Settings, *, parent: str, child: str) -> tuple[str, str]:
    """The names of two tables of the newest scan, each given by its name or its path."""
    p, c = _tables(StateStore(settings.state).load(), parent, child)
    return p.name, c.name


@dataclass(frozen=True, slots=True)
class KnownRecipes:
    """Recipes of the pairs that a plan can rest on; a pair is two table numbers of a scan."""

    recipes: Mapping[tuple[int, int], Recipe | NoRecipe]
    given: frozenset[tuple[int, int]]  # pairs whose recipe a person gave; some of them are no edges of the scan
    notes: tuple[str, ...] = ()  # given recipes that no longer fit


def infer(
    settings: Settings,
    *,
    only: Iterable[Pair] | None = None,
    also: Iterable[Pair] = (),
    spark: SparkSession | None = None,
) -> list[StoredRecipe]:
    """Infer recipes for all proven edges and those in *also*, or *only* for these, and keep them.

    A recipe that a person gave stays as long as neither table has changed, unless its edge is named.
    """
    store = StateStore(settings.state)
    with store.locked():
        scan = with_absent(store.load())
        book = RecipeStore(settings.state)
        named = None if only is None else [tuple(t.name for t in _tables(scan, *pair)) for pair in only]
        found = infer_recipes(scan, settings, only=named, also=also, spark=spark)  # type: ignore[arg-type]
        kept = [_stored(scan, pair, answer) for pair, answer in sorted(found.items())]
        if named is None:
            given = {(s.parent, s.child): s for s in book.all() if s.origin == GIVEN and _is_current(scan, s)}
            kept = [given.get((stored.parent, stored.child), stored) for stored in kept]
        book.save(kept)
        return kept


def recipes_for(
    scan: Scan,
    settings: Settings,
    *,
    also: Iterable[tuple[int, int]] = (),
    deleted: Collection[str] = (),
    spark: SparkSession | None = None,
) -> KnownRecipes:
    """Look up the recipe of each edge of the scan, and those that a person gave for other pairs.

    Edges without an answer are tried now, and so are those in *also* that were left out for smaller parents. The scan
    is one of tables that are there; recipes for *deleted* tables are neither used nor missed.
    """
    assert scan.graph is not None
    stored = list(RecipeStore(settings.state).all())
    known = {(one.parent, one.child): one for one in stored if _is_current(scan, one)}
    wanted = [(scan.tables[parent].name, scan.tables[child].name) for parent, child in also]
    untried = [pair for pair in wanted if pair in known and known[pair].because.startswith(NOT_TRIED)]
    found: list[StoredRecipe] = []
    if any(pair not in known for pair in scan.graph.edges()):
        found = infer(settings, also=wanted, spark=spark)
    elif untried:
        found = infer(settings, only=untried, spark=spark)
    known |= {(one.parent, one.child): one for one in found}
    number = scan.number_of
    numbered = {(number[parent], number[child]): one for (parent, child), one in known.items()}
    return KnownRecipes(
        {pair: one.recipe or NoRecipe(one.because) for pair, one in numbered.items()},
        frozenset(pair for pair, one in numbered.items() if one.origin == GIVEN and one.recipe is not None),
        tuple(_outdated(scan, stored, deleted)),
    )


def _outdated(scan: Scan, stored: Iterable[StoredRecipe], deleted: Collection[str]) -> Iterator[str]:
    """One line about the given recipes that no longer fit, if there are any."""
    old = [
        one
        for one in stored
        if one.origin == GIVEN and not _is_current(scan, one) and not {one.parent, one.child} & set(deleted)
    ]
    if not old:
        return
    first, more = old[0], f" (and {len(old) - 1:,} more)" if old[1:] else ""
    yield (
        f"the recipe given for {first.child} from {first.parent}{more} no longer fits: {_changed(scan, first)} since "
        "it was tried. Give it again with `r2d2 recipe set`, or drop it with `r2d2 recipe forget`"
    )


def _changed(scan: Scan, stored: StoredRecipe) -> str:
    """Name the table that makes a recipe out of date, and say how."""
    for name, version in ((stored.parent, stored.parent_version), (stored.child, stored.child_version)):
        if name not in scan.number_of:
            return f"{name} has gone"
        if scan.tables[scan.number_of[name]].version != version:
            return f"{name} has changed"
    return "a table has changed"


def give(
    settings: Settings,
    text: str,
    *,
    parent: str,
    child: str,
    spark: SparkSession | None = None,
    show_values: bool = False,
) -> tuple[Recipe, Difference]:
    """Try a person's recipe, a SELECT or JSON, on the data; keep it if it gives the child exactly."""
    store = StateStore(settings.state)
    with store.locked():
        scan = with_absent(store.load())
        p, c = _tables(scan, parent, child)
        recipe = read_recipe(text, scan, parent=p.name, child=c.name)
        difference = try_recipe(
            scan, recipe, settings, parent=p.name, child=c.name, spark=spark, examples=EXAMPLES if show_values else 0
        )
        if difference.same:
            recipe = replace(recipe, order=difference.order, lost_order=difference.lost_order)
            RecipeStore(settings.state).save(
                [StoredRecipe(p.name, c.name, p.version, c.version, GIVEN, recipe)],
            )
    return recipe, difference


def forget(settings: Settings, *, parent: str, child: str) -> bool:
    """Remove what is stored for an edge; whether there was anything."""
    store = StateStore(settings.state)
    with store.locked():
        book = RecipeStore(settings.state)
        if book.load(parent, child) is not None:  # either table may have gone since
            return book.forget(parent, child)
        p, c = _tables(store.load(), parent, child)
        return book.forget(p.name, c.name)


def read_recipe(text: str, scan: Scan, *, parent: str, child: str) -> Recipe:
    """The recipe in a SELECT or in a JSON text, checked against the two schemas; UserError says what is wrong."""
    p, c = (scan.profiles[find_table(scan, name)].schema for name in (parent, child))
    if text.lstrip()[:1] != "{":
        return parse_select(text, parent=parent, parent_schema=p, child_schema=c)
    try:
        recipe = recipes.from_text(_recipe_alone(text))
    except (ValueError, json.JSONDecodeError) as error:
        raise UserError(f"this is no recipe: {error}", hint="docs/recipes.md has the form") from error
    wrong = wrong_with_recipe(recipe, parent=p, child=c)
    if wrong:
        raise UserError(f"this recipe does not fit the two tables: {wrong}", hint="docs/recipes.md has the form")
    return recipe


def _recipe_alone(text: str) -> str:
    """The recipe in what `r2d2 recipe show --json` prints; any other text as it is."""
    try:
        shown = json.loads(text)
    except RecursionError as error:
        raise ValueError("the recipe is nested too deep") from error
    return json.dumps(shown["recipe"]) if isinstance(shown.get("recipe"), dict) else text


def recipe_text(given: str) -> str:
    """A SELECT as it stands, or the content of the file that is named."""
    if given.lstrip()[:6].lower() == "select":
        return given
    try:
        path = Path(given)
        if path.stat().st_size > MOST_BYTES:
            raise UserError(f"{given} has more than {MOST_BYTES:,} bytes", hint="give a recipe file")
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot read {given[:80]} ({error})",
            hint="give a file with a recipe in JSON, or a SELECT in quotes: 'SELECT a, b FROM parent WHERE a > 5'",
        ) from error


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


def _is_current(scan: Scan, stored: StoredRecipe) -> bool:
    if not {stored.parent, stored.child} <= scan.number_of.keys():
        return False
    parent, child = (scan.tables[scan.number_of[name]] for name in (stored.parent, stored.child))
    return stored.is_current(parent=parent, child=child)
