"""Instructions to rebuild a table, as stored in a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict, cast

from r2d2.engine.second_reader.recipe import top_columns
from r2d2.engine.second_reader.shape import Shape
from r2d2.engine.second_reader.write import Form, FormJson, form_from_json, form_to_json
from r2d2.errors import TableError
from r2d2.model import recipe as recipes
from r2d2.model.recipe import Recipe

FORMAT = 1


class InstructionsJson(TypedDict):
    """Instructions as they stand in a plan."""

    format: int
    recipe: object
    child: FormJson
    parent_partitions: Mapping[str, str]
    fold_case: bool


@dataclass(frozen=True, slots=True)
class Instructions:
    """A recipe, and the form of the table that it rebuilds."""

    recipe: Recipe
    form: Form  # of the child
    parent_types: Mapping[str, str]  # of its partition columns
    fold_case: bool

    @staticmethod
    def parse(given: Mapping[str, object]) -> Instructions:
        """Parse the output of `to_json`; TableError for any other data."""
        data = cast(InstructionsJson, given)
        try:
            if data["format"] != FORMAT:
                raise TableError(f"the instructions are of format {data['format']!r}, not {FORMAT}")
            recipe = recipes.from_json(data["recipe"])
            types = {str(name): str(kind) for name, kind in data["parent_partitions"].items()}
            return Instructions(recipe, form_from_json(data["child"]), types, bool(data["fold_case"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TableError(f"the plan's instructions for rebuilding a table are malformed ({error})") from error

    def to_json(self) -> dict[str, object]:
        """Plain JSON values."""
        return {
            "format": FORMAT,
            "recipe": recipes.to_json(self.recipe),
            "child": form_to_json(self.form),
            "parent_partitions": dict(self.parent_types),
            "fold_case": self.fold_case,
        }

    def columns_read(self, parent: Shape) -> list[str]:
        """The parent's top-level columns that are read."""
        asked = top_columns(self.recipe)
        if not self.fold_case:
            return [name for name, _ in parent.nodes if name in asked]
        folded = {name.casefold() for name in asked}
        return [name for name, _ in parent.nodes if name.casefold() in folded]
