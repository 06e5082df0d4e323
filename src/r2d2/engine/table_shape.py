"""What a table on disk is, by its footers: columns with their exact types, rows, and what its folders' names say.

Everything that safe deletion reads starts here, apart from the scan's own readers. The footers of a table in a plan
were read before by processes that may die (HAZARDS 25); should one kill this process all the same, that is one more
kill, and the next command recovers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.engine.exact_types import INT96, Node, leaves_of, node_of
from r2d2.errors import TableError

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
Raw = tuple[tuple[str, str | None], ...]  # partition columns and what the folders' names say, as written there


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file: where it is, how many rows its footer states, and the partition it lies in."""

    path: str  # absolute
    below: str  # below the table
    rows: int
    size_bytes: int
    raw: Raw


@dataclass(frozen=True, slots=True)
class Writing:
    """How a file was written, as far as it takes to write another like it."""

    compression: str = "SNAPPY"
    stores_schema: bool = True  # Arrow's own note of the schema
    decimals_as_integers: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A whole table."""

    schema: pa.Schema  # the columns in the files: those of the first, then what others add
    nodes: tuple[tuple[str, Node], ...]  # the same columns, by what their values are
    partitions: tuple[str, ...]
    files: tuple[TableFile, ...]
    writing: Writing

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
        """Whether a column is kept in the old form of timestamps."""
        return any(leaf == INT96 for _, node in self.nodes for leaf in leaves_of(node))

    @property
    def signature(self) -> str:
        """The schema as text: names, order, exact types, NULL or not, partition columns."""
        columns = [[name, str(node), self.schema.field(name).nullable] for name, node in self.nodes]
        return json.dumps([columns, list(self.partitions)], ensure_ascii=True)

    @property
    def digest(self) -> str:
        """SHA-256 of the signature."""
        return hashlib.sha256(self.signature.encode()).hexdigest()


def shape_of(path: str, files: Sequence[str]) -> Shape:
    """The shape of a table at *path* that consists of *files* below it; TableError if they make no one table."""
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
        raise TableError(f"column {twice[0]} stands in its files and in the names of its folders")
    return replace(merged, partitions=partitions, files=tuple(file for _, file in read))


def shape_of_file(source: Any) -> Shape:
    """The shape of one Parquet file, without rows and partitions."""
    try:
        with pq.ParquetFile(source) as file:
            return _shape(file)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"a footer cannot be read ({error})") from error


def raw_partition(folder: str) -> Raw:
    """What the names of the folders above a file say.

    >>> raw_partition("year=2024/city=S%C3%A3o")
    (('year', '2024'), ('city', 'São'))
    """
    return tuple(_split(part) for part in PurePosixPath(folder).parts)


def _split(name: str) -> tuple[str, str | None]:
    column, equals, value = name.partition("=")
    if not column or not equals:
        raise TableError(f"the folder {name!r} is no partition")
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
    nodes = tuple((field.name, node_of(field.type, leaves)) for field in schema)
    return Shape(schema, nodes, (), (), _writing(file))


def _writing(file: pq.ParquetFile) -> Writing:
    metadata = file.metadata
    used: set[str] = set()
    if metadata.num_row_groups:
        group = metadata.row_group(0)
        used = {group.column(number).compression for number in range(group.num_columns)}
    leaves = [file.schema.column(number) for number in range(len(file.schema))]
    decimals = [leaf.physical_type for leaf in leaves if leaf.logical_type.type == "DECIMAL"]
    return Writing(
        used.pop() if len(used) == 1 else "SNAPPY",
        b"ARROW:schema" in (metadata.metadata or {}),
        "INT32" in decimals or "INT64" in decimals,
    )


def _merged(one: Shape, other: Shape) -> Shape:
    """A column that some files lack is NULL there (HAZARDS 9); two types of one column are not guessed about."""
    mine, theirs = dict(one.nodes), dict(other.nodes)
    for name in mine.keys() & theirs.keys():
        refuse_two_types(name, mine[name], theirs[name])
    fields = [_field(name, one, other) for name in dict.fromkeys((*mine, *theirs))]
    return replace(one, schema=pa.schema(fields, metadata=one.schema.metadata), nodes=tuple((mine | theirs).items()))


def refuse_two_types(name: str, one: Node, other: Node) -> None:
    """Files of one table that write a column in different types cannot come back as they were (HAZARDS 9)."""
    if one != other:
        raise TableError(f"column {name} is {one} in one of its files and {other} in another")


def _field(name: str, one: Shape, other: Shape) -> pa.Field:
    there = [shape.schema.field(name) for shape in (one, other) if name in shape.schema.names]
    return there[0].with_nullable(len(there) < 2 or any(field.nullable for field in there))


def folders_of(files: Iterable[TableFile]) -> Iterator[str]:
    """The folders below the table that hold its files, each once."""
    yield from sorted({os.path.dirname(file.below) for file in files})
