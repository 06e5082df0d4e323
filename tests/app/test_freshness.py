"""Tables that are not as they were scanned are noticed."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from r2d2.app.freshness import changed_since, changed_tables, refuse_changed, refuse_deleted
from r2d2.app.workspace import Workspace
from r2d2.errors import TableError, UserError
from r2d2.model.table import Absent
from tests.app.conftest import SmallLake


def test_an_unchanged_table_is_fresh(small: SmallLake) -> None:
    tables = Workspace(small.settings).newest().tables
    assert changed_tables(tables) == []
    for table in tables:
        refuse_changed(table)


def test_a_table_that_was_written_to_touched_or_removed_is_not(small: SmallLake) -> None:
    tables = {table.name: table for table in Workspace(small.settings).newest().tables}
    small.write("all.parquet", range(21))
    os.utime(small.path / "part.parquet", ns=(1, 1))
    (small.path / "other.parquet").unlink()
    assert changed_tables(tables.values()) == ["all.parquet", "other.parquet", "part.parquet"]
    assert changed_since(tables["part.parquet"])
    with pytest.raises(TableError, match="has changed since the scan"):
        refuse_changed(tables["all.parquet"])
    with pytest.raises(TableError, match="is gone"):
        refuse_changed(tables["other.parquet"])


def test_a_deleted_table_is_refused_with_the_way_back(small: SmallLake) -> None:
    scan = replace(Workspace(small.settings).newest(), absent={"part.parquet": Absent("all.parquet")})
    refuse_deleted(scan, "all.parquet", "other.parquet")
    with pytest.raises(UserError, match=r"part\.parquet is deleted, can be rebuilt from all\.parquet") as refused:
        refuse_deleted(scan, "all.parquet", "part.parquet")
    assert "r2d2 restore part.parquet" in refused.value.hint
