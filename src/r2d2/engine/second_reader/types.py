"""Exact types of columns: in Parquet, in Spark, and in Arrow when they are written.

Two Nodes are equal exactly if their values can be compared one by one. Integers of other widths, other units of time
and NULL-only columns are different types here. A rebuilt table gets each column back in its own type.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from pyarrow import types as is_

from r2d2.errors import TableError
from r2d2.model.types import ColumnType, parse_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value: int32, uint64, decimal(9,2), timestamp(ns), …"""

    kind: str

    @property
    def type(self) -> ColumnType:
        """The parsed kind."""
        return parse_type(self.kind)

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class ListOf:
    """Values in order."""

    item: Node

    def __str__(self) -> str:
        return f"list<{self.item}>"


@dataclass(frozen=True, slots=True)
class MapOf:
    """Entries in any order."""

    key: Node
    value: Node

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields with names."""

    fields: tuple[tuple[str, Node], ...]

    def __str__(self) -> str:
        return "struct<" + ",".join(f"{json.dumps(name)}:{node}" for name, node in self.fields) + ">"


Node = Leaf | ListOf | MapOf | Struct
INT96 = Leaf("int96")  # a timestamp in the old format

_SPARK = {
    "bool": "boolean", "int8": "byte", "int16": "short", "int32": "integer", "int64": "long",
    "uint8": "short", "uint16": "integer", "uint32": "long", "uint64": "decimal(20,0)",
    "float32": "float", "float64": "double", "string": "string", "binary": "binary", "date": "date",
    "timestamp(ms)": "timestamp_ntz", "timestamp(us)": "timestamp_ntz",
    "timestamp(ms,UTC)": "timestamp", "timestamp(us,UTC)": "timestamp",
    "int96": "timestamp", "null": "integer", "time(ms)": "integer",
}  # fmt: skip


class FileColumn(Protocol):
    """As much of a file's own column as has to be known."""

    @property
    def physical_type(self) -> str:
        """The type by which its values are kept."""


def node_of(kind: pa.DataType, leaves: Iterator[FileColumn]) -> Node:
    """The Node of an Arrow type; consumes its leaf columns from *leaves*, those of the file."""
    kind = _storage(kind)
    if is_.is_struct(kind):
        return Struct(tuple((field.name, node_of(field.type, leaves)) for field in kind))
    if is_.is_map(kind):
        return MapOf(node_of(kind.key_type, leaves), node_of(kind.item_type, leaves))
    if _is_list(kind):
        return ListOf(node_of(kind.value_type, leaves))
    if next(leaves).physical_type == "INT96":
        return INT96
    return Leaf(_name(kind))


def leaves_of(node: Node) -> Iterator[Leaf]:
    """Every leaf type of a node."""
    match node:
        case Leaf():
            yield node
        case ListOf(item):
            yield from leaves_of(item)
        case MapOf(key, value):
            yield from leaves_of(key)
            yield from leaves_of(value)
        case Struct(fields):
            for _, part in fields:
                yield from leaves_of(part)


def spark_type(node: Node) -> DataType:
    """The type in which Spark's Parquet reader returns every value of the column unchanged."""
    from pyspark.sql import types as T

    match node:
        case ListOf(item):
            return T.ArrayType(spark_type(item))
        case MapOf(key, value):
            return T.MapType(spark_type(key), spark_type(value))
        case Struct(fields):
            return T.StructType([T.StructField(name, spark_type(part)) for name, part in fields])
    return _spark_leaf(spark_word(node))


def spark_word(leaf: Leaf) -> str:
    """Spark's name for the type in which it reads a value; TableError for types that it cannot read exactly."""
    if leaf.kind in _SPARK:
        return _SPARK[leaf.kind]
    kind = leaf.type
    if kind.family in ("time", "duration") or (kind.family == "timestamp" and kind.unit == "ns"):
        return "long"  # the whole numbers that they are
    if kind.family == "decimal" and 0 <= kind.scale <= kind.precision <= 38:
        return leaf.kind
    raise TableError(f"Spark cannot read values of type {leaf.kind} exactly")


def _spark_leaf(word: str) -> DataType:
    from pyspark.sql import types as T

    if (kind := parse_type(word)).family == "decimal":
        return T.DecimalType(kind.precision, kind.scale)
    return {
        "boolean": T.BooleanType(), "byte": T.ByteType(), "short": T.ShortType(), "integer": T.IntegerType(),
        "long": T.LongType(), "float": T.FloatType(), "double": T.DoubleType(), "string": T.StringType(),
        "binary": T.BinaryType(), "date": T.DateType(), "timestamp": T.TimestampType(),
        "timestamp_ntz": T.TimestampNTZType(),
    }[word]  # fmt: skip


def arrow_from_spark(node: Node) -> pa.DataType:
    """The Arrow type in which Spark hands the column to Python."""
    match node:
        case ListOf(item):
            return pa.list_(arrow_from_spark(item))
        case MapOf(key, value):
            return pa.map_(arrow_from_spark(key), arrow_from_spark(value))
        case Struct(fields):
            return pa.struct([(name, arrow_from_spark(part)) for name, part in fields])
    word = spark_word(node)
    if (kind := parse_type(word)).family == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return {
        "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(),
        "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(),
        "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
    }[word]  # fmt: skip


def _storage(kind: pa.DataType) -> pa.DataType:
    """The type of the values, without extension, dictionary or run-length encoding."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif is_.is_dictionary(kind) or is_.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        is_.is_list(kind)
        or is_.is_large_list(kind)
        or is_.is_fixed_size_list(kind)
        or is_.is_list_view(kind)
        or is_.is_large_list_view(kind)
    )


def _name(kind: pa.DataType) -> str:
    if is_.is_floating(kind):
        return f"float{kind.bit_width}"
    if is_.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if is_.is_timestamp(kind):
        unit = "ms" if kind.unit == "s" else kind.unit  # Parquet has no seconds; only Arrow's note says so
        return f"timestamp({unit},UTC)" if kind.tz else f"timestamp({unit})"
    if is_.is_time(kind) or is_.is_duration(kind):
        return f"{'time' if is_.is_time(kind) else 'duration'}({kind.unit})"
    for word, fits in (("date", is_.is_date), ("bool", is_.is_boolean)):
        if fits(kind):
            return word
    if str(kind) in ("string", "large_string", "string_view"):
        return "string"
    if str(kind) in ("binary", "large_binary", "binary_view") or is_.is_fixed_size_binary(kind):
        return "binary"
    return str(kind)
