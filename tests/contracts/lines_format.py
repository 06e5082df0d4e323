"""A toy format, to show what adding one takes: a header with the columns' types, then one JSON array per line.

A folder with a `lines.list` is one table: the list names its files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection

import pyarrow as pa

from r2d2.formats.contract import Claim, TableFiles
from r2d2.formats.files import WholeFileFormat, listed_files
from r2d2.stores.contract import Store

NAME = "tests.contracts.lines_format"
LIST = "lines.list"
TYPES = {"int64": pa.int64(), "string": pa.string(), "float64": pa.float64()}


class Lines(WholeFileFormat):
    """Text files of which nothing but the columns is known before they are read."""

    name = NAME
    suffixes = ("lines",)
    magics = (b"#LIN",)

    def recognise(self, folder: str, names: Collection[str], store: Store) -> Claim | None:
        """Claim a folder that has a list of its files."""
        return Claim(self.name, folder) if LIST in names else None

    def describe(self, claim: Claim, store: Store) -> TableFiles:
        """Take the listed files."""
        listed = _lines(os.path.join(claim.folder, LIST), store)
        return listed_files(claim.folder, listed, store, list_name=LIST)

    def schema(self, path: str, store: Store) -> pa.Schema:
        """Read the header."""
        header = json.loads(_lines(path, store)[0].removeprefix("#LINES"))
        return pa.schema([(name, TYPES[kind]) for name, kind in header.items()])

    def table(self, path: str, store: Store) -> pa.Table:
        """Read the lines."""
        schema = self.schema(path, store)
        rows = [json.loads(line) for line in _lines(path, store)[1:]]
        return pa.table([[row[place] for row in rows] for place in range(len(schema))], schema)


def _lines(path: str, store: Store) -> list[str]:
    with store.open(path) as file:
        return str(file.read().decode()).splitlines()


FORMAT = Lines()
