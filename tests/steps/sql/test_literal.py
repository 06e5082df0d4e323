"""Constants keep their type and value; anything else is named and refused."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.expressions import Expression

from r2d2.model.literal import Literal, order
from r2d2.steps.sql.literal import Refused, literal_of, what_is
from r2d2.steps.sql.select import _dialect
from tests.support.random_predicates import CONSTANTS

DAY_NS = 86_400 * 10**9


def node(text: str) -> Expression:
    """The expression as recipes are read: text in single quotes that are doubled inside."""
    found: Expression = _dialect().parse(text)[0]
    return found


@given(st.sampled_from([literal for several in CONSTANTS.values() for literal in several]))
def test_a_literal_written_as_sql_is_read_back(literal: Literal) -> None:
    read = literal_of(node(str(literal)), literal.column_kind)
    assert read.column_kind == literal.column_kind and order(read, literal) == 0


@given(st.integers(-(10**30), 10**30))
def test_whole_numbers_of_any_length_are_exact(number: int) -> None:
    assert literal_of(node(str(number)), "number") == Literal("int", number)


@pytest.mark.parametrize(
    ("text", "kind", "literal"),
    [
        ("(((7)))", "number", Literal("int", 7)),
        ("1.50", "number", Literal("decimal", Decimal("1.50"))),
        ("-.5", "number", Literal("decimal", Decimal("-0.5"))),
        ("1e3", "number", Literal("float", 1000.0)),
        ("true", "bool", Literal("bool", True)),
        ("'01'", "string", Literal("string", "01")),
        ("X'00ff'", "binary", Literal("binary", b"\x00\xff")),
        ("date '1970-01-02'", "date", Literal("date", 1)),
        ("timestamp '1970-01-02'", "timestamp", Literal("timestamp", DAY_NS)),
        ("timestamp '1970-01-02 00:00:00Z'", "timestamp with zone", Literal("timestamp with zone", DAY_NS)),
        ("timestamp '1970-01-02 00:00:00 UTC'", "timestamp with zone", Literal("timestamp with zone", DAY_NS)),
    ],
)
def test_a_constant_is_of_the_type_that_spark_gives_it(text: str, kind: str, literal: Literal) -> None:
    assert literal_of(node(text), kind) == literal


@pytest.mark.parametrize(
    ("text", "kind", "says", "hint"),
    [
        ("NULL", "number", "it compares with NULL", "write column IS NULL"),
        ("timestamp '2024-01-31 12:00:00'", "timestamp with zone", "has no zone", "in UTC"),
        ("cast('1' as decimal(9, 2))", "number", "it has a CAST", "cast to the child's types"),
        ("cast('1' as int)", "number", "it has a CAST", "cast to the child's types"),
        ("1 + 1", "number", "ADD is not a constant", ""),
        ("rand()", "number", "a call of RAND() is not a constant", ""),
        ("date '2024-02-30'", "date", "2024-02-30", ""),
    ],
)
def test_anything_else_is_refused_by_name(text: str, kind: str, says: str, hint: str) -> None:
    with pytest.raises(Refused) as caught:
        literal_of(node(text), kind)
    assert says in str(caught.value) and hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("my_function(1)", "a call of my_function()"),
        ("(select 1)", "a sub-query or a combination of queries"),
        ("select 1 union select 2", "a sub-query or a combination of queries"),
        ("row_number() over (order by x)", "a window"),
        ("upper('x')", "a call of UPPER()"),
        ("null", "NULL"),
        ("a like 'x%'", "LIKE"),
    ],
)
def test_a_piece_of_sql_has_a_name(text: str, name: str) -> None:
    assert what_is(node(text)) == name


def test_what_is_no_sql_has_a_name_too() -> None:
    assert what_is(object()) == "something other than SQL"
