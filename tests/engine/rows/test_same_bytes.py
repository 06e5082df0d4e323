"""Tables are called the same only if every byte of their files is, and everything else that their rows depend on."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.rows import same_bytes
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.inline import Inline
from r2d2.formats.parquet.read import read_slice, slices
from r2d2.formats.registry import read_bytes
from r2d2.model.schema import Column
from r2d2.model.table import DataFile
from r2d2.stores.local import LocalStore

HASHING = Hashing(read_slice, bytes(32), 128, None, read_bytes)
# A file of a table: its rows, by a letter, and the value of the folder that it lies in.
FILES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([None, "1", "2"])), min_size=1, max_size=3)


def table(folder: Path, files: Sequence[tuple[str, str | None]]) -> TableContent:
    """Files of the same sizes with one of three contents; the rows of `c` are those of `b` in another order."""
    rows = {"a": [1, 2, 3], "b": [1, 2, 4], "c": [4, 2, 1]}
    parts: list[Any] = []
    for number, (letter, value) in enumerate(files):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"x": rows[letter]}), path, compression="none", use_dictionary=False, row_group_size=2)
        partition = ((("day", value),)) if value else ()
        file = DataFile(str(path), *LocalStore().stat(str(path)), partition=partition, parts=((2, 50), (1, 30)))
        parts += slices([file], {"day": "int64"})
    return TableContent(tuple(parts), (Column(("x",), "int64"),))


def content(tables: Sequence[TableContent]) -> Content:
    return Content(Inline(), tables, HASHING, lambda parts: {})


@settings(max_examples=60)
@given(st.lists(FILES, min_size=2, max_size=4), st.sampled_from([1, 7, 64, 1 << 20]))
def test_tables_are_the_same_if_their_files_are_whatever_their_names(
    tmp_path_factory: pytest.TempPathFactory, lake: list[list[tuple[str, str | None]]], chunk: int
) -> None:
    folders = [tmp_path_factory.mktemp("lake") for _ in lake]
    tables = [table(folder, files) for folder, files in zip(folders, lake, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(same_bytes, "LEAST_BYTES", 0)
        patch.setattr(same_bytes, "CHUNK_BYTES", chunk)
        same = content(tables).same_bytes([range(len(tables))])
    for folder in folders:
        shutil.rmtree(folder)
    for number, files in enumerate(lake):
        equal = [n for n, other in enumerate(lake) if sorted(map(str, other)) == sorted(map(str, files))]
        assert same.get(number, number) == equal[0]


def test_small_tables_are_decoded_and_not_compared_by_bytes(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    both = content([table(tmp_path / name, [("a", None)]) for name in "ab"])
    assert both.same_bytes([[0, 1]]) == {} and both.bytes_read == 0


def test_a_file_that_cannot_be_read_is_the_same_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_bytes, "LEAST_BYTES", 0)
    tables = []
    for name in "abc":
        (tmp_path / name).mkdir()
        tables.append(table(tmp_path / name, [("a", None)]))
    (tmp_path / "b" / "0.parquet").unlink()
    three = content(tables)
    assert three.same_bytes([[0, 1, 2]]) == {0: 0, 2: 0}
    assert three.failed.keys() == {1} and "cannot be read" in three.failed[1][0]
