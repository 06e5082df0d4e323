"""Operations that an Arrow type allows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt


def is_number(kind: pa.DataType) -> bool:
    """Whether arithmetic on the column makes sense."""
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def takes_noise(kind: pa.DataType) -> bool:
    """Whether noise can be added to the column; unsigned numbers cannot go below zero."""
    moves = (pt.is_signed_integer, pt.is_float32, pt.is_float64, pt.is_decimal128)
    return any(is_kind(kind) for is_kind in moves)


def is_ordered(kind: pa.DataType) -> bool:
    """Whether BETWEEN makes sense, and values survive conversion to text and back."""
    return is_number(kind) or pt.is_string(kind) or pt.is_date32(kind) or pt.is_timestamp(kind)


def is_filterable(kind: pa.DataType) -> bool:
    """Whether a WHERE can name the column."""
    return is_ordered(kind) or pt.is_boolean(kind)


def wider(kind: pa.DataType) -> pa.DataType | None:
    """A larger type for the same values; None without one.

    >>> wider(pa.int32()), wider(pa.decimal128(12, 2)), wider(pa.string())
    (DataType(int64), Decimal128Type(decimal128(18, 4)), None)
    """
    if pt.is_integer(kind) and kind.bit_width < 64:
        return pa.int64()
    if pt.is_float32(kind):
        return pa.float64()
    if pt.is_decimal128(kind) and kind.precision <= 32:
        return pa.decimal128(kind.precision + 6, kind.scale + 2)
    return None


def plain(kind: pa.DataType) -> pa.DataType:
    """The type without an encoding: not all filters can handle views and dictionaries.

    >>> plain(pa.list_(pa.large_string()))
    ListType(list<item: string>)
    """
    if pt.is_dictionary(kind):
        return plain(kind.value_type)
    if pt.is_struct(kind):
        return pa.struct([field.with_type(plain(field.type)) for field in kind])
    if pt.is_list(kind) or pt.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(plain(kind.value_type)))
    if pt.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    return _PLAIN.get(str(kind), kind)


_PLAIN = {
    "large_string": pa.string(),
    "string_view": pa.string(),
    "large_binary": pa.binary(),
    "binary_view": pa.binary(),
}
