"""Arrow types as schema tokens and type names (see r2d2.model.schema)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyarrow import types as is_

from r2d2.model.schema import Token


def flatten_fields(schema: pa.Schema) -> Iterator[tuple[Token, pa.DataType, int]]:
    """Each column of the flattened schema, in file order: token, type, and how many Parquet leaves it covers.

    Structs are taken apart; a list or a map is one column, whatever it holds.
    """
    for field in schema:
        yield from _flatten((field.name,), field.type)


def _flatten(token: Token, kind: pa.DataType) -> Iterator[tuple[Token, pa.DataType, int]]:
    kind = plain(kind)
    if is_.is_struct(kind):
        for field in kind:
            yield from _flatten((*token, field.name), field.type)
    else:
        yield token, kind, _leaves(kind)


def leaf_columns(columns: Mapping[str, pa.ChunkedArray]) -> Iterator[tuple[Token, pa.ChunkedArray]]:
    """Every column of the flattened schema under its token; a field of a NULL struct is NULL."""
    for name, column in columns.items():
        yield from _columns_below((name,), column)


def _columns_below(token: Token, column: pa.ChunkedArray) -> Iterator[tuple[Token, pa.ChunkedArray]]:
    if not is_.is_struct(column.type):
        yield token, column
        return
    for field, leaf in zip(column.type, column.flatten(), strict=True):
        yield from _columns_below((*token, field.name), leaf)


def plain(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves, without extension, dictionary or run-length clothing."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def _leaves(kind: pa.DataType) -> int:
    kind = plain(kind)
    if is_.is_struct(kind):
        return sum(_leaves(field.type) for field in kind)
    if is_.is_map(kind):
        return _leaves(kind.key_type) + _leaves(kind.item_type)
    if is_listlike(kind):
        return _leaves(kind.value_type)
    return 1


def is_listlike(kind: pa.DataType) -> bool:
    """Whether it is any of Arrow's lists."""
    return bool(
        is_.is_list(kind)
        or is_.is_large_list(kind)
        or is_.is_fixed_size_list(kind)
        or is_.is_list_view(kind)
        or is_.is_large_list_view(kind)
    )


def type_name(kind: pa.DataType) -> str:
    """The name that r2d2.model.schema.kind_of understands.

    >>> type_name(pa.timestamp("ms", "Europe/Paris")), type_name(pa.large_string()), type_name(pa.decimal128(9, 2))
    ('timestamp(ms,UTC)', 'string', 'decimal(9,2)')
    """
    kind = plain(kind)
    if is_.is_map(kind):
        return f"map<{type_name(kind.key_type)},{type_name(kind.item_type)}>"
    if is_listlike(kind):
        return f"list<{type_name(kind.value_type)}>"
    if is_.is_struct(kind):
        return "struct<" + ",".join(f"{field.name}:{type_name(field.type)}" for field in kind) + ">"
    return _simple_name(kind)


def _simple_name(kind: pa.DataType) -> str:
    if is_.is_boolean(kind):
        return "bool"
    if is_.is_floating(kind):
        return f"float{kind.bit_width}"
    if is_.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if is_.is_timestamp(kind):
        return f"timestamp({kind.unit},UTC)" if kind.tz else f"timestamp({kind.unit})"
    if is_.is_date(kind):
        return "date"
    if is_.is_time(kind) or is_.is_duration(kind):
        return f"{'time' if is_.is_time(kind) else 'duration'}({kind.unit})"
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return "string"
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind):
        return "binary"
    if is_.is_fixed_size_binary(kind):
        return "binary"
    return str(kind)  # int8 … uint64, null, and what we do not know: a kind of its own
