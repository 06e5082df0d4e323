"""How recipes and tables become work items, and how heavy these are."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence

from r2d2.model import recipe as recipes
from r2d2.model.recipe import Recipe
from r2d2.model.work import RecipeWork, ShippedRecipe, ShippedSlice, TableRows


def relative_to(location: str, path: str) -> str:
    """A file of a table by its place below the table's folder, with /; "" for a table that is one file.

    >>> relative_to("/lake/t", "/lake/t/day=1/part-0.parquet"), relative_to("/lake/t.parquet", "/lake/t.parquet")
    ('day=1/part-0.parquet', '')
    """
    return "" if path == location else os.path.relpath(path, location).replace(os.sep, "/")


def shipped(number: int, recipe: Recipe, path: str) -> ShippedRecipe:
    """A recipe as plain values, with the listed rows of one file only."""
    if recipe.rows is None:
        return number, recipes.to_json(recipe), ""
    bitmap = next((chosen.bitmap for chosen in recipe.rows if chosen.path == path), b"")
    bare = recipes.to_json(Recipe(recipe.columns, rows=()))
    return number, bare, base64.b64encode(bitmap).decode()


def reads_of(piece: RecipeWork) -> list[tuple[int, ShippedSlice]]:
    """The slices that a piece reads, each with its table."""
    if piece["kind"] == "rebuild":
        return [(piece["table"], piece["slice"])]
    own = [(piece["table"], part) for part in piece["slices"]]
    return own + [(child["table"], part) for child in _children(piece) for part in child["slices"]]


def _children(piece: RecipeWork) -> Sequence[TableRows]:
    if piece["kind"] == "search":
        return piece["children"]
    return [piece["child"]] if piece["kind"] == "differ" else []


def weight_of(piece: RecipeWork) -> float:
    """How heavy a work item is: the bytes it reads, more for each child."""
    children = max(1, len(_children(piece)))
    return float(sum(part["bytes"] for _, part in reads_of(piece)) * (1 + children / 4) + 1)
