"""How recipes look on a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from r2d2.cli.output import bytes_for_people, console, print_json, print_table, printable
from r2d2.engine.recipes import Difference
from r2d2.model import recipe as recipes
from r2d2.model.recipe import Recipe
from r2d2.recipe_book import Entry
from r2d2.state.recipes import StoredRecipe

_MOST_ROWS = 100


def show_entry(entry: Entry, *, as_json: bool) -> None:
    """One stored recipe."""
    if as_json:
        print_json(entry_as_dict(entry))
        return
    stored = entry.stored
    if stored.recipe is None:
        _say(f"no recipe for {stored.child} from {stored.parent}: {stored.because}")
    else:
        _say(recipes.to_sql(stored.recipe, stored.parent))
        _say(f"  {stored.origin}; carried out and compared: it rebuilds {stored.child} exactly")
        for output in stored.recipe.columns:
            _say(f"  {output.column}: {output.column.type_name}")
    if not entry.current:
        _say("  out of date: one of the two tables has changed since")


def entry_as_dict(entry: Entry) -> dict[str, Any]:
    """The JSON shape of `r2d2 recipe show --json`."""
    stored = entry.stored
    whole = None if stored.recipe is None else recipes.to_json(stored.recipe)
    return stored_as_dict(stored) | {"current": entry.current, "recipe": whole}


def stored_as_dict(stored: StoredRecipe) -> dict[str, Any]:
    """One line of `r2d2 recipe infer --json`."""
    recipe = stored.recipe
    return {
        "parent": stored.parent,
        "child": stored.child,
        "origin": stored.origin,
        "kind": recipe.kind if recipe else None,
        "selector_bytes": recipe.selector_bytes if recipe else None,
        "sql": recipes.to_sql(recipe, stored.parent) if recipe else None,
        "because": stored.because or None,
    }


def show_inferred(found: Sequence[StoredRecipe], *, as_json: bool) -> None:
    """What was found for which edge, and how many of each kind."""
    if as_json:
        print_json([stored_as_dict(stored) for stored in found])
        return
    rows = [
        (s.parent, s.child, s.recipe.kind if s.recipe else "none", _text(s))
        for s in sorted(found, key=lambda s: s.recipe is None)[:_MOST_ROWS]
    ]
    shown = f"{len(rows):,} of {len(found):,}" if len(found) > len(rows) else f"{len(found):,}"
    print_table(f"How a child is made of its parent ({shown} edges)", ("parent", "child", "recipe", "rows"), rows)
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
    """What a person's recipe made of the data."""
    if as_json:
        print_json(trial_as_dict(recipe, difference, parent=parent, child=child))
        return
    _say(recipes.to_sql(recipe, parent))
    if difference.wrong:
        _say(f"  cannot be carried out: {difference.wrong}; not kept")
        return
    if difference.same:
        _say(f"  rebuilds {child} exactly, all {difference.rows:,} rows; kept")
        return
    counts = f"{difference.too_many:,} rows too many, {difference.too_few:,} too few"
    _say(f"  makes {difference.rows:,} rows: {counts}; not kept")
    for word, rows in (("too many", difference.example_too_many), ("too few", difference.example_too_few)):
        for row in rows:
            _say(f"  {word}: {_row(row)}")


def _row(row: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} = {'NULL' if value is None else value}" for name, value in row.items())


def trial_as_dict(recipe: Recipe, difference: Difference, *, parent: str, child: str) -> dict[str, Any]:
    """The JSON shape of `r2d2 recipe set --json`."""
    return {
        "parent": parent,
        "child": child,
        "exact": difference.same,
        "kept": difference.same,
        "rows": difference.rows,
        "too_many": difference.too_many,
        "too_few": difference.too_few,
        "because": difference.wrong or None,
        "example_too_many": list(difference.example_too_many),
        "example_too_few": list(difference.example_too_few),
        "recipe": recipes.to_json(recipe),
    }


def show_forgotten(gone: bool, *, parent: str, child: str, as_json: bool) -> None:
    """Whether there was something to forget."""
    if as_json:
        print_json({"parent": parent, "child": child, "forgotten": gone})
    else:
        _say(f"{'forgot the recipe' if gone else 'there was no recipe'} for {child} from {parent}")


def _say(text: str) -> None:
    console().print(printable(text), markup=False)
