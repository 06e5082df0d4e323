"""What formats of plain files need not do themselves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from r2d2.errors import TableError
from r2d2.formats.files import WholeFileFormat
from r2d2.model.profile import ColumnStats
from r2d2.model.table import DataFile
from r2d2.stores.contract import Store
from r2d2.stores.local import LocalStore

STORE = LocalStore()


class Stream(WholeFileFormat):
    """Arrow's stream files."""

    name = "stream"

    def schema(self, path: str, store: Store) -> pa.Schema:
        """Read the schema."""
        return self.table(path, store).schema

    def table(self, path: str, store: Store) -> pa.Table:
        """Read all rows."""
        with store.open(path) as file, pa.ipc.open_stream(file) as reader:
            return reader.read_all()


def written(table: pa.Table, folder: Path) -> str:
    """The path of a file with these rows."""
    path = str(folder / "some.stream")
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    return path


def test_structs_are_columns_by_their_fields(tmp_path: Path) -> None:
    path = written(pa.table({"n": [1, 2], "who": [{"name": "a"}, None]}), tmp_path)
    profile = Stream().profile(path, STORE)
    assert {token: column.type_name for token, column in profile.columns.items()} == {
        ("n",): "int64",
        ("who", "name"): "string",
    }
    assert profile.rows is None and all(column.stats == ColumnStats() for column in profile.columns.values())
    (part,) = Stream().slices([DataFile(path, *STORE.stat(path), (), profile.files[0].parts)], {})
    read = Stream().read(part, [("who", "name"), ("n",), ("m",)])
    assert {token: column.to_pylist() for token, column in read.items()} == {
        ("who", "name"): ["a", None],
        ("n",): [1, 2],
        ("m",): [None, None],
    }


def test_a_column_that_stands_twice_is_a_reason(tmp_path: Path) -> None:
    path = written(pa.table([[1], [2]], names=["n", "n"]), tmp_path)
    with pytest.raises(TableError, match="column n stands twice"):
        Stream().profile(path, STORE)


def test_an_error_of_the_content_is_a_reason_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.stream"
    path.write_bytes(b"garbage")
    with pytest.raises(TableError, match=r"bad\.stream cannot be read"):
        Stream().profile(str(path), STORE)
