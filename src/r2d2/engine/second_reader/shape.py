"""Shape of a table on disk, from its footers and folder names: columns with exact types, rows, partitions.

All reading for safe deletion starts here, independent of the scan's readers. The footers of a table in a plan were
read before in processes that may die (HAZARDS 25); should one still kill this process, the next command recovers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import IO
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.engine.second_reader.declared_order import declared_orders
from r2d2.engine.second_reader.stored_types import Stored, stored_types
from r2d2.engine.second_reader.types import INT96, Node, leaves_of, node_of
from r2d2.errors import TableError
from r2d2.model.recipe import Order

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
Raw = tuple[tuple[str, str | None], ...]  # partition columns and their values, as spelled in the folders' names

_SPARK_VERSION = b"org.apache.spark.version"
# Notes in a footer that may differ between the files of a table: the first file's is used.
_FIRST_STANDS = (b"pandas", b"org.apache.spark.sql.parquet.row.metadata", _SPARK_VERSION)
# Notes that would be wrong in a rewritten file: Spark reads days of the old calendar as those of today's.
_NOT_OF_A_NEW_FILE = (
    b"ARROW:schema",
    b"org.apache.spark.legacyDateTime",
    b"org.apache.spark.legacyINT96",
    b"org.apache.spark.timeZone",
)


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file: its path, the number of rows in its footer, and its partition."""

    path: str  # absolute
    below: str  # below the table
    rows: int
    size_bytes: int
    raw: Raw


@dataclass(frozen=True, slots=True)
class Writing:
    """Writer options of a file, needed to write another like it."""

    compression: str = "SNAPPY"
    stores_schema: bool = True  # Arrow's own note of the schema
    decimals_as_integers: bool = False
    times_in_utc: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """Shape of a whole table."""

    schema: pa.Schema  # the columns in the files, those of the first file first; and the footers' notes
    nodes: tuple[tuple[str, Node], ...]  # the same columns, with the types of their values
    stored: tuple[tuple[str, tuple[Stored, ...]], ...]  # the same columns in any order, with their types in the files
    partitions: tuple[str, ...]
    files: tuple[TableFile, ...]
    writing: Writing
    disputes: tuple[str, ...] = ()  # differences between its files that a rebuilt table could not reproduce
    orders: frozenset[Order | None] = frozenset()  # declared by its row groups; see declared_orders

    @property
    def rows(self) -> int:
        """Rows that the footers state."""
        return sum(file.rows for file in self.files)

    @property
    def size_bytes(self) -> int:
        """Bytes of its files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def has_int96(self) -> bool:
        """Whether a column is of the old timestamp type INT96."""
        return any(leaf == INT96 for _, node in self.nodes for leaf in leaves_of(node))

    @property
    def signature(self) -> str:
        """The schema as text: names, order, exact types, NULL or not, partition columns."""
        columns = [[name, str(node), self.schema.field(name).nullable] for name, node in self.nodes]
        special = [[name, [leaf.special for leaf in stored]] for name, stored in sorted(self.stored)]
        unsaid = [[name, kinds] for name, kinds in special if any(kinds)]  # in few tables; others keep their digest
        return json.dumps([columns, list(self.partitions), *([unsaid] if unsaid else [])], ensure_ascii=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the signature."""
        return hashlib.sha256(self.signature.encode()).hexdigest()


def shape_of(path: str, files: Sequence[str]) -> Shape:
    """The shape of a table at *path* that consists of *files* below it; TableError if they do not fit together."""
    read = [_read_file(path, below) for below in files]
    if not read:
        raise TableError(f"{os.path.basename(path)} has no files with rows")
    shapes = [shape for shape, _ in read]
    keys = {tuple(key for key, _ in file.raw) for _, file in read}
    if len(keys) > 1:
        raise TableError("its files have different partition columns")
    (partitions,) = keys
    merged = shapes[0]
    for shape in shapes[1:]:
        merged = _merged(merged, shape)
    twice = [name for name in partitions if name in merged.schema.names]
    if twice:
        raise TableError(f"column {twice[0]} is both in its files and in the names of its folders")
    return replace(merged, partitions=partitions, files=tuple(file for _, file in read))


def shape_of_file(source: str | IO[bytes]) -> Shape:
    """The shape of one Parquet file, without rows and partitions."""
    try:
        with pq.ParquetFile(source) as file:
            return _shape(file)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"a footer cannot be read ({error})") from error


def raw_partition(folder: str) -> Raw:
    """Partition columns and values from the names of the folders above a file.

    >>> raw_partition("year=2024/city=S%C3%A3o")
    (('year', '2024'), ('city', 'São'))
    """
    return tuple(_split(part) for part in PurePosixPath(folder).parts)


