"""Tables as the ground truth sees them: every row of every file, as a tuple of canonical values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from r2d2.errors import UserError
from r2d2.synthetic.hive import Partition, partition_of, partition_type
from r2d2.synthetic.oracle.canonical import Canonical, canonical_values

Token = tuple[str, ...]
"""Path of a column: ("a.b",) is a column named `a.b`, ("a", "b") is field b of struct a."""

Rename = Callable[[Canonical], Canonical]


@dataclass(frozen=True, slots=True)
class TableRows:
    """The flattened columns, and the rows in the same order of columns."""

    columns: tuple[Token, ...]
    rows: Sequence[tuple[Canonical, ...]]


def flatten(table: pa.Table) -> dict[Token, pa.ChunkedArray]:
    """Each leaf of the schema with its values; a field of a NULL struct is NULL."""
    leaves: list[tuple[Token, pa.ChunkedArray]] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        leaves.extend(_leaves((name,), column))
    by_token = dict(leaves)
    if len(by_token) < len(leaves):
        raise UserError("two columns have the same name", hint="rename one of them")
    return by_token


def rows_of(table: pa.Table, *, rename: Rename | None = None) -> TableRows:
    """An Arrow table's rows. *rename* may replace values by others that are equal in the same cases."""
    leaves = flatten(table)
    columns = [_values(column, rename) for column in leaves.values()]
    return TableRows(tuple(leaves), list(zip(*columns, strict=True)) if columns else [()] * table.num_rows)


def read_rows(location: Path, *, rename: Rename | None = None) -> TableRows:
    """Every row of a table on disk: a Parquet file, or a folder of them, `key=value` folders or not."""
    files = [(path, partition_of(path.relative_to(location))) for path in table_files(location)]
    keys = {key for _, partition in files for key, _ in partition}
    types = {key: partition_type(dict(partition).get(key) for _, partition in files) for key in sorted(keys)}
    parts = [rows_of(_with_partition(_read(path), found, types), rename=rename) for path, found in files]
    null = rename(None) if rename else None
    columns = tuple(sorted({column for part in parts for column in part.columns}))
    return TableRows(columns, [row for part in parts for row in _arranged(part, columns, null)])


def table_files(location: Path) -> list[Path]:
    """The table's Parquet files; names that begin with a dot or an underscore are not data."""
    if location.is_file():
        return [location]
    return sorted(path for path in location.rglob("*.parquet") if not _is_hidden(path.relative_to(location)))


def find_tables(lake: Path) -> list[str]:
    """Find the tables below a folder by file names alone, as paths below it.

    A folder with `key=value` folders is a table; so is a folder whose files are all called `part-…`; any
    other Parquet file is a table of its own.
    """
    by_folder: dict[Path, list[Path]] = defaultdict(list)
    for path in table_files(lake):
        by_folder[path.parent.relative_to(lake)].append(path.relative_to(lake))
    found = {table for folder, files in by_folder.items() for table in _tables_of(folder, files)}
    return sorted(table.as_posix() for table in found)


def _tables_of(folder: Path, files: list[Path]) -> list[Path]:
    keyed = [place for place, part in enumerate(folder.parts) if "=" in part]
    if keyed:
        return [Path(*folder.parts[: keyed[0]])]
    in_parts = folder.parts and all(file.name.startswith("part-") for file in files)
    return [folder] if in_parts else files


def _is_hidden(relative: Path) -> bool:
    return any(part.startswith((".", "_")) for part in relative.parts)


def _values(column: pa.ChunkedArray, rename: Rename | None) -> list[Canonical]:
    values = [value for chunk in column.chunks for value in canonical_values(chunk)]
    return [rename(value) for value in values] if rename else values


def _read(path: Path) -> pa.Table:
    # ParquetFile, since read_table has its own way with `key=value` folders above the file.
    with pq.ParquetFile(path) as parquet:
        return parquet.read()


def _with_partition(table: pa.Table, partition: Partition, types: dict[str, pa.DataType]) -> pa.Table:
    for key, value in partition:
        if key in table.column_names:
            raise UserError(f"the folders and the files both hold a column {key!r}", hint="drop one of them")
        typed = pa.scalar(value, pa.string()).cast(types[key])
        table = table.append_column(key, pa.repeat(typed, table.num_rows))
    return table


def _arranged(table: TableRows, columns: Sequence[Token], null: Canonical) -> Iterator[tuple[Canonical, ...]]:
    """The rows with their values in the order of *columns*, NULL for columns that this file lacks."""

    places = {column: place for place, column in enumerate(table.columns)}
    picks = [places.get(column) for column in columns]
    for row in table.rows:
        yield tuple(null if pick is None else row[pick] for pick in picks)


def _leaves(token: Token, column: pa.ChunkedArray) -> Iterator[tuple[Token, pa.ChunkedArray]]:
    if not pt.is_struct(column.type):
        yield token, column
        return
    for place, field in enumerate(column.type):
        chunks = [chunk.flatten()[place] for chunk in column.chunks]
        yield from _leaves((*token, field.name), pa.chunked_array(chunks, field.type))
