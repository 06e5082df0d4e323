"""A toy format, to show what adding one takes: a header with the columns' types, then one JSON array per line.

A folder with a `lines.list` is one table: the list names its files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable

import pyarrow as pa

from r2d2.errors import TableError
from r2d2.formats.arrow_types import type_name
from r2d2.formats.contract import Capabilities, Claim, FileSlice, TableFiles
from r2d2.formats.files import FileFormat, with_partition
from r2d2.formats.merge import ColumnProfile, FileRows, FilesProfile
from r2d2.model.profile import ColumnStats
from r2d2.model.schema import Token
from r2d2.model.table import DataFile
from r2d2.stores.contract import Store
from r2d2.stores.local import LocalStore

NAME = "tests.contracts.lines_format"
LIST = "lines.list"
TYPES = {"int64": pa.int64(), "string": pa.string(), "float64": pa.float64()}


class Lines(FileFormat):
    """Text files of which nothing but the columns is known before they are read."""

    name = NAME
    suffixes = ("lines",)
    magics = (b"#LIN",)
    capabilities = Capabilities(
        without_statistics="files of lines state no bounds of their columns",
        without_row_counts="files of lines do not say how many rows they hold",
        without_row_lists="files of lines do not number their rows",
        without_rebuild="tables of lines cannot be written back byte by byte, so they stay",
    )

    def recognise(self, folder: str, names: Collection[str], store: Store) -> Claim | None:
        """Claim a folder that has a list of its files."""
        return Claim(self.name, folder) if LIST in names else None

    def describe(self, claim: Claim, store: Store) -> TableFiles:
        """Take the listed files; all others are no part of the table."""
        listed = _text(os.path.join(claim.folder, LIST), store).split()
        paths = [os.path.join(claim.folder, name) for name in listed]
        others = {entry.name for entry in store.list(claim.folder)} - {*listed, LIST}
        files = tuple(DataFile(path, *store.stat(path)) for path in paths)
        return TableFiles(files, tuple(os.path.join(claim.folder, name) for name in others))

    def profile(self, path: str, store: Store) -> FilesProfile:
        """Read the header."""
        header = _header(path, store)
        columns = {(n,): ColumnProfile(t, os.path.basename(path), ColumnStats()) for n, t in header.items()}
        return FilesProfile((FileRows(path, ((None, store.stat(path).size_bytes),)),), columns)

    def read(self, part: FileSlice, tokens: Iterable[Token]) -> dict[Token, pa.ChunkedArray]:
        """Read the lines."""
        header = _header(part["path"], LocalStore())
        try:
            rows = [json.loads(line) for line in _text(part["path"], LocalStore()).splitlines()[1:]]
            stored = {
                (name,): pa.chunked_array([pa.array([row[place] for row in rows], TYPES[kind])])
                for place, (name, kind) in enumerate(header.items())
            }
        except (ValueError, LookupError, TypeError, pa.ArrowException) as error:
            raise TableError(f"{part['path']} cannot be read ({error})") from error
        return with_partition(part, stored, tokens, rows=len(rows))


def _header(path: str, store: Store) -> dict[str, str]:
    try:
        header: dict[str, str] = json.loads(_text(path, store).partition("\n")[0].removeprefix("#LINES"))
        if set(header.values()) <= TYPES.keys():
            return header
    except (OSError, ValueError, AttributeError, TypeError):
        pass
    raise TableError(f"{os.path.basename(path)} has no header of a file of lines")


def _text(path: str, store: Store) -> str:
    with store.open(path) as file:
        return str(file.read().decode())


def write_lines(table: pa.Table, path: str) -> None:
    """Write rows as a file of lines."""
    header = {field.name: type_name(field.type) for field in table.schema}
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    with open(path, "w") as file:
        file.write("\n".join(["#LINES" + json.dumps(header), *map(json.dumps, rows)]) + "\n")


FORMAT = Lines()