def _split(name: str) -> tuple[str, str | None]:
    column, equals, value = name.partition("=")
    if not column or not equals:
        raise TableError(f"the folder {name!r} is not a partition")
    return _decoded(column), None if value == HIVE_NULL else _decoded(value)


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogateescape") if "%" in text else text


def _read_file(table: str, below: str) -> tuple[Shape, TableFile]:
    path = os.path.join(table, below) if below else table
    try:
        with pq.ParquetFile(path) as file:
            raw = raw_partition(os.path.dirname(below))
            return _shape(file), TableFile(path, below, file.metadata.num_rows, os.stat(path).st_size, raw)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"the footer of {below or os.path.basename(path)} cannot be read ({error})") from error


def _shape(file: pq.ParquetFile) -> Shape:
    schema = file.schema_arrow
    if len(set(schema.names)) < len(schema.names):
        raise TableError("it has two columns of the same name")
    leaves = iter([file.schema.column(number) for number in range(len(file.schema))])
    stored = iter(stored_types(file.schema))
    nodes, kept = [], []
    for field in schema:
        nodes.append((field.name, node_of(field.type, leaves)))
        kept.append((field.name, tuple(next(stored) for _ in leaves_of(nodes[-1][1]))))
    notes = schema.with_metadata(_notes(file) or None)
    orders = declared_orders(file.metadata, nodes)
    return Shape(notes, tuple(nodes), tuple(kept), (), (), _writing(file), orders=orders)


def _notes(file: pq.ParquetFile) -> dict[bytes, bytes]:
    """The key-value notes of a footer, such as GeoParquet's columns or pandas' index."""
    notes = {key: note for key, note in (file.metadata.metadata or {}).items() if key not in _NOT_OF_A_NEW_FILE}
    if notes.get(_SPARK_VERSION, b"").startswith((b"1.", b"2.")):  # it implies the old calendar
        del notes[_SPARK_VERSION]
    return notes


def _writing(file: pq.ParquetFile) -> Writing:
    metadata = file.metadata
    used: set[str] = set()
    if metadata.num_row_groups:
        group = metadata.row_group(0)
        used = {group.column(number).compression for number in range(group.num_columns)}
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    decimals = [leaf.physical_type for leaf in leaves if leaf.logical_type.type == "DECIMAL"]
    times = [leaf.logical_type.to_json() for leaf in leaves if leaf.logical_type.type == "TIME"]
    return Writing(
        used.pop() if len(used) == 1 else "SNAPPY",
        b"ARROW:schema" in (metadata.metadata or {}),
        "INT32" in decimals or "INT64" in decimals,
        any('"isAdjustedToUTC":true' in time for time in times),
    )


def _merged(one: Shape, other: Shape) -> Shape:
    """Merge two shapes: a column that a file lacks is NULL there (HAZARDS 9); two types of one column are refused."""
    mine, theirs = dict(one.nodes), dict(other.nodes)
    for name in mine.keys() & theirs.keys():
        refuse_two_types(name, mine[name], theirs[name])
    fields = [_field(name, one, other) for name in dict.fromkeys((*mine, *theirs))]
    return replace(
        one,
        schema=pa.schema(fields, metadata=one.schema.metadata),
        nodes=tuple((mine | theirs).items()),
        stored=tuple((dict(other.stored) | dict(one.stored)).items()),
        disputes=one.disputes or tuple(_disputes(one, other)),
        orders=one.orders | other.orders,
    )


def _disputes(one: Shape, other: Shape) -> Iterator[str]:
    """Differences that do not affect rows, but cannot be restored: a rebuilt table is written in one way."""
    mine, theirs = dict(one.stored), dict(other.stored)
    for name in (name for name, _ in other.stored if name in mine):
        for here, there in zip(mine[name], theirs[name], strict=True):
            if here != there:
                yield f"column {name} is {here} in one of its files and {there} in another"
    notes, others = one.schema.metadata or {}, other.schema.metadata or {}
    for key in sorted((notes.keys() | others.keys()) - {*_FIRST_STANDS}):
        if notes.get(key) != others.get(key):
            yield f"its files differ in what their footers note as {key.decode(errors='replace')}"


def refuse_two_types(name: str, one: Node, other: Node) -> None:
    """Refuse a column with different types in the files of one table: it cannot be restored exactly (HAZARDS 9)."""
    if one != other:
        raise TableError(f"column {name} is {one} in one of its files and {other} in another")


def _field(name: str, one: Shape, other: Shape) -> pa.Field:
    there = [shape.schema.field(name) for shape in (one, other) if name in shape.schema.names]
    return there[0].with_nullable(len(there) < 2 or any(field.nullable for field in there))


def folders_of(files: Iterable[TableFile]) -> Iterator[str]:
    """The folders below the table that hold its files, each once."""
    yield from sorted({os.path.dirname(file.below) for file in files})
