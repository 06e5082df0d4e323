"""The columns of Parquet files, worked out once for all files of one schema."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.formats.arrow_types import flatten_fields, type_name
from r2d2.model.schema import Token

_KEPT = 256


class StoredColumn(NamedTuple):
    """One column of the flattened schema."""

    token: Token
    kind: pa.DataType
    type_name: str
    leaves: range  # of Parquet, that it covers
    has_int96: bool  # in one of them
    has_other: bool  # in one of them what is no INT96


class Layout(NamedTuple):
    """The columns of a file, and what is asked of them time and again."""

    schema: pa.Schema
    columns: Sequence[StoredColumn]
    leaves: Mapping[str, Sequence[int]]  # by top-level column
    by_polars: frozenset[str]  # top-level columns that Polars reads right
    int96: frozenset[Token]


_layouts: dict[tuple[pa.Schema, str], Layout] = {}


def layout_of(file: pq.ParquetFile) -> Layout:
    """The layout of a file."""
    key = file.schema_arrow, str(file.schema).partition("\n")[2]  # the first line names the object
    if key not in _layouts:
        if len(_layouts) >= _KEPT:
            _layouts.clear()
        _layouts[key] = _layout(file, key[0])
    return _layouts[key]


def _layout(file: pq.ParquetFile, schema: pa.Schema) -> Layout:
    stored, columns, leaf = file.schema, [], 0
    for token, kind, count in flatten_fields(schema):
        leaves = range(leaf, leaf + count)
        int96 = {stored.column(number).physical_type == "INT96" for number in leaves}
        columns.append(StoredColumn(token, kind, type_name(kind), leaves, True in int96, False in int96))
        leaf += count
    below: defaultdict[str, list[StoredColumn]] = defaultdict(list)
    for column in columns:
        below[column.token[0]].append(column)
    by_polars = {
        name
        for name, some in below.items()
        if all(_polars_reads(column.kind) and not column.has_int96 for column in some)
        and not any(is_.is_struct(schema.field(place).type) for place in schema.get_all_field_indices(name))
    }
    return Layout(
        schema,
        tuple(columns),
        {name: [leaf for column in some for leaf in column.leaves] for name, some in below.items()},
        frozenset(by_polars),
        frozenset(column.token for column in columns if column.has_int96),
    )


def _polars_reads(kind: pa.DataType) -> bool:
    """Whether Polars gives every value of this type back as it is."""
    if is_.is_decimal(kind):
        return bool(is_.is_decimal128(kind))
    return bool(
        is_.is_integer(kind)
        or is_.is_float32(kind)
        or is_.is_float64(kind)
        or is_.is_boolean(kind)
        or is_.is_date32(kind)
        or is_.is_string(kind)
        or is_.is_large_string(kind)
        or is_.is_string_view(kind)
        or is_.is_binary(kind)
        or is_.is_large_binary(kind)
        or (is_.is_timestamp(kind) and kind.tz in (None, "UTC"))
    )
