"""A copy in quarantine goes only if its table was drilled and its time is over."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from r2d2.app.drill import drill_tables
from r2d2.app.forget import forget_tables
from r2d2.app.purge import overdue, purge_tables
from r2d2.app.status import table_states
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.safety.errors import Refused
from r2d2.safety.locked_lake import Clock, hold, posix_files
from r2d2.safety.paths import SAFETY, slot_of
from r2d2.safety.records import Drilled
from tests.app.conftest import PLAN, SmallLake


def drilled(lake: SmallLake) -> SmallLake:
    """The lake with a drill of its deleted table in the journal."""
    with posix_files(str(lake.path)) as files, hold(files) as held:
        held.write(Drilled(slot_of(PLAN, "part.parquet"), "", 1.0, held.now()))
    return lake


def test_a_table_that_was_not_drilled_stays_in_quarantine_and_needs_a_look(deleted: SmallLake) -> None:
    workspace = Workspace(replace(deleted.settings, retention=0.0))
    _, (one,) = purge_tables(workspace)
    assert not one.is_purged and "drill" in one.because
    assert overdue(workspace, [one], now=time.time() + 1)


def test_a_drilled_table_is_purged_when_its_time_is_over(deleted: SmallLake) -> None:
    drilled(deleted)
    _, (early,) = purge_tables(Workspace(deleted.settings))
    assert not early.is_purged and not overdue(Workspace(deleted.settings), [early], now=time.time())
    later = Clock(now=lambda: time.time() + 31 * 86_400)
    _, (one,) = purge_tables(Workspace(deleted.settings, clock=later))
    assert one.is_purged and one.freed_bytes > 0 and not overdue(Workspace(deleted.settings), [one], now=time.time())
    assert [table.state for table in table_states(Workspace(deleted.settings)).tables] == ["purged"]


def test_only_a_lost_table_is_given_up(deleted: SmallLake) -> None:
    with pytest.raises(Refused, match="is not lost"):
        forget_tables(Workspace(deleted.settings), ["part.parquet"], approved_by="Ann")
    purge_tables(Workspace(replace(drilled(deleted).settings, retention=0.0)))
    deleted.write("all.parquet", range(2))
    _, (one,) = forget_tables(Workspace(deleted.settings), ["part.parquet"], approved_by="Ann")
    assert one.table == "part.parquet"
    assert [table.place for table in table_states(Workspace(deleted.settings)).tables] == ["nowhere"]
    assert not Workspace(deleted.settings).scan().absent


def test_where_nothing_was_deleted_nothing_is_done_and_nothing_written(small: SmallLake) -> None:
    workspace = Workspace(small.settings)
    assert purge_tables(workspace) == drill_tables(workspace) == ((), ())
    with pytest.raises(UserError, match="nothing was ever deleted"):
        drill_tables(workspace, ["part.parquet"])
    with pytest.raises(UserError, match="nothing was ever deleted"):
        forget_tables(workspace, ["part.parquet"], approved_by="Ann")
    assert not (small.path / SAFETY).exists()
