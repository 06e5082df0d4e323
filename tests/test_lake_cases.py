"""Small lakes with a known answer: each folder of tests/lakes is written as files and scanned."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.report.edges import standing_edges
from r2d2.settings import Settings
from tests.support.in_process import Reader

CASES = sorted((Path(__file__).parent / "lakes").glob("*/case.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_a_scan_finds_the_edges_of_the_case(path: Path, tmp_path: Path) -> None:
    """Every table has the same two rows in its columns, so that each edge between schemas is a true one."""
    case = json.loads(path.read_text())
    for name, columns in case["schemas"].items():
        pq.write_table(pa.table({column: [1, 2] for column in columns}), tmp_path / f"{name}.parquet")
    scan = Reader().scan(str(tmp_path), Settings())
    found = sorted([Path(edge.parent).stem, Path(edge.child).stem] for edge in standing_edges(scan))
    assert found == case["edges"]
