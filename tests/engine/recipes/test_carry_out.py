"""Columns come back in the child's type with every value as it was, or the recipe says that it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from r2d2.engine.recipes.arrow_types import arrow_type, cast_column
from r2d2.engine.recipes.carry_out import rebuild_bundle
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.errors import TableError
from r2d2.formats.arrow_types import type_name
from r2d2.formats.parquet.read import read_slice
from r2d2.model import recipe as recipes
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.recipe import Recipe, projection
from r2d2.model.schema import Column
from r2d2.synthetic.oracle.canonical import canonical_values
from tests.engine.recipes.test_search import stored
from tests.support.random_lakes import MORE_VALUES, WIDER
from tests.support.random_tables import VALUES

ALL_TYPES = [kind for kind in MORE_VALUES if not pa.types.is_struct(kind)]


@pytest.mark.parametrize("kind", ALL_TYPES, ids=str)
def test_a_type_name_leads_back_to_a_type_of_that_name(kind: pa.DataType) -> None:
    back = arrow_type(type_name(kind))
    assert back is not None and type_name(back) == type_name(kind)


@pytest.mark.parametrize(
    ("kind", "other"), [(kind, other) for kind, others in WIDER.items() for other in others], ids=str
)
def test_values_survive_the_way_to_a_wider_type_and_back(kind: pa.DataType, other: pa.DataType) -> None:
    values = [value for value in VALUES[kind] if fits(value, kind, other)]
    column = pa.chunked_array([pa.array([*values, None], kind)])
    there = cast_column(column, Column(("x",), type_name(other)), same=False)
    assert type_name(there.type) == type_name(other)
    back = cast_column(there, Column(("x",), type_name(kind)), same=False)
    assert type_name(back.type) == type_name(kind)
    assert canonical_values(back.combine_chunks()) == canonical_values(column.combine_chunks())


def fits(value: Any, kind: pa.DataType, other: pa.DataType) -> bool:
    try:
        cast = pa.array([value], kind).cast(other)
    except pa.ArrowInvalid:
        return not pa.types.is_decimal(other)
    return canonical_values(cast) == canonical_values(pa.array([value], kind))


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        ([300], pa.int64(), "int8"),
        ([-1], pa.int64(), "uint8"),
        ([1.5], pa.float64(), "int64"),
        (["1"], pa.string(), "struct<a:int8>"),
        ([[1]], pa.list_(pa.int64()), "int64"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_not_another_value(values: Any, kind: Any, wanted: str) -> None:
    with pytest.raises(TableError, match="cannot be cast"):
        cast_column(pa.chunked_array([pa.array(values, kind)]), Column(("x",), wanted), same=False)


def test_a_column_of_nulls_has_any_type() -> None:
    column = pa.chunked_array([pa.array([None, None], pa.timestamp("us"))])
    assert cast_column(column, Column(("x",), "int8"), same=False).to_pylist() == [None, None]


def test_a_recipe_that_fails_is_reported_and_the_others_are_carried_out(tmp_path: Path) -> None:
    content = stored(tmp_path / "t", pa.table({"x": [1, 2, 300]}))
    fine = Recipe(projection([Column(("x",), "int8")]), Compare(("x",), "<", Literal("int", 9)))
    wrong = Recipe(projection([Column(("x",), "int8")]))
    (part,) = content.slices
    asked = [[5, recipes.to_json(fine), ""], [6, recipes.to_json(wrong), ""]]
    piece = {
        "kind": "rebuild",
        "table": 3,
        "slice": part,
        "recipes": asked,
        "types": [[["x"], "int64"]],
        "whole": [["x"]],
        "asked": [],
    }
    answers: list[Any] = list(rebuild_bundle([piece], hashing=Hashing(read_slice, bytes(32))))
    assert {"kind": "wrong", "recipe": 6, "because": answers[0]["because"]} == answers[0]
    assert "cannot be cast" in answers[0]["because"]
    sums = {answer["of"]: answer["sum"][0] for answer in answers[1:]}
    assert sums == {"recipe": 2, "whole": 3}


def sums(content: Any, recipe: Recipe) -> tuple[int, ...]:
    """What a recipe makes of a table, however its rows are cut into files and slices."""
    types = [[column.token, column.type_name] for column in content.columns]
    pieces = [
        {
            "kind": "rebuild",
            "table": 0,
            "slice": part,
            "recipes": [[0, recipes.to_json(recipe), ""]],
            "types": types,
            "whole": [],
            "asked": [],
        }
        for part in content.slices
    ]
    answers: list[Any] = list(rebuild_bundle(pieces, hashing=Hashing(read_slice, bytes(32))))
    return tuple(sum(numbers) % 2**64 for numbers in zip(*(answer["sum"] for answer in answers), strict=True))


def test_a_recipe_makes_the_same_rows_however_the_parent_is_cut(tmp_path: Path) -> None:
    table = pa.table({"x": [n % 11 for n in range(500)], "y": [None if n % 5 == 0 else n / 7 for n in range(500)]})
    recipe = Recipe(projection([Column(("y",), "float64")]), Compare(("x",), ">", Literal("int", 3)))
    made = [sums(stored(tmp_path / f"t{files}", table, files), recipe) for files in (1, 2, 7)]
    assert made[0] == made[1] == made[2] and made[0][0] == sum(n % 11 > 3 for n in range(500))
