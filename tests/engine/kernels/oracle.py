"""A slow, obvious account of when two values are the same, and arrays of every type to try it on.

A strategy draws a *column*: an Arrow array together with what the oracle says of each of its values. Two columns are then
hashed, and hashes must agree exactly where the oracle does.
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

_INTEGERS = {
    sign * (base + step)
    for sign in (1, -1)
    for base in (
        0,
        2**7,
        2**8,
        2**11,
        2**15,
        2**16,
        2**24,
        2**31,
        2**32,
        2**53,
        2**63,
        2**64,
        2**65,
        2**127,
        10**18,
        10**19,
        10**37,
    )
    for step in (-1, 0, 1, 1024, 2048)
}
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


def nullable(values: Sequence[Any], holes: Sequence[bool]) -> list[Any]:
    return [None if hole else value for value, hole in zip(values, holes, strict=True)]


@st.composite
def _column(
    draw: st.DrawFn,
    kind: pa.DataType,
    raw: st.SearchStrategy[Any],
    build: Callable[[list[Any]], pa.Array],
    meaning: Callable[[Any], Hashable],
    size: int = 12,
) -> Column:
    content = draw(st.lists(st.none() | raw, max_size=size))
    array = build(content)
    assert array.type == kind and len(array) == len(content)
    return Column(array, [NULL if value is None else meaning(value) for value in content])


def fixed_width(kind: pa.DataType, content: Sequence[int | None], width: int) -> pa.Array:
    """An array from raw little-endian integers, with garbage under its NULLs."""
    data = b"".join(
        (0x5A if value is None else value).to_bytes(width, "little", signed=value is not None and value < 0)
        for value in content
    )
    valid = pa.array([value is not None for value in content], pa.bool_()).buffers()[1] if content else None
    return pa.Array.from_buffers(kind, len(content), [valid, pa.py_buffer(data)])


def integers(kind: pa.DataType) -> st.SearchStrategy[Column]:
    bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    pool = [int(number) for number in NUMBERS if number.denominator == 1 and low <= number <= high]
    raw = st.sampled_from(pool) | st.integers(low, high)
    return _column(kind, raw, lambda content: pa.array(content, kind), lambda value: ("number", Fraction(value)))


def meaning_of_float(value: float) -> Hashable:
    if math.isnan(value):
        return ("number", "nan")
    if math.isinf(value) or (value == 0 and math.copysign(1, value) < 0):
        return ("number", repr(value))
    return ("number", Fraction(value))


def floats(kind: pa.DataType) -> st.SearchStrategy[Column]:
    dtype = np.dtype(f"f{kind.bit_width // 8}")
    with np.errstate(over="ignore"):
        pool = [float(dtype.type(float(n))) for n in NUMBERS if abs(n) < 2**1000]
    pool = [value for value in pool if not math.isinf(value)] + [
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        -math.nan,
    ]
    raw = st.sampled_from(pool) | st.floats(width=kind.bit_width)

    def build(content: list[Any]) -> pa.Array:
        return pa.array([None if value is None else dtype.type(value) for value in content], kind)

    return _column(kind, raw, build, lambda value: meaning_of_float(float(dtype.type(value))))


def decimals(kind: pa.DataType) -> st.SearchStrategy[Column]:
    limit, unit = 10**kind.precision - 1, Fraction(10) ** kind.scale
    pool = [int(n * unit) for n in NUMBERS if (n * unit).denominator == 1 and abs(n * unit) <= limit] or [0]
    some = st.integers(-limit, limit) | st.integers(-999, 999).filter(lambda n: abs(n) <= limit)
    zeros = st.integers(0, kind.precision - 1)
    raw = st.sampled_from(pool) | some | st.builds(lambda n, k: n // 10**k * 10**k, some, zeros)
    return _column(
        kind,
        raw,
        lambda content: fixed_width(kind, content, kind.bit_width // 8),
        lambda value: ("number", Fraction(value) / unit),
    )


NUMERIC_KINDS: list[tuple[pa.DataType, Callable[[pa.DataType], st.SearchStrategy[Column]]]] = [
    *(
        (kind, integers)
        for kind in (
            pa.int8(),
            pa.int16(),
            pa.int32(),
            pa.int64(),
            pa.uint8(),
            pa.uint16(),
            pa.uint32(),
            pa.uint64(),
        )
    ),
    *((kind, floats) for kind in (pa.float16(), pa.float32(), pa.float64())),
    *(
        (kind, decimals)
        for kind in (
            pa.decimal32(9, 2),
            pa.decimal64(18, 4),
            pa.decimal128(15, 2),
            pa.decimal128(18, 0),
            pa.decimal128(38, 0),
            pa.decimal128(38, 18),
            pa.decimal128(38, 38),
            pa.decimal128(38, 30),
            pa.decimal128(20, 28),
            pa.decimal128(10, -3),
            pa.decimal256(76, 0),
            pa.decimal256(76, 20),
            pa.decimal256(76, 76),
            pa.decimal256(40, 2),
            pa.decimal256(50, -10),
            pa.decimal256(60, 90),
        )
    ),
]

# Bytes around the edges of the words they are cut into; NULs at the end are content.

_TEXTS = [
    "",
    "\0",
    "\0\0",
    "a",
    "a\0",
    "ab",
    "abc",
    "abcd",
    "abcd\0",
    "abcde",
    "01",
    "1",
    "äöü€𝄞",
    *("x" * n for n in (4, 5, 11, 12, 13, 14, 19, 20, 21, 27, 28, 29, 64, 300, 1000)),
    *("x" * n + "\0" for n in (3, 4, 11, 12, 19, 20)),
    *("x" * n + "y" for n in (10, 11, 12, 19, 20, 299, 999)),
    "abcdefghijklmnop" * 2,
    "ijklmnopabcdefgh" * 2,
]


def texts(kind: pa.DataType) -> st.SearchStrategy[Column]:
    raw = st.sampled_from(_TEXTS) | st.text(max_size=30)
    return _column(kind, raw, lambda content: pa.array(content, kind), lambda value: ("string", value.encode()))


def blobs(kind: pa.DataType) -> st.SearchStrategy[Column]:
    if pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        raw = st.sampled_from([b"a" * width, b"\0" * width, (b"a" * width)[:-1] + b"\0"]) | st.binary(
            min_size=width, max_size=width
        )
    else:
        raw = st.sampled_from([text.encode() for text in _TEXTS] + [b"a" * 16, b"\0" * 16, b"\xff"]) | st.binary(
            max_size=30
        )
    return _column(kind, raw, lambda content: pa.array(content, kind), lambda value: ("binary", value))


TEXT_KINDS = [
    *((kind, texts) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((kind, blobs) for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1), pa.binary(16))),
]

# Moments, in each unit up to where 64 bits end.

_SECONDS = [
    Fraction(n)
    for n in (
        0,
        1,
        -1,
        86_400,
        -86_400,
        10**9,
        2**31,
        9_223_372_036,
        -9_223_372_037,
        9_223_372_036_854,
        9_223_372_036_855,
        -9_223_372_036_855,
        9_223_372_036_854_775,
        9_223_372_036_854_776,
        2**62,
    )
]
_MOMENTS = sorted(
    {n + Fraction(step, 10**9) for n in _SECONDS for step in (0, 1, 999, 1_000, 1_000_000, 500_000_000, -1)}
)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def moments(kind: pa.DataType) -> st.SearchStrategy[Column]:
    per_second, width = _PER_SECOND[kind.unit], kind.bit_width
    pool = [
        int(m * per_second)
        for m in _MOMENTS
        if (m * per_second).denominator == 1 and abs(m * per_second) < 2 ** (width - 1)
    ]
    if pa.types.is_timestamp(kind):
        name = "instant" if kind.tz else "local"
    else:
        name = "duration" if pa.types.is_duration(kind) else "time"
    raw = st.sampled_from(pool) | st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    if name == "time":
        raw = st.sampled_from([value for value in pool if 0 <= value < 86_400 * per_second]) | st.integers(
            0, 86_400 * per_second - 1
        )
    return _column(
        kind,
        raw,
        lambda content: fixed_width(kind, content, width // 8),
        lambda value: (name, Fraction(value, per_second)),
    )


def dates(kind: pa.DataType) -> st.SearchStrategy[Column]:
    factor = 86_400_000 if pa.types.is_date64(kind) else 1
    raw = st.sampled_from([0, 1, -1, 19_000]) | st.integers(-(2**31), 2**31 - 1)
    return _column(
        kind,
        raw,
        lambda content: fixed_width(kind, [None if v is None else v * factor for v in content], kind.bit_width // 8),
        lambda value: ("date", value),
    )


def booleans(kind: pa.DataType) -> st.SearchStrategy[Column]:
    return _column(kind, st.booleans(), lambda content: pa.array(content, kind), lambda value: ("boolean", value))


def nothings(kind: pa.DataType) -> st.SearchStrategy[Column]:
    return _column(kind, st.none(), lambda content: pa.nulls(len(content)), lambda value: NULL)


_UNITS = ("s", "ms", "us", "ns")
OTHER_KINDS = [
    *((pa.timestamp(unit, zone), moments) for unit in _UNITS for zone in (None, "UTC", "Europe/Berlin")),
    *((pa.duration(unit), moments) for unit in _UNITS),
    *((kind, moments) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))),
    (pa.date32(), dates),
    (pa.date64(), dates),
    (pa.bool_(), booleans),
    (pa.null(), nothings),
]

LEAF_KINDS = [*NUMERIC_KINDS, *TEXT_KINDS, *OTHER_KINDS]


def of_kinds(
    kinds: Sequence[tuple[pa.DataType, Callable[[pa.DataType], st.SearchStrategy[Column]]]],
) -> st.SearchStrategy[Column]:
    return st.sampled_from(kinds).flatmap(lambda pair: pair[1](pair[0]))


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
