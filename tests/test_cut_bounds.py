"""A table with a text or binary value longer than writers state is found in its copies, whoever wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from r2d2.app.find import hold_against
from r2d2.report.edges import standing_edges
from r2d2.settings import Settings
from tests.support.in_process import Reader
from tests.support.random_tables import PLAIN_WRITERS, Writer, write_duckdb, write_pyarrow

LONG = ["v" + "漢" * 120, "v" + "é" * 300, "v" + "\x7f" * 300, "\U0010ffff" * 80, b"v" + b"\xff" * 300]


@pytest.mark.parametrize("value", LONG, ids=range(len(LONG)))
def test_copies_by_all_writers_hold_one_another(value: Any, tmp_path: Path) -> None:
    names = []
    for write in PLAIN_WRITERS:
        names.append(f"{write.__name__}.parquet")
        write(pa.table({"s": [value[:1], value]}), tmp_path / names[-1])
    scan = Reader().scan(str(tmp_path), Settings())
    assert not scan.problems
    found = {(edge.parent, edge.child) for edge in standing_edges(scan)}
    assert found == {(parent, child) for parent in names for child in names if parent != child}


@pytest.mark.parametrize("write", [write_pyarrow, write_duckdb])
def test_find_says_that_a_copy_by_another_writer_is_there(write: Writer, tmp_path: Path) -> None:
    table = pa.table({"s": ["a", "v" + "漢" * 120]})
    (tmp_path / "lake").mkdir()
    write(table, tmp_path / "lake" / "t.parquet")
    other = write_duckdb if write is write_pyarrow else write_pyarrow
    other(table, tmp_path / "stranger.parquet")
    reader = Reader()
    scan = reader.scan(str(tmp_path / "lake"), Settings())
    assert hold_against(scan, str(tmp_path / "stranger.parquet"), Settings(), reader.tools).is_there
