"""Recipes go to JSON and back unchanged, and what is no recipe is refused."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model import predicate as predicates
from r2d2.model import recipe as recipes
from r2d2.model.literal import KINDS, Literal, from_text, order, to_text
from r2d2.model.native import native, settled
from r2d2.model.predicate import And, Between, Compare, IsNull, Not, OneOf, Or, keeps, wrong_with
from r2d2.model.recipe import ChosenRows, OutputColumn, Recipe, SortKey
from r2d2.model.schema import Column
from tests.support.random_predicates import CONSTANTS, NUMBERS
from tests.support.random_predicates import predicates as trees

TOKENS = st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple)
KINDS_OF = {("a",): "number", ("b", "c d"): "string", ("ü.",): "timestamp", ("x",): "bool", ("l",): "list"}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(),
    "float": st.floats(),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, places=5).filter(lambda d: abs(d) < 10**100),
    "string": st.text(),
    "binary": st.binary(),
    "bool": st.booleans(),
    "date": st.integers(-(10**9), 10**9),
    "timestamp": st.integers(-(2**70), 2**70),
    "timestamp with zone": st.integers(-(2**70), 2**70),
}
LITERALS = st.sampled_from(KINDS).flatmap(lambda kind: VALUES[kind].map(lambda value: Literal(kind, value)))


@st.composite
def any_recipe(draw: st.DrawFn) -> Recipe:
    tokens = draw(st.lists(TOKENS, min_size=1, max_size=4, unique=True))
    columns = tuple(OutputColumn(Column(token, draw(st.text(max_size=9))), draw(TOKENS)) for token in tokens)
    keys = st.builds(SortKey, st.sampled_from(tokens), st.booleans(), st.booleans())
    sorted_by = st.none() | st.lists(keys, max_size=3, unique_by=lambda key: key.column).map(tuple)
    order: Any = {"order": draw(sorted_by), "lost_order": draw(st.text(max_size=9))}
    if draw(st.booleans()):
        chosen = st.builds(ChosenRows, st.text(), st.integers(0, 99), st.binary())
        return Recipe(columns, rows=tuple(draw(st.lists(chosen, max_size=3))), **order)
    return Recipe(columns, draw(st.none() | trees(KINDS_OF)), draw(st.booleans()), **order)


@settings(max_examples=300)
@given(any_recipe())
def test_a_recipe_survives_json(recipe: Recipe) -> None:
    text = json.dumps(recipes.to_json(recipe))
    again = recipes.from_text(text)
    assert again == recipe
    assert json.dumps(recipes.to_json(again)) == text


@settings(max_examples=500)
@given(LITERALS)
def test_a_literal_survives_its_text(literal: Literal) -> None:
    assert from_text(literal.kind, to_text(literal)) == literal
    assert order(literal, from_text(literal.kind, to_text(literal))) == 0


@given(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
def test_the_order_of_numbers_is_total(a: Literal, b: Literal, c: Literal) -> None:
    assert order(a, b) == -order(b, a)
    if order(a, b) <= 0 and order(b, c) <= 0:
        assert order(a, c) <= 0


def test_zeros_and_not_a_number_have_their_places() -> None:
    nan, infinite, zero, negative = (Literal("float", x) for x in (math.nan, math.inf, 0.0, -0.0))
    assert order(nan, Literal("float", math.nan)) == 0 and order(nan, infinite) == 1
    assert order(negative, zero) == -1 and order(negative, Literal("float", -5e-324)) == 1
    assert order(zero, Literal("int", 0)) == 0 and order(negative, Literal("int", 0)) == -1
    assert order(Literal("int", 2**53 + 1), Literal("float", 2.0**53)) == 1
    assert order(Literal("decimal", Decimal("0.1")), Literal("float", 0.1)) == -1


TYPES = {
    "int8": [Literal("int", n) for n in range(-128, 128)],
    "uint8": [Literal("int", n) for n in range(256)],
    "decimal(3,1)": [Literal("decimal", Decimal(n) / 10) for n in range(-999, 1000)],
    "float64": [Literal("float", x) for x in (-math.inf, -1.5, -0.0, 0.0, 0.1, 0.5, 1.0, 7.0, 2.0**53, math.nan)],
}
NEAR = [Literal("decimal", Decimal(n) / 20) for n in range(-2600, 2600, 7)]


@settings(max_examples=400)
@given(
    st.sampled_from(sorted(TYPES)),
    st.sampled_from([*NUMBERS, *NEAR]),
    st.sampled_from(sorted(predicates.OPERATORS)),
)
def test_a_comparison_in_the_columns_type_means_the_same(type_name: str, literal: Literal, operator: str) -> None:
    answer = settled(operator, literal, type_name)
    for value in TYPES[type_name]:
        meant = keeps(Compare(("x",), operator, literal), {("x",): value})
        if isinstance(answer, bool):
            assert answer is meant
        else:
            constant = as_literal(answer[1], type_name)
            assert keeps(Compare(("x",), answer[0], constant), {("x",): value}) is meant


def as_literal(value: Any, type_name: str) -> Literal:
    if type_name.startswith("decimal"):
        return Literal("decimal", Decimal(value) / 10)
    return Literal("float", value) if type_name == "float64" else Literal("int", value)


@given(st.integers(-(10**20), 10**20), st.sampled_from(["s", "ms", "us", "ns"]))
def test_a_moment_is_found_among_the_steps_of_its_unit(moment: int, unit: str) -> None:
    step = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    place = native(Literal("timestamp", moment), f"timestamp({unit})")
    if moment // step < -(2**63):
        assert place.value is None
    else:
        assert place.value == min(moment // step, 2**63 - 1)
        assert place.equal == (Fraction(moment, step) == place.value)


def test_what_is_unknown_is_not_kept_and_neither_is_its_negation() -> None:
    row = {("a",): None, ("b",): Literal("int", 1)}
    unknown = Compare(("a",), "=", Literal("int", 1))
    true = Compare(("b",), "=", Literal("int", 1))
    assert not keeps(unknown, row) and not keeps(Not(unknown), row)
    assert keeps(Or((unknown, true)), row) and not keeps(And((unknown, true)), row)
    assert keeps(IsNull(("a",)), row) and not keeps(Not(IsNull(("a",))), row)
    assert keeps(And(()), row) and not keeps(Or(()), row) and not keeps(OneOf(("b",), ()), row)


def test_wrong_columns_and_types_are_named() -> None:
    types = {("a",): "int32", ("d",): "date", ("l",): "list<int64>", ("t",): "timestamp(us,UTC)"}
    assert wrong_with(Compare(("a",), "=", Literal("decimal", Decimal("1.5"))), types) is None
    assert wrong_with(IsNull(("l",)), types) is None
    for leaf in (
        Compare(("b",), "=", Literal("int", 1)),
        Compare(("a",), "=", Literal("string", "1")),
        Between(("d",), Literal("date", 0), Literal("timestamp", 0)),
        OneOf(("l",), (Literal("int", 1),)),
        Compare(("t",), "<", Literal("timestamp", 0)),
    ):
        assert wrong_with(Not(And((leaf,))), types)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"columns": []}',
        '{"columns": [{"column": "a", "type": "int64"}]}',
        '{"columns": [{"column": ["a"], "type": "int64", "cast": "x"}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}, {"column": ["a"], "type": "int64"}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": {"sql": "1=1"}}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": "1=1"}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": {"column": ["a"], "is": "like", "value": {"int": "1"}}}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": {"column": ["a"], "is": "=", "value": {"int": "1e5"}}}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": {"column": ["a"], "is": "=", "value": {"int": 1}}}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": {"column": ["a"], "is": "=", "value": {"decimal": "NaN"}}}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": {"and": [], "or": []}}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": {"not": {"or": []}}, "rows": []}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "rows": [{"file": "x", "count": 1, "bitmap": "%%%"}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "distinct": "yes"}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "order": {}}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "order": ["a"]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "order": [{"column": ["b"]}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "order": [{"column": ["a"]}, {"column": ["a"]}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "order": [{"column": ["a"], "descending": "no"}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "order": [{"column": ["a"], "sql": "rand()"}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "lost_order": 1}',
        '{"format": 2, "columns": [{"column": ["a"], "type": "int64"}]}',
        '{"python": "import os", "columns": [{"column": ["a"], "type": "int64"}]}',
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": ' + '{"not": ' * 60 + '{"or": []}' + "}" * 61,
        '{"columns": [{"column": ["a"], "type": "int64"}], "where": ' + '{"not": ' * 9000 + '{"or": []}' + "}" * 9001,
    ],
)
def test_what_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        recipes.from_text(text)


def test_the_text_for_people() -> None:
    recipe = Recipe(
        (OutputColumn(Column(("id",), "int64"), ("key",)), OutputColumn(Column(("unit price",), "x"), ("unit price",))),
        And((OneOf(("s",), (Literal("string", "it's"), *CONSTANTS["binary"][1:2])), Not(IsNull(("a.b",))))),
    )
    assert (
        recipes.to_sql(recipe, "sales/2024")
        == "SELECT key AS id, `unit price` FROM `sales/2024` WHERE s IN ('it''s', X'00') AND `a.b` IS NOT NULL"
    )
    listed = Recipe(recipe.columns, rows=(ChosenRows("part-0.parquet", 5, b"12345678"),))
    assert listed.selector_bytes == 8 and "5 listed rows" in recipes.to_sql(listed, "p")
