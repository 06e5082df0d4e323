"""Random predicates over nasty columns: every type, odd names, constants at and just beside the values."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from r2d2.model.literal import Literal
from r2d2.model.predicate import And, Between, Compare, IsNull, Not, OneOf, Or, Predicate
from r2d2.model.schema import Token
from tests.support.random_tables import VALUES

ODD_NAMES = ("a", "a.b", "unit price", "`", "a``b", "^x$", "*", "ü", "'; drop --", "A")
DAY = 86_400 * 10**9
EPOCH = datetime.datetime(1970, 1, 1)

NUMBERS = [
    *(Literal("int", n) for n in (0, 1, -1, 7, 127, 128, -129, 2**31, 2**53, 2**53 + 1, 2**63, 2**64, -(2**63) - 1)),
    *(Literal("float", x) for x in (0.0, -0.0, 0.5, 1.0, -1.5, 0.1, math.nan, math.inf, -math.inf, 2.0**53, 1e308)),
    *(Literal("decimal", Decimal(d)) for d in ("0", "0.00", "1.00", "1.5", "-1.50", "0.1", "9999999.99", "1E+40")),
    Literal("decimal", Decimal("-1234567890123456789012345678.0123456789")),
    Literal("decimal", Decimal("0.00000000000000000001")),
]
CONSTANTS: Mapping[str, list[Literal]] = {
    "number": NUMBERS,
    "string": [Literal("string", s) for s in ("", "a", "A", "b", "ü", "z" * 70, "z" * 71, "\x00", "'", "a\x00")],
    "binary": [Literal("binary", b) for b in (b"", b"\x00", b"a", b"\xff", b"\xff" * 70)],
    "bool": [Literal("bool", True), Literal("bool", False)],
    "date": [Literal("date", n) for n in (0, 1, -1, 19_782, -719_162, 2_932_896)],
    "timestamp": [Literal("timestamp", n) for n in (0, 1, -1, 1000, 19_782 * DAY, 1_709_208_000_123_456_000)],
    "timestamp with zone": [Literal("timestamp with zone", n) for n in (0, 1, 999, 19_782 * DAY, 19_782 * DAY - 1)],
}


def value_of(value: Any, kind: pa.DataType) -> Literal | None:
    """A value of a column as the plain reading of a predicate takes it."""
    if value is None:
        return None
    if pa.types.is_boolean(kind):
        return Literal("bool", value)
    if pa.types.is_date(kind):
        return Literal("date", (value - datetime.date(1970, 1, 1)).days)
    if pa.types.is_timestamp(kind):
        since = value.replace(tzinfo=None) - EPOCH
        nanoseconds = (since // datetime.timedelta(microseconds=1)) * 1000
        return Literal("timestamp with zone" if kind.tz else "timestamp", nanoseconds)
    names = {int: "int", float: "float", Decimal: "decimal", str: "string", bytes: "binary"}
    return Literal(names[type(value)], value)


def rows_of(columns: Mapping[Token, pa.ChunkedArray]) -> list[dict[Token, Literal | None]]:
    """The rows, value by value; of lists and maps only whether they are NULL."""

    def read(value: Any, kind: pa.DataType) -> Literal | None:
        return value_of(value, kind) if not pa.types.is_nested(kind) else value_of(None if value is None else 1, kind)

    lists = {token: [read(v, column.type) for v in column.to_pylist()] for token, column in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


@st.composite
def leaves(draw: st.DrawFn, kinds: Mapping[Token, str]) -> Predicate:
    """One comparison of one of the columns."""
    column = draw(st.sampled_from(sorted(kinds)))
    constants = CONSTANTS.get(kinds[column])
    shape = draw(st.integers(0, 3)) if constants else 3
    if shape == 3:
        return IsNull(column)
    assert constants
    constant = st.sampled_from(constants)
    if shape == 0:
        return Compare(column, draw(st.sampled_from(("=", "<>", "<", "<=", ">", ">="))), draw(constant))
    if shape == 1:
        return Between(column, draw(constant), draw(constant))
    return OneOf(column, tuple(draw(st.lists(constant, max_size=4))))


def predicates(kinds: Mapping[Token, str]) -> st.SearchStrategy[Predicate]:
    """Trees of comparisons."""

    def grown(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        several = st.lists(inner, max_size=3).map(tuple)
        return st.builds(And, several) | st.builds(Or, several) | st.builds(Not, inner)

    return st.recursive(leaves(kinds), grown, max_leaves=6)


@st.composite
def frames(draw: st.DrawFn, types: list[pa.DataType] | None = None, rows: int = 12) -> dict[Token, pa.ChunkedArray]:
    """Columns of any type under odd names, some of them fields of a struct."""
    plain = [kind for kind in VALUES if not pa.types.is_struct(kind)]
    chosen = draw(st.lists(st.sampled_from(types or plain), min_size=1, max_size=4))
    names = draw(st.permutations(ODD_NAMES))
    columns: dict[Token, pa.ChunkedArray] = {}
    for number, kind in enumerate(chosen):
        values = draw(st.lists(st.none() | st.sampled_from(VALUES[kind]), min_size=rows, max_size=rows))
        token = ("struct " + names[number], names[number]) if draw(st.integers(0, 3)) == 0 else (names[number],)
        columns[token] = pa.chunked_array([pa.array(values, kind)])
    return columns
