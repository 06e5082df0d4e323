"""Row identity, value by value: the rules of docs/row-identity.md that everything else is held against."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.synthetic.oracle.canonical import Canonical, canonical_number, canonical_values

UTC = "UTC"
NOON = 1_700_000_000

finite = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: math.copysign(1, x) > 0 or x != 0)
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4)
numbers = st.one_of(
    st.integers(-(2**63), 2**63 - 1), finite, decimals.filter(lambda x: not x.is_zero() or not x.is_signed())
)


def one(value: object, kind: pa.DataType) -> Canonical:
    return canonical_values(pa.array([value], kind))[0]


@given(numbers, numbers)
def test_numbers_are_the_same_exactly_when_they_are_equal_in_mathematics(a: Any, b: Any) -> None:
    same = canonical_number(a) == canonical_number(b)
    assert same == (Fraction(a) == Fraction(b))


@given(st.integers(-128, 127))
def test_a_whole_number_is_the_same_in_every_type_that_holds_it(value: int) -> None:
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float16(), pa.float32(), pa.float64()]
    forms = {one(value, kind) for kind in kinds}
    forms |= {one(Decimal(value), pa.decimal128(9, 2)), one(Decimal(value), pa.decimal256(40, 5))}
    assert len(forms) == 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none()))
def test_the_fast_path_for_integers_says_what_the_number_rule_says(values: list[int | None]) -> None:
    expected = [None if value is None else canonical_number(value) for value in values]
    assert canonical_values(pa.array(values, pa.int64())) == expected


SAME: dict[str, list[tuple[Any, pa.DataType]]] = {
    "NULL of any type": [
        (None, pa.int32()),
        (None, pa.string()),
        (None, pa.null()),
        (None, pa.list_(pa.int8())),
    ],
    "NaN, whatever its width": [
        (math.nan, pa.float64()),
        (math.nan, pa.float32()),
        (-math.nan, pa.float64()),
    ],
    "infinity": [(math.inf, pa.float64()), (math.inf, pa.float32())],
    "a decimal at any scale": [
        (Decimal("1.50"), pa.decimal128(9, 2)),
        (Decimal("1.5"), pa.decimal128(30, 9)),
        (1.5, pa.float32()),
    ],
    "text in any container": [("x", pa.string()), ("x", pa.large_string()), ("x", pa.string_view())],
    "bytes in any container": [
        (b"x", pa.binary()),
        (b"x", pa.large_binary()),
        (b"x", pa.binary(1)),
        (b"x", pa.binary_view()),
    ],
    "a moment in any unit": [
        (NOON, pa.timestamp("s")),
        (NOON * 1000, pa.timestamp("ms")),
        (NOON * 10**9, pa.timestamp("ns")),
    ],
    "a moment in any zone": [(NOON, pa.timestamp("s", UTC)), (NOON, pa.timestamp("s", "Asia/Tokyo"))],
    "a date in either width": [(dt.date(2024, 2, 29), pa.date32()), (dt.date(2024, 2, 29), pa.date64())],
    "a date before 1970": [(dt.date(1969, 12, 31), pa.date32()), (dt.date(1969, 12, 31), pa.date64())],
    "a time in any unit": [(dt.time(1, 2, 3), pa.time32("s")), (dt.time(1, 2, 3), pa.time64("ns"))],
    "a duration in any unit": [
        (dt.timedelta(seconds=1), pa.duration("s")),
        (dt.timedelta(seconds=1), pa.duration("ns")),
    ],
    "a list in any container": [
        ([1, None], pa.list_(pa.int8())),
        ([1, None], pa.large_list(pa.int64())),
        ([1.0, None], pa.list_(pa.float64(), 2)),
    ],
    "an entry order of a map": [
        ([("a", 1), ("b", 2)], pa.map_(pa.string(), pa.int32())),
        ([("b", 2), ("a", 1)], pa.map_(pa.string(), pa.int64())),
    ],
    "a field order inside a list": [
        ([{"a": 1, "b": 2}], pa.list_(pa.struct([("a", pa.int8()), ("b", pa.int8())]))),
        ([{"a": 1, "b": 2}], pa.list_(pa.struct([("b", pa.int64()), ("a", pa.int64())]))),
    ],
}

DIFFERENT: dict[str, list[tuple[Any, pa.DataType]]] = {
    "zeros of different sign": [(0.0, pa.float64()), (-0.0, pa.float64())],
    "an integer that a float cannot hold": [(2**53 + 1, pa.int64()), (2.0**53, pa.float64())],
    "a tenth as decimal, double and single": [
        (Decimal("0.1"), pa.decimal128(3, 1)),
        (0.1, pa.float64()),
        (0.1, pa.float32()),
    ],
    "infinities and NaN": [(math.inf, pa.float64()), (-math.inf, pa.float64()), (math.nan, pa.float64())],
    "text that looks like another value": [
        ("1", pa.string()),
        ("01", pa.string()),
        ("1 ", pa.string()),
        (1, pa.int64()),
        (True, pa.bool_()),
        ("true", pa.string()),
    ],
    "cases and accents": [
        ("abc", pa.string()),
        ("ABC", pa.string()),
        ("\u00e9", pa.string()),
        ("e\u0301", pa.string()),
    ],
    "text and bytes": [("x", pa.string()), (b"x", pa.binary())],
    "empty things and NULL": [
        ("", pa.string()),
        (b"", pa.binary()),
        (None, pa.string()),
        ([], pa.list_(pa.int8())),
    ],
    "false and zero": [(False, pa.bool_()), (0, pa.int8())],
    "a date, its midnight and its number": [
        (dt.date(1970, 1, 2), pa.date32()),
        (86_400, pa.timestamp("s")),
        (86_400, pa.timestamp("s", UTC)),
        (1, pa.int32()),
        (dt.timedelta(days=1), pa.duration("s")),
    ],
    "moments a nanosecond apart": [(1, pa.timestamp("ns")), (2, pa.timestamp("ns"))],
    "lists by order, length and NULLs": [
        ([1, 2], pa.list_(pa.int8())),
        ([2, 1], pa.list_(pa.int8())),
        ([1], pa.list_(pa.int8())),
        ([1, None], pa.list_(pa.int8())),
        ([None], pa.list_(pa.int8())),
        ([[1]], pa.list_(pa.list_(pa.int8()))),
    ],
    "maps and lists of pairs": [
        ([("a", 1)], pa.map_(pa.string(), pa.int32())),
        ([("a", None)], pa.map_(pa.string(), pa.int32())),
        ([{"key": "a", "value": 1}], pa.list_(pa.struct([("key", pa.string()), ("value", pa.int32())]))),
    ],
    "a NULL and a struct of NULLs inside a list": [
        ([None], pa.list_(pa.struct([("a", pa.int8())]))),
        ([{"a": None}], pa.list_(pa.struct([("a", pa.int8())]))),
    ],
}


@pytest.mark.parametrize("rule", SAME)
def test_these_are_the_same_value(rule: str) -> None:
    assert len({one(value, kind) for value, kind in SAME[rule]}) == 1


@pytest.mark.parametrize("rule", DIFFERENT)
def test_no_two_of_these_are_the_same_value(rule: str) -> None:
    assert len({one(value, kind) for value, kind in DIFFERENT[rule]}) == len(DIFFERENT[rule])


def test_a_dictionary_column_holds_its_values() -> None:
    words = pa.array(["a", None, "a", "b"])
    assert canonical_values(words.dictionary_encode()) == canonical_values(words)


def test_a_slice_of_a_nested_column_holds_its_own_values() -> None:
    maps = pa.array([[("a", 1)], None, [("b", 2)], []], pa.map_(pa.string(), pa.int32()))
    lists = pa.array([[{"a": 1}], None, [{"a": 2}, None], []])
    for column in (maps, lists):
        assert canonical_values(column.slice(1, 3)) == canonical_values(column)[1:]


def test_a_type_without_a_rule_is_refused_not_guessed() -> None:
    with pytest.raises(UserError, match="no rule for values of type"):
        canonical_values(pa.array([(1, 2, 3)], pa.month_day_nano_interval()))
