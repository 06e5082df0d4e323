"""Check a recipe against the schemas of parent and child, before any row is read."""

from __future__ import annotations

from r2d2.model.predicate import wrong_with
from r2d2.model.recipe import UNSORTED_KINDS, Recipe
from r2d2.model.schema import Schema, spell


def wrong_with_recipe(recipe: Recipe, *, parent: Schema, child: Schema) -> str | None:
    """The first reason that the recipe does not fit, in one sentence; None if it fits."""
    kinds = {column.token: column for column in parent.columns}
    types = {column.token: column.type_name for column in parent.columns}
    made = {output.column for output in recipe.columns}
    for column in sorted(made ^ set(child.columns)):
        if column in made:
            return f"the child has no column {column} of type {column.type_name}"
        return f"it makes no column {column} of type {column.type_name}"
    for output in recipe.columns:
        source = kinds.get(output.source)
        if source is None:
            return f"the parent has no column {spell(output.source)}"
        if source.kind != output.column.kind and "null" not in (source.kind, output.column.kind):
            return f"{spell(output.source)} is {source.type_name} and can never be {output.column.type_name}"
    for output in recipe.columns:
        if output.column.kind in UNSORTED_KINDS and any(
            key.column == output.column.token for key in recipe.order or ()
        ):
            return f"it sorts by {output.column}, whose values have no order"
    return wrong_with(recipe.where, types) if recipe.where is not None else None
