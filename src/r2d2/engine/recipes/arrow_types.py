"""Convert type names to Arrow types, and columns to these types without changing a value."""

from __future__ import annotations

import pyarrow as pa

from r2d2.errors import TableError
from r2d2.model.schema import Column
from r2d2.model.types import ColumnType, parse_type

_PLAIN = {
    "bool": pa.bool_(),
    "date": pa.date32(),
    "string": pa.large_string(),
    "binary": pa.large_binary(),
    "null": pa.null(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    **{f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def arrow_type(type_name: str) -> pa.DataType | None:
    """An Arrow type for the values of a named type; None if the name is not specific enough.

    >>> arrow_type("timestamp(us,UTC)"), arrow_type("list<decimal(9,2)>"), arrow_type("list<struct<a:int8>>")
    (TimestampType(timestamp[us, tz=UTC]), ListType(list<item: decimal128(9, 2)>), None)
    """
    return _PLAIN[type_name] if type_name in _PLAIN else _arrow(parse_type(type_name))


def _arrow(wanted: ColumnType) -> pa.DataType | None:
    inner = [arrow_type(str(child)) for child in wanted.children]
    if any(kind is None for kind in inner):
        return None
    match wanted.family:
        case "decimal" if wanted.precision:
            make = pa.decimal128 if wanted.precision <= 38 else pa.decimal256
            return make(wanted.precision, wanted.scale)
        case "timestamp" | "time" | "duration" if wanted.unit:
            return _in_units(wanted)
        case "list" if inner:
            return pa.list_(*inner)
        case "map" if inner:
            return pa.map_(*inner)
    return None


def _in_units(wanted: ColumnType) -> pa.DataType:
    if wanted.family == "timestamp":
        return pa.timestamp(wanted.unit, "UTC" if wanted.has_zone else None)
    if wanted.family == "duration":
        return pa.duration(wanted.unit)
    return pa.time32(wanted.unit) if wanted.unit in ("s", "ms") else pa.time64(wanted.unit)


def cast_column(column: pa.ChunkedArray, wanted: Column, same: bool) -> pa.ChunkedArray:
    """Cast a column to the child's type; TableError if a value would change. *same*: it has that type already."""
    if same:
        return column
    kind = arrow_type(wanted.type_name)
    if kind is None:
        raise TableError(f"column {wanted} cannot be cast to {wanted.type_name}")
    if column.null_count == len(column):  # a NULL is the same NULL in any type
        return pa.chunked_array([pa.nulls(len(column), kind)])
    try:
        readable = _readable(column)
        if pa.types.is_integer(readable.type) and pa.types.is_decimal(kind):  # Arrow wants room for every integer
            readable = readable.cast(pa.decimal256(76, max(0, kind.scale)))
        return readable.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise TableError(f"column {wanted} cannot be cast to {wanted.type_name} ({error})") from error


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without extension type and dictionary, which casts do not support."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return without_dictionary(column)


def without_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The plain values. Arrow cannot take views from a dictionary, which is how Polars exports text."""
    if not pa.types.is_dictionary(column.type):
        return column
    views = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    kind = views.get(column.type.value_type, column.type.value_type)
    return pa.chunked_array([chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], kind)
