"""Values of sampled rows in a form that compares with the bounds of a slice and travels as JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from r2d2.model.types import NANOSECONDS
from r2d2.model.work import Ordered

if TYPE_CHECKING:
    import pyarrow as pa

Range = tuple[str, object, object]
UNKNOWN: Ordered = ("", 0)  # NULL, NaN, or a type without an order of its own


def ordered_values(column: pa.ChunkedArray) -> list[Ordered]:
    """The values of a column, each with its kind (`model.types.kind_of`); UNKNOWN where no bound speaks of them.

    >>> import pyarrow as pa
    >>> ordered_values(pa.chunked_array([pa.array(["a", None])]))
    [('string', '61'), ('', 0)]
    """
    import pyarrow as pa
    from pyarrow import types as is_

    kind = column.type
    if is_.is_integer(kind):
        return _known("number", column.to_pylist())
    if is_.is_float32(kind) or is_.is_float64(kind):
        return _known("number", [v if v is not None and math.isfinite(v) else None for v in column.to_pylist()])
    if is_.is_decimal(kind):
        return _known("number", [None if v is None else str(v) for v in column.to_pylist()])
    if is_.is_date32(kind):
        return _known("date", column.cast(pa.int32()).to_pylist())
    if is_.is_timestamp(kind):
        whole, unit = column.cast(pa.int64()).to_pylist(), NANOSECONDS[kind.unit]
        name = "timestamp with zone" if kind.tz else "timestamp"
        return _known(name, [None if v is None else v * unit for v in whole])
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return _known("string", [None if v is None else v.encode().hex() for v in column.to_pylist()])
    return [UNKNOWN] * len(column)


def may_hold(bounds: Sequence[Range | None], row: Sequence[Ordered]) -> bool:
    """Whether a slice whose columns lie within *bounds* may hold a row; what is unknown rules nothing out."""
    return all(map(_may_be_within, bounds, row))


def _may_be_within(bounds: Range | None, value: Ordered) -> bool:
    if bounds is None or value[0] != bounds[0]:
        return True
    known = _comparable(*value)
    return bool(bounds[1] <= known <= bounds[2])  # type: ignore[operator]


def _known(kind: str, values: Sequence[int | float | str | None]) -> list[Ordered]:
    return [UNKNOWN if value is None else (kind, value) for value in values]


def _comparable(kind: str, value: int | float | str) -> object:
    if isinstance(value, str):
        return bytes.fromhex(value) if kind == "string" else Decimal(value)
    return value
