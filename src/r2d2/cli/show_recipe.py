"""Print recipes, as JSON or drawn for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from r2d2.cli.output import console, print_json, print_table, printable
from r2d2.model import recipe as recipes
from r2d2.model.counted import counted
from r2d2.model.recipe import Recipe
from r2d2.report.recipe import RecipeForgotten, order_in_words, recipe_entry, recipe_line, recipe_trial
from r2d2.report.words import bytes_for_people

if TYPE_CHECKING:
    from r2d2.app.recipes import Entry
    from r2d2.engine.recipes.jobs import Difference
    from r2d2.state.recipes import StoredRecipe

_MOST_ROWS = 100


def show_entry(entry: Entry, *, as_json: bool) -> None:
    """Print one stored recipe."""
    if as_json:
        print_json(recipe_entry(entry).to_json())
        return
    stored = entry.stored
    if stored.recipe is None:
        _say(f"no recipe for {stored.child} from {stored.parent}: {stored.because}")
    else:
        _say(recipes.to_sql(stored.recipe, stored.parent))
        _say(f"  {stored.origin}; carried out and compared: it rebuilds {stored.child} exactly")
        if order := order_in_words(stored.recipe):
            _say(f"  {order}")
        for output in stored.recipe.columns:
            _say(f"  {output.column}: {output.column.type_name}")
    if not entry.current:
        _say("  out of date: one of the two tables has changed since")


def show_inferred(found: Sequence[StoredRecipe], *, as_json: bool) -> None:
    """Print what was found for which edge, and how many of each kind."""
    if as_json:
        print_json([recipe_line(stored).to_json() for stored in found])
        return
    rows = [
        (s.parent, s.child, s.recipe.kind if s.recipe else "none", _text(s))
        for s in sorted(found, key=lambda s: s.recipe is None)[:_MOST_ROWS]
    ]
    shown = f"{len(rows):,} of {len(found):,}" if len(found) > len(rows) else f"{len(found):,}"
    print_table(
        f"How a child is made of its parent ({shown} {'edge' if len(found) == 1 else 'edges'})",
        ("parent", "child", "recipe", "rows"),
        rows,
    )
    kinds = Counter(stored.recipe.kind if stored.recipe else "none" for stored in found)
    words = {"projection": "every row", "predicate": "by a predicate", "rows": "listed rows", "none": "no recipe"}
    listed = sum(stored.recipe.selector_bytes for stored in found if stored.recipe)
    counts = ", ".join(f"{kinds[kind]:,} {word}" for kind, word in words.items() if kinds[kind])
    more = "; --json has them all" if len(found) > len(rows) else ""
    _say(f"{counts or 'no edges'}; listing rows takes {bytes_for_people(listed)}{more}")


def _text(stored: StoredRecipe) -> str:
    if stored.recipe is None:
        return stored.because
    select, found, where = recipes.to_sql(stored.recipe, stored.parent).partition(" WHERE ")
    if found:
        return f"{where} (each once)" if select.startswith("SELECT DISTINCT ") else where
    return "" if stored.recipe.rows is None else bytes_for_people(stored.recipe.selector_bytes)


def show_trial(recipe: Recipe, difference: Difference, *, parent: str, child: str, as_json: bool) -> None:
    """Print what a person's recipe makes of the data."""
    if as_json:
        print_json(recipe_trial(recipe, difference, parent=parent, child=child).to_json())
        return
    _say(recipes.to_sql(recipe, parent))
    if difference.wrong:
        reason = difference.wrong if difference.rows else f"cannot be carried out: {difference.wrong}"
        _say(f"  {reason}; not kept")
        return
    if difference.same:
        _say(f"  rebuilds {child} exactly, all {counted(difference.rows, 'rows')}; kept")
        return
    counts = f"{counted(difference.too_many, 'rows')} too many, {difference.too_few:,} too few"
    _say(f"  makes {counted(difference.rows, 'rows')}: {counts}; not kept")
    for word, rows in (("too many", difference.example_too_many), ("too few", difference.example_too_few)):
        for row in rows:
            _say(f"  {word}: {_row(row)}")


def _row(row: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} = {'NULL' if value is None else value}" for name, value in row.items())


def show_forgotten(gone: bool, *, parent: str, child: str, as_json: bool) -> None:
    """Print whether there was a recipe to forget."""
    if as_json:
        print_json(RecipeForgotten(parent, child, gone).to_json())
    else:
        _say(f"{'forgot the recipe' if gone else 'there was no recipe'} for {child} from {parent}")


def _say(text: str) -> None:
    console().print(printable(text), markup=False)
