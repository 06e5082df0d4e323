"""Read a recipe that a person gives: a SELECT, or a file with JSON."""

from __future__ import annotations

import json
from pathlib import Path

from r2d2.errors import UserError
from r2d2.model import recipe as recipes
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.report.explain import find_table
from r2d2.steps.sql.check import wrong_with_recipe
from r2d2.steps.sql.select import parse_select

MOST_BYTES = 256 << 20  # of a recipe file


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
    """The recipe in the output of `r2d2 recipe show --json`; any other text as it is."""
    try:
        shown = json.loads(text)
    except RecursionError as error:
        raise ValueError("the recipe is nested too deep") from error
    return json.dumps(shown["recipe"]) if isinstance(shown.get("recipe"), dict) else text
