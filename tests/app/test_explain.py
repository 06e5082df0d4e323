"""A pair is explained from the scan; a row that rules it out is read from the files, if they are those of the scan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from r2d2.app.explain import explain
from r2d2.app.workspace import Workspace
from r2d2.errors import TableError
from r2d2.model.evidence import Verdict
from tests.app.conftest import SmallLake

PAIR = {"parent": "part.parquet", "child": "all.parquet"}


def test_the_trail_comes_from_the_scan_and_shows_no_value(small: SmallLake) -> None:
    found = explain(Workspace(small.settings), **PAIR)
    assert found.verdict is Verdict.IMPOSSIBLE and found.missing_row is None
    held = explain(Workspace(small.settings), parent="all.parquet", child="part.parquet")
    assert held.verdict is Verdict.PROVEN


def test_a_missing_row_is_shown_if_asked_for(small: SmallLake) -> None:
    found = explain(Workspace(replace(small.settings, show_values=True)), **PAIR)
    assert found.missing_row is not None
    ((column, value),) = found.missing_row.values
    assert column == "id" and int(str(value)) not in range(3, 8)


def test_other_files_than_those_of_the_scan_are_not_read(small: SmallLake) -> None:
    small.write("part.parquet", range(3, 9))
    with pytest.raises(TableError, match="has changed since the scan"):
        explain(Workspace(replace(small.settings, show_values=True)), **PAIR)


def test_a_deleted_table_is_explained_and_not_read(deleted: SmallLake) -> None:
    found = explain(Workspace(deleted.settings), parent="all.parquet", child="part.parquet")
    assert found.verdict is Verdict.PROVEN and "can be rebuilt" in found.deleted["part.parquet"]
    assert explain(Workspace(replace(deleted.settings, show_values=True)), **PAIR).missing_row is None
