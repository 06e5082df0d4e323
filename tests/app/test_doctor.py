"""The doctor names each deleted table that may not come back."""

from __future__ import annotations

from r2d2.app.doctor import doctor_lake, findings_in
from r2d2.app.status import lake_status
from r2d2.app.workspace import Workspace
from r2d2.safety.doctor import BAD
from r2d2.safety.locked_lake import posix_files
from r2d2.safety.recovery import Recovered
from tests.app.conftest import SmallLake


def wrong(lake: SmallLake, *, deep: bool) -> list[str]:
    return [one.table for one in doctor_lake(Workspace(lake.settings), deep=deep)[1] if one.severity == BAD]


def test_a_parent_that_changed_is_found_and_the_status_counts_it(deleted: SmallLake) -> None:
    assert doctor_lake(Workspace(deleted.settings), deep=True)[0] == () and wrong(deleted, deep=True) == []
    deleted.write("all.parquet", range(19))
    assert wrong(deleted, deep=False) == ["part.parquet"]
    assert lake_status(Workspace(deleted.settings), now=0.0).wrong == 1


def test_a_table_that_recovery_could_not_settle_is_wrong_once(deleted: SmallLake) -> None:
    stuck = Recovered("other.parquet", "", "something else lies there")
    with posix_files(str(deleted.path)) as files:
        (found,) = (one for one in findings_in(files, [stuck], deep=False) if one.severity == BAD)
        assert (found.table, found.what, found.because) == ("other.parquet", "pending", "something else lies there")
        settled = Recovered("other.parquet", "the deletion was undone", "it was interrupted")
        assert not [one for one in findings_in(files, [settled], deep=False) if one.severity == BAD]
