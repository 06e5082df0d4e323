"""A slow, obvious account of when two values are the same, and arrays of every type to try it on.

A strategy draws a *column*: an Arrow array together with what the oracle says of each of its values. Columns are
then hashed, and hashes must agree exactly where the oracle does. Under every NULL lies something else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

NULL = ("null",)
KEY = bytes(range(16))


class Column(NamedTuple):
    array: pa.Array
    values: list[Hashable]  # by the oracle; NULL is NULL


# Numbers that several types can carry, around every edge of every type.

_BASES = (0, *(2**k for k in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64, 65, 127)), *(10**k for k in (18, 19, 37)))
_INTEGERS = {sign * (base + step) for sign in (1, -1) for base in _BASES for step in (-1, 0, 1, 1024, 2048)}
_FRACTIONS = {
    sign * value
    for sign in (1, -1)
    for value in (
        *(Fraction(1, 2**k) for k in (1, 2, 3, 10, 14, 24, 27, 28, 38, 60, 76)),
        *(Fraction(k, 10) for k in range(10)),
        *(Fraction(k, 100) for k in (5, 10, 25, 99, 110, 150, 12345)),
        *(Fraction(x) for x in (0.1, 0.2, 1e-5, 1e300, 5e-324, 1.1, 2.0**100, 2.0**63 + 2048, 123456.75)),
        Fraction(2**53 + 1, 2),
        Fraction(2**55 + 1, 8),
        Fraction(2**55 + 2, 8),
        Fraction(2**60 + 1, 4),
        Fraction(10**18 + 1, 10**18),
        Fraction(3, 10**37),
        Fraction(7, 10**38),
        Fraction(12345678901234567890123, 10**10),
        Fraction(5**30, 10**30) * 3,
        Fraction(2**100 + 1, 2**3),
    )
}
NUMBERS = sorted({Fraction(value) for value in _INTEGERS | _FRACTIONS})


class Family(NamedTuple):
    """The columns of one type: its telling values, others like them, and what they mean."""

    kind: pa.DataType
    edges: list[Any]
    others: st.SearchStrategy[Any]
    build: Callable[[list[Any]], pa.Array]
    meaning: Callable[[Any], Hashable]

    def column(self, content: list[Any]) -> Column:
        array = self.build(content)
        assert array.type == self.kind and len(array) == len(content)
        return Column(array, [NULL if value is None else self.meaning(value) for value in content])

    def columns(self) -> st.SearchStrategy[Column]:
        value = st.none() | st.sampled_from(self.edges) | self.others
        return st.lists(value, max_size=12).map(self.column)


def with_holes(array: pa.Array, content: Sequence[Any]) -> pa.Array:
    """The array with NULL where the content is None; what the array holds there stays underneath."""
    valid = pa.array([value is not None for value in content], pa.bool_()).buffers()[1] if content else None
    return pa.Array.from_buffers(array.type, len(array), [valid, *array.buffers()[1:]])


def fixed_width(kind: pa.DataType, content: Sequence[int | None], width: int) -> pa.Array:
    """An array from raw integers."""
    numbers = [0x5A if value is None else value for value in content]
    data = b"".join(number.to_bytes(width, "little", signed=number < 0) for number in numbers)
    return with_holes(pa.Array.from_buffers(kind, len(content), [None, pa.py_buffer(data)]), content)


def integers(kind: pa.DataType) -> Family:
    bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    edges = [int(number) for number in NUMBERS if number.denominator == 1 and low <= number <= high]
    return Family(
        kind,
        edges,
        st.integers(low, high),
        lambda content: fixed_width(kind, content, bits // 8),
        lambda value: ("number", Fraction(value)),
    )


def meaning_of_float(value: float) -> Hashable:
    if math.isnan(value):
        return ("number", "nan")
    if math.isinf(value) or (value == 0 and math.copysign(1, value) < 0):
        return ("number", repr(value))
    return ("number", Fraction(value))


def floats(kind: pa.DataType) -> Family:
    dtype = np.dtype(f"f{kind.bit_width // 8}")
    with np.errstate(over="ignore"):
        edges = [float(dtype.type(float(number))) for number in NUMBERS]
    return Family(
        kind,
        [*edges, -0.0, math.inf, -math.inf, math.nan, -math.nan],
        st.floats(width=kind.bit_width),
        lambda content: pa.array([None if value is None else dtype.type(value) for value in content], kind),
        lambda value: meaning_of_float(float(dtype.type(value))),
    )


def decimals(kind: pa.DataType) -> Family:
    limit, unit = 10**kind.precision - 1, Fraction(10) ** kind.scale
    edges = [int(n * unit) for n in NUMBERS if (n * unit).denominator == 1 and abs(n * unit) <= limit]
    some = st.integers(-limit, limit) | st.integers(-999, 999).filter(lambda n: abs(n) <= limit)
    zeros = st.integers(0, kind.precision - 1)
    return Family(
        kind,
        edges,
        some | st.builds(lambda n, k: n // 10**k * 10**k, some, zeros),
        lambda content: fixed_width(kind, content, kind.bit_width // 8),
        lambda value: ("number", Fraction(value) / unit),
    )


_INTEGER_KINDS = (pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64)
_DECIMALS_128 = ((15, 2), (18, 0), (38, 0), (38, 18), (38, 38), (38, 30), (20, 28), (10, -3))
_DECIMALS_256 = ((76, 0), (76, 20), (76, 76), (40, 2), (50, -10), (60, 90))
NUMERIC = [
    *(integers(kind()) for kind in _INTEGER_KINDS),
    *(floats(kind()) for kind in (pa.float16, pa.float32, pa.float64)),
    *(decimals(kind) for kind in (pa.decimal32(9, 2), pa.decimal64(18, 4))),
    *(decimals(pa.decimal128(precision, scale)) for precision, scale in _DECIMALS_128),
    *(decimals(pa.decimal256(precision, scale)) for precision, scale in _DECIMALS_256),
]

# Bytes around the edges of the words they are cut into; NULs at the end are content.

_TEXTS = [
    *("", "\0", "\0\0", "a", "a\0", "ab", "abc", "abcd", "abcd\0", "abcde", "01", "1", "äöü€𝄞"),
    *("x" * n for n in (4, 5, 11, 12, 13, 14, 19, 20, 21, 27, 28, 29, 64, 300, 1000)),
    *("x" * n + "\0" for n in (3, 4, 11, 12, 19, 20)),
    *("x" * n + "y" for n in (10, 11, 12, 19, 20, 299, 999)),
    "abcdefghijklmnop" * 2,
    "ijklmnopabcdefgh" * 2,
]
_HIDDEN = "what lies under a NULL, and is longer than a view"


def texts(kind: pa.DataType) -> Family:
    def build(content: list[str | None]) -> pa.Array:
        return with_holes(pa.array([_HIDDEN if value is None else value for value in content], kind), content)

    return Family(kind, _TEXTS, st.text(max_size=30), build, lambda value: ("string", value.encode()))


def blobs(kind: pa.DataType) -> Family:
    width = kind.byte_width if pa.types.is_fixed_size_binary(kind) else None
    edges = [text.encode() for text in _TEXTS] + [b"a" * 16, b"\0" * 16, b"\xff", _HIDDEN.encode()]

    def build(content: list[bytes | None]) -> pa.Array:
        hidden = _HIDDEN.encode()[:width]
        return with_holes(pa.array([hidden if value is None else value for value in content], kind), content)

    return Family(
        kind,
        [value for value in edges if width in (None, len(value))],
        st.binary(min_size=width or 0, max_size=width or 30),
        build,
        lambda value: ("binary", value),
    )


TEXT = [
    *(texts(kind()) for kind in (pa.string, pa.large_string, pa.string_view)),
    *(blobs(kind()) for kind in (pa.binary, pa.large_binary, pa.binary_view)),
    *(blobs(pa.binary(width)) for width in (1, 2, 16)),
]

# Moments, in each unit up to where 64 bits end.

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LIMITS = [(2**63 - 1) // 10**k + step for k in (0, 3, 6, 9) for step in (0, 1)]
_SECONDS = [
    0,
    1,
    86_400,
    10**9,
    2**31,
    2**62,
    *(Fraction(limit, per) for limit in _LIMITS for per in _PER_SECOND.values()),
]
_NANOSECONDS = (0, 1, 999, 1_000, 1_000_000, 500_000_000, -1)
_MOMENTS = sorted({sign * (n + Fraction(step, 10**9)) for sign in (1, -1) for n in _SECONDS for step in _NANOSECONDS})


def moments(kind: pa.DataType) -> Family:
    per_second, width = _PER_SECOND[kind.unit], kind.bit_width
    name, low, high = "duration", -(2 ** (width - 1)), 2 ** (width - 1) - 1
    if pa.types.is_timestamp(kind):
        name = "instant" if kind.tz else "local"
    elif pa.types.is_time(kind):
        name, low, high = "time", 0, 86_400 * per_second - 1
    whole = [moment * per_second for moment in _MOMENTS if (moment * per_second).denominator == 1]
    return Family(
        kind,
        [int(value) for value in whole if low <= value <= high],
        st.integers(low, high),
        lambda content: fixed_width(kind, content, width // 8),
        lambda value: (name, Fraction(value, per_second)),
    )


def dates(kind: pa.DataType) -> Family:
    factor = 86_400_000 if pa.types.is_date64(kind) else 1

    def build(content: list[int | None]) -> pa.Array:
        raw = [None if value is None else value * factor for value in content]
        return fixed_width(kind, raw, kind.bit_width // 8)

    days = st.integers(-(2**31), 2**31 - 1)
    return Family(kind, [0, 1, -1, 1_000, 86_400], days, build, lambda value: ("date", value))


def booleans(kind: pa.DataType) -> Family:
    return Family(
        kind, [True, False], st.booleans(), lambda content: pa.array(content, kind), lambda value: ("boolean", value)
    )


def nothings(kind: pa.DataType) -> Family:
    return Family(kind, [None], st.none(), lambda content: pa.nulls(len(content)), lambda value: NULL)


_ZONES = (None, "UTC", "Europe/Berlin")
OTHER = [
    *(moments(pa.timestamp(unit, zone)) for unit in _PER_SECOND for zone in _ZONES),
    *(moments(pa.duration(unit)) for unit in _PER_SECOND),
    *(moments(kind) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))),
    dates(pa.date32()),
    dates(pa.date64()),
    booleans(pa.bool_()),
    nothings(pa.null()),
]

LEAVES = [*NUMERIC, *TEXT, *OTHER]


def columns_of(families: Sequence[Family]) -> st.SearchStrategy[Column]:
    return st.sampled_from(families).flatmap(Family.columns)


# Nested values: a logical type, spelled in one of the Arrow types that can carry it.


def spellings(kind: Any) -> st.SearchStrategy[pa.DataType]:
    """Arrow types for a logical type: "int", "text", ("list", kind), ("map", kind) or ("struct", {name: kind})."""
    if kind == "int":
        return st.sampled_from([pa.int8(), pa.int64(), pa.float64(), pa.decimal128(20, 2)])
    if kind == "text":
        return st.sampled_from(
            [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
        )
    if kind[0] == "list":
        return st.tuples(
            st.sampled_from([pa.list_, pa.large_list, pa.list_view, pa.large_list_view]), spellings(kind[1])
        ).map(lambda drawn: drawn[0](drawn[1]))
    if kind[0] == "map":
        return (
            st.tuples(spellings("text"), spellings(kind[1]))
            .filter(lambda drawn: not pa.types.is_dictionary(drawn[0]))
            .map(lambda drawn: pa.map_(*drawn))
        )
    return st.tuples(
        st.permutations(list(kind[1])),
        st.fixed_dictionaries({name: spellings(inner) for name, inner in kind[1].items()}),
    ).map(lambda drawn: pa.struct([(name, drawn[1][name]) for name in drawn[0]]))


def logical_kinds() -> st.SearchStrategy[Any]:
    return st.recursive(
        st.sampled_from(["int", "text"]),
        lambda inner: (
            st.tuples(st.just("list"), inner)
            | st.tuples(st.just("map"), inner)
            | st.tuples(st.just("struct"), st.dictionaries(st.sampled_from("abc"), inner, min_size=1))
        ),
        max_leaves=4,
    )


def logical_values(kind: Any) -> st.SearchStrategy[Any]:
    if kind == "int":
        return st.none() | st.integers(-2, 3)
    if kind == "text":
        return st.none() | st.sampled_from(["", "a", "a" * 20])
    if kind[0] == "list":
        return st.none() | st.lists(logical_values(kind[1]), max_size=3)
    if kind[0] == "map":
        return st.none() | st.lists(
            st.tuples(st.sampled_from(["", "k", "k" * 20]), logical_values(kind[1])), max_size=3
        )
    return st.none() | st.fixed_dictionaries({name: logical_values(inner) for name, inner in kind[1].items()})


def meaning_of(kind: Any, value: Any) -> Hashable:
    if value is None:
        return NULL
    if kind == "int":
        return ("number", Fraction(value))
    if kind == "text":
        return ("string", value.encode())
    if kind[0] == "list":
        return ("list", tuple(meaning_of(kind[1], element) for element in value))
    if kind[0] == "map":
        return ("map", frozenset(Counter((key, meaning_of(kind[1], item)) for key, item in value).items()))
    return ("struct", frozenset((name, meaning_of(inner, value[name])) for name, inner in kind[1].items()))


def arrow_value(kind: Any, spelled: pa.DataType, value: Any) -> Any:
    """The value as pa.array wants it for this Arrow type."""
    if value is None:
        return None
    if kind == "int" and pa.types.is_decimal(spelled):
        return Decimal(value)
    if kind in ("int", "text"):
        return value
    if kind[0] == "list":
        return [arrow_value(kind[1], spelled.value_type, element) for element in value]
    if kind[0] == "map":
        return [(key, arrow_value(kind[1], spelled.item_type, item)) for key, item in value]
    return {name: arrow_value(inner, spelled.field(name).type, value[name]) for name, inner in kind[1].items()}
