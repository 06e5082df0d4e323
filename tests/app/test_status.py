"""The status says where each deleted table is, and what was saved."""

from __future__ import annotations

import time
from dataclasses import replace

from r2d2.app.status import lake_status
from r2d2.app.workspace import Workspace
from tests.app.conftest import SmallLake


def test_a_deleted_table_is_in_quarantine_until_its_time_is_over(deleted: SmallLake) -> None:
    settings = replace(deleted.settings, retention=10.0)
    found = lake_status(Workspace(settings), now=time.time())
    (table,) = found.status.tables
    assert (table.table, table.place, table.parent) == ("part.parquet", "quarantine", "all.parquet")
    assert table.purge_from == table.since + 10 * 86_400
    assert found.status.pins == (("all.parquet", 1),) and found.recovered == () and found.wrong == 0


def test_maintenance_is_saved_from_the_deletion_on_and_storage_from_the_purge(deleted: SmallLake) -> None:
    week = 7 * 86_400
    now = lake_status(Workspace(deleted.settings), now=0.0).status.tables[0].since
    saved = lake_status(Workspace(deleted.settings), now=now + week).saved
    assert saved.maintenance > 0 and saved.storage == 0 and saved.rebuilds == 0
    assert saved.rows_not_scanned == round(5 * deleted.settings.maintenance_per_week)


def test_where_nothing_was_deleted_there_is_nothing_to_say(small: SmallLake) -> None:
    found = lake_status(Workspace(small.settings), now=time.time())
    assert found.status.tables == () and found.saved.total == 0
