"""Convert values of a table to Python values that are equal exactly where docs/row-identity.md says so.

Plain Python on purpose: everything fast in R2D2 is compared with this. Numbers become exact ratios; all
other values carry their kind, so that text never equals a number, nor a date a timestamp.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from r2d2.errors import UserError

Canonical = Hashable

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY_NANOSECONDS = 86_400 * 10**9


def canonical_values(column: pa.Array) -> list[Canonical]:
    """The column's values, each as a hashable object; NULL is None."""
    kind = column.type
    if pt.is_dictionary(kind):
        return canonical_values(column.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        return canonical_values(column.storage)
    if pt.is_temporal(kind) and not pt.is_interval(kind):
        return _temporal(column)
    if pt.is_struct(kind):
        return _structs(column)
    if pt.is_map(kind):
        return [None if entries is None else _map(entries) for entries in map(_items, column)]
    if _is_list(kind):
        return [None if items is None else _list(items) for items in map(_items, column)]
    to_canonical = _plain_rule(kind)
    return [None if value is None else to_canonical(value) for value in column.to_pylist()]


def canonical_number(value: int | float | Decimal) -> Canonical:
    """A number by its mathematical value, whatever type held it.

    >>> canonical_number(1) == canonical_number(1.0) == canonical_number(Decimal("1.00"))
    True
    >>> canonical_number(2**53 + 1) == canonical_number(2.0**53)
    False
    >>> canonical_number(0.1) == canonical_number(Decimal("0.1"))
    False
    >>> canonical_number(-0.0) == canonical_number(0.0)
    False
    >>> canonical_number(math.nan) == canonical_number(math.nan)
    True
    """
    if isinstance(value, float) and math.isnan(value):
        return ("not a number",)
    if isinstance(value, float) and math.isinf(value):
        return ("infinity", value > 0)
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        return ("negative zero",)
    return ("number", *value.as_integer_ratio())  # exact, in lowest terms


def _plain_rule(kind: pa.DataType) -> Callable[[Any], Canonical]:
    if pt.is_integer(kind):
        return lambda value: ("number", value, 1)  # like canonical_number, faster
    if pt.is_floating(kind):
        return lambda value: canonical_number(float(value))  # half floats are NumPy objects
    if pt.is_decimal(kind):
        return canonical_number
    if pt.is_boolean(kind):
        return lambda value: ("boolean", value)
    if str(kind) in ("string", "large_string", "string_view"):
        return lambda value: ("text", value)
    if str(kind) in ("binary", "large_binary", "binary_view") or pt.is_fixed_size_binary(kind):
        return lambda value: ("bytes", value)
    if pt.is_null(kind):
        return lambda value: None
    raise UserError(f"the ground truth has no rule for values of type {kind}", hint="leave the column out")


def _temporal(column: pa.Array) -> list[Canonical]:
    """Dates in days, other types in nanoseconds, as exact integers: Python's datetime would drop nanoseconds."""
    kind = column.type
    bits = pa.int32() if kind.bit_width == 32 else pa.int64()
    counts = column.cast(bits).to_pylist()
    if pt.is_date(kind):
        per_day = 1 if pt.is_date32(kind) else 86_400_000
        return [None if count is None else ("date", count // per_day) for count in counts]
    name, unit = _temporal_name(kind), NANOSECONDS[kind.unit]
    return [None if count is None else (name, count * unit) for count in counts]


def _temporal_name(kind: pa.DataType) -> str:
    if pt.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp with zone"
    return "time" if pt.is_time(kind) else "duration"


def _structs(column: pa.Array) -> list[Canonical]:
    """Structs inside a list, by their fields' names, in any order; they cannot be flattened into columns."""
    names = [field.name for field in column.type]
    fields = [canonical_values(field) for field in column.flatten()]
    rows = [("struct", frozenset(zip(names, row, strict=True))) for row in zip(*fields, strict=True)]
    return [row if valid else None for row, valid in zip(rows, column.is_valid().to_pylist(), strict=True)]


def _is_list(kind: pa.DataType) -> bool:
    kinds = ("list<", "large_list<", "fixed_size_list<", "list_view<", "large_list_view<")
    return str(kind).startswith(kinds)


def _items(scalar: pa.Scalar) -> pa.Array | None:
    return scalar.values if scalar.is_valid else None


def _list(items: pa.Array) -> Canonical:
    return ("list", tuple(canonical_values(items)))


def _map(entries: pa.StructArray) -> Canonical:
    keys, values = (canonical_values(part) for part in entries.flatten())
    return ("map", frozenset(Counter(zip(keys, values, strict=True)).items()))
