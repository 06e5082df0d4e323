"""Shared code of formats whose tables are plain files: a new one only has to profile and read a file.

For a format whose files are read as a whole, giving the schema and the rows of a file is enough.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any

from r2d2.errors import TableError
from r2d2.formats.contract import Capabilities, Claim, FileSlice, Range, TableFiles
from r2d2.formats.merge import ColumnProfile, FileRows, FilesProfile
from r2d2.model.profile import ColumnStats
from r2d2.model.schema import Token, spell
from r2d2.model.table import DataFile
from r2d2.stores.contract import Store
from r2d2.stores.local import LocalStore

if TYPE_CHECKING:
    import pyarrow as pa


class FileFormat:
    """Base of a format whose tables are plain files: the walk finds them by suffix or first bytes."""

    name: str
    suffixes: tuple[str, ...] = ()
    magics: tuple[bytes, ...] = ()

    def recognise(self, folder: str, names: Collection[str], store: Store) -> Claim | None:
        """Leave the folder to the walk, which finds the parts of a table by their names."""
        return None

    def describe(self, claim: Claim, store: Store) -> TableFiles:
        """Refuse: such a format claims no folder."""
        raise TableError(f"{claim.folder} is no table that lists its files itself")

    def slices(
        self, files: Iterable[DataFile], partition_types: Mapping[str, str], *, fold_case: bool = False
    ) -> Iterator[FileSlice]:
        """Yield each file as one slice."""
        for file in files:
            yield slice_of(
                file, partition_types, fold_case, format=self.name, first=0, rows=file.rows, size=file.size_bytes
            )

    def range(self, part: FileSlice, token: Token) -> Range | None:
        """Bounds of a column that folder names carry; others are unknown."""
        found = partition_of(part, token)
        return None if found is None else partition_range(*found)


class WholeFileFormat(FileFormat, ABC):
    """Base of a format whose files state their columns and are read as a whole; nothing else is known before."""

    capabilities = Capabilities(
        without_statistics="its files state no bounds of their columns",
        without_row_counts="its files do not say how many rows they hold",
        without_row_lists="its files do not number their rows",
        without_rebuild="its format cannot be written back byte by byte, so it stays",
    )

    @abstractmethod
    def schema(self, path: str, store: Store) -> pa.Schema:
        """Read the columns of a file; any error that bad content causes may be raised."""

    @abstractmethod
    def table(self, path: str, store: Store) -> pa.Table:
        """Read a file, with errors as above."""

    def profile(self, path: str, store: Store) -> FilesProfile:
        """Read the columns of a file, and nothing about their values."""
        from r2d2.formats.arrow_types import flatten_fields, type_name

        with _as_reason(path):
            size, fields = store.stat(path).size_bytes, list(flatten_fields(self.schema(path, store)))
        seen_in, columns = os.path.basename(path), {}
        for token, kind, _ in fields:
            if token in columns:
                raise TableError(f"{seen_in} cannot be read (column {spell(token)} stands twice)")
            columns[token] = ColumnProfile(type_name(kind), seen_in, ColumnStats())
        return FilesProfile((FileRows(path, ((None, size),)),), columns)

    def read(self, part: FileSlice, tokens: Iterable[Token]) -> dict[Token, pa.ChunkedArray]:
        """Read the file and take the columns from it."""
        from r2d2.formats.arrow_types import leaf_columns

        with _as_reason(part["path"]):
            table = self.table(part["path"], LocalStore())
        stored = leaf_columns(dict(zip(table.column_names, table.columns, strict=True)))
        return with_partition(part, dict(stored), tokens, rows=table.num_rows)


@contextmanager
def _as_reason(path: str) -> Iterator[None]:
    """Turn the errors of bad content and of files that are gone into TableError."""
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, pa.ArrowException) as error:
        raise TableError(f"{os.path.basename(path)} cannot be read ({error})") from error


def listed_files(folder: str, listed: Collection[str], store: Store, *, list_name: str) -> TableFiles:
    """The listed files of a folder; all others there, but for the list itself, are no part of its table."""
    paths = [os.path.join(folder, name) for name in listed]
    others = sorted({entry.name for entry in store.list(folder)} - {*listed, list_name})
    files = tuple(DataFile(path, *store.stat(path)) for path in paths)
    return TableFiles(files, tuple(os.path.join(folder, name) for name in others))


def slice_of(
    file: DataFile,
    partition_types: Mapping[str, str],
    fold_case: bool,
    *,
    format: str,
    first: int,
    rows: int | None,
    size: int,
) -> dict[str, Any]:
    """Rows of one file, from *first* on, as a slice."""
    return {
        "format": format,
        "path": file.path,
        "file": list(file.version),
        "first": first,
        "rows": rows,
        "bytes": size,
        "partition": [[key, raw, partition_types[key]] for key, raw in file.partition],
        "fold": fold_case,
    }


def folded(token: Token, fold: bool) -> Token:
    """The token in one case, if *fold*."""
    return tuple(part.casefold() for part in token) if fold else token


def with_partition(
    part: FileSlice, stored: Mapping[Token, pa.ChunkedArray], tokens: Iterable[Token], *, rows: int
) -> dict[Token, pa.ChunkedArray]:
    """Columns of a slice by token: those of its folder names, else those *stored* in the file, else NULLs."""
    import pyarrow as pa

    wanted = set(tokens)
    columns = {name: c for token, c in stored.items() if (name := folded(token, part["fold"])) in wanted}
    columns |= partition_columns(part, wanted, rows=rows)
    columns |= {token: pa.chunked_array([pa.nulls(rows)]) for token in wanted - columns.keys()}
    for token, column in columns.items():
        if len(column) != rows:
            raise TableError(
                f"{os.path.basename(part['path'])} gave {len(column)} rows of {spell(token)} instead of {rows}"
            )
    return columns


def partition_columns(part: FileSlice, wanted: Collection[Token], *, rows: int) -> dict[Token, pa.ChunkedArray]:
    """The wanted columns that folder names carry."""
    import pyarrow as pa

    columns: dict[Token, pa.ChunkedArray] = {}
    for key, raw, kind in part["partition"]:
        token = folded((key,), part["fold"])
        if token in wanted:
            columns[token] = pa.chunked_array([pa.repeat(_partition_scalar(raw, kind), rows)])
    return columns


def _partition_scalar(raw: str | None, kind: str) -> pa.Scalar:
    import pyarrow as pa

    read: dict[str, Callable[[str], Any]] = {"int64": int, "date": date.fromisoformat, "string": str}
    types = {"int64": pa.int64(), "date": pa.date32(), "string": pa.string()}
    return pa.scalar(None if raw is None else read[kind](raw), types[kind])


def partition_of(part: FileSlice, token: Token) -> tuple[str | None, str] | None:
    """Raw value and type of a column that folder names carry; None for any other column."""
    return next(((raw, kind) for key, raw, kind in part["partition"] if folded((key,), part["fold"]) == token), None)


def partition_range(raw: str | None, kind: str) -> Range | None:
    """Bounds of the one value that a folder name states."""
    if raw is None or kind == "string":
        return None
    value = int(raw) if kind == "int64" else (date.fromisoformat(raw) - date(1970, 1, 1)).days
    return ("number" if kind == "int64" else "date"), value, value
