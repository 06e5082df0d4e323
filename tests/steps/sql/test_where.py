"""Columns and conditions of a SELECT mean what they say, or are refused."""

from __future__ import annotations

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.expressions import Expression

from r2d2.model.literal import Literal
from r2d2.model.predicate import And, Compare, Or, Predicate, keeps, to_sql
from r2d2.model.schema import Column, Schema, kind_of
from r2d2.steps.sql.literal import Refused
from r2d2.steps.sql.where import Where, names_of, resolved
from tests.support.random_predicates import CONSTANTS, predicates

SCHEMA = Schema.of(
    [
        Column(("id",), "int64"),
        Column(("parent",), "int64"),
        Column(("parent", "id"), "int64"),
        Column(("a", "b"), "string"),
        Column(("a.b",), "string"),
        Column(("ok",), "bool"),
        Column(("seen",), "timestamp(us,UTC)"),
    ]
)


def node(text: str) -> Expression:
    return sqlglot.parse_one(f"SELECT * FROM t WHERE {text}", dialect="spark").args["where"].this  # noqa: S608


def read(text: str, schema: Schema = SCHEMA) -> Predicate:
    return Where("sales", schema).read(node(text))


TYPES = {"n": "int64", "f": "float64", "s": "string", "d": "date", "b": "bool"}
KINDS = {(name,): kind_of(type_name) for name, type_name in TYPES.items()}
VALUES = {token: st.none() | st.sampled_from(CONSTANTS[kind]) for token, kind in KINDS.items()}


@settings(max_examples=200)
@given(predicates(KINDS), st.fixed_dictionaries(VALUES))
def test_a_predicate_written_as_sql_keeps_the_same_rows(
    predicate: Predicate, row: dict[tuple[str, ...], Literal | None]
) -> None:
    schema = Schema.of(Column((name,), type_name) for name, type_name in TYPES.items())
    text = to_sql(predicate)
    if "IN ()" not in text and "\x00" not in text and "'''" not in text:  # the first two have no SQL
        assert keeps(read(text, schema), row) is keeps(predicate, row)


def test_long_chains_are_read_without_recursion() -> None:
    chain = read(" OR ".join(f"id = {number}" for number in range(300)))
    assert isinstance(chain, Or) and len(chain.parts) == 300
    assert all(isinstance(part, Compare) for part in chain.parts)


def test_true_is_an_empty_and_false_an_empty_or() -> None:
    assert read("true") == And(()) and read("false") == Or(())


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("id", ("id",)),
        ("parent.id", ("parent", "id")),  # the parent's own struct comes first
        ("sales.id", ("id",)),
        ("parent.ok", ("ok",)),
        ("a.b", ("a", "b")),
        ("`a.b`", ("a.b",)),
        ("sales.a.b", ("a", "b")),
    ],
)
def test_a_column_is_found_by_its_parts(text: str, token: tuple[str, ...]) -> None:
    assert resolved(node(f"{text} is null").this, "sales", SCHEMA) == token


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing = 1", "the parent has no column nothing"),
        ("other.id = 1", "the parent has no column other.id"),
        ("id = parent", "it compares two columns"),
        ("id + 1 = 2", "ADD is not a column"),
        ("ok is true", "IS with something other than NULL"),
        ("id in (select 1)", "IN with something other than a list"),
        ("id like 'x'", "it has LIKE"),
        ("exists (select 1)", "it has a sub-query"),
        ("seen > timestamp '2024-01-01 00:00:00'", "has no zone"),
    ],
)
def test_what_a_recipe_cannot_have_is_named(text: str, says: str) -> None:
    with pytest.raises(Refused) as caught:
        read(text)
    assert says in str(caught.value)


def test_a_column_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(Refused) as caught:
        read("nothing = 1")
    assert caught.value.hint == names_of(SCHEMA) == "it has a.b, `a.b`, id, ok, parent, parent.id, seen"
