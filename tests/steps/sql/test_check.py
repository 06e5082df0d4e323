"""A recipe fits a parent and a child, or one sentence says why it cannot."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.recipe import OutputColumn, Recipe, SortKey, projection
from r2d2.model.schema import Column, Schema
from r2d2.steps.sql.check import wrong_with_recipe

TYPES = st.sampled_from(["int32", "int64", "decimal(9,2)", "string", "date", "null"])
SCHEMAS = st.dictionaries(st.sampled_from("abcd"), TYPES, min_size=1).map(
    lambda types: Schema.of(Column((name,), type_name) for name, type_name in types.items())
)


@given(SCHEMAS, SCHEMAS)
def test_a_projection_fits_if_the_parent_has_every_column_of_a_kind_that_can_be_equal(
    parent: Schema, child: Schema
) -> None:
    kinds = {column.token: column.kind for column in parent.columns}
    fits = all(
        kinds.get(column.token) == column.kind
        or (column.token in kinds and "null" in (kinds[column.token], column.kind))
        for column in child.columns
    )
    assert (wrong_with_recipe(Recipe(projection(child)), parent=parent, child=child) is None) == fits


PARENT = Schema.of([Column(("id",), "int64"), Column(("name",), "string"), Column(("tags",), "map<string,int32>")])
CHILD = Schema.of([Column(("id",), "int64"), Column(("tags",), "map<string,int32>")])
GOOD = Recipe(projection(CHILD))


def output(source: str, column: Column) -> OutputColumn:
    return OutputColumn(column, (source,))


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        (Recipe(GOOD.columns[:1]), "it makes no column tags of type map<string,int32>"),
        (Recipe((*GOOD.columns, output("name", Column(("x",), "string")))), "the child has no column x of type string"),
        (Recipe((output("key", CHILD.columns[0]), GOOD.columns[1])), "the parent has no column key"),
        (Recipe((output("name", CHILD.columns[0]), GOOD.columns[1])), "name is string and can never be int64"),
        (replace(GOOD, order=(SortKey(("tags",)),)), "it sorts by tags, whose values have no order"),
        (replace(GOOD, where=Compare(("zip",), "=", Literal("int", 1))), "zip"),
        (replace(GOOD, where=Compare(("name",), "=", Literal("int", 1))), "name"),
    ],
)
def test_the_first_reason_is_one_sentence(recipe: Recipe, says: str) -> None:
    reason = wrong_with_recipe(recipe, parent=PARENT, child=CHILD)
    assert reason is not None and says in reason and "\n" not in reason


def test_a_condition_on_a_column_that_the_child_lost_and_an_order_are_fine() -> None:
    recipe = replace(GOOD, where=Compare(("name",), "=", Literal("string", "a")), order=(SortKey(("id",)),))
    assert wrong_with_recipe(recipe, parent=PARENT, child=CHILD) is None
