"""The journal's facts, by the tables of a scan."""

from __future__ import annotations

from dataclasses import replace

from r2d2.app.deletions import Deletions, is_as_seen, open_deletions
from r2d2.app.workspace import Workspace
from r2d2.model.table import Absent
from r2d2.safety.doctor import BAD, NOTE, Finding
from r2d2.safety.locked_lake import hold, posix_files
from r2d2.safety.paths import slot_of
from r2d2.safety.records import Drilled
from r2d2.safety.snapshots import see_table
from tests.app.conftest import PLAN, SmallLake


def test_deleted_tables_are_known_by_what_they_were(deleted: SmallLake) -> None:
    with open_deletions(str(deleted.path)) as found:
        (one,) = found.tables
        assert (one.name, one.location, one.parents, one.is_gone) == (
            "part.parquet",
            "part.parquet",
            "all.parquet",
            True,
        )
        assert found.root == str(deleted.path) and len(found.registry.active) == 1


def test_where_nothing_was_deleted_there_are_no_facts(small: SmallLake) -> None:
    with open_deletions(str(small.path)) as found:
        assert found.tables == () and not found.registry.slots
        assert found.absent(Workspace(small.settings).newest()) == {}


def test_a_finding_of_the_doctor_puts_its_table_in_danger(deleted: SmallLake) -> None:
    scan = Workspace(deleted.settings).newest()
    findings = [Finding(BAD, "parent", "part.parquet", "its parent is gone"), Finding(NOTE, "lock", "", "in use")]
    with open_deletions(str(deleted.path)) as found:
        assert found.absent(scan) == {"part.parquet": Absent("all.parquet")}
        assert found.absent(scan, findings) == {"part.parquet": Absent("all.parquet", "its parent is gone")}
        assert found.absent(scan, findings[1:]) == {"part.parquet": Absent("all.parquet")}


def test_a_table_that_somebody_put_back_is_not_marked(deleted: SmallLake) -> None:
    deleted.write("part.parquet", range(3, 8))
    assert Workspace(deleted.settings).scan().absent == {}


def test_a_plan_learns_of_drills_pins_and_tables_that_are_gone(deleted: SmallLake) -> None:
    scan = Workspace(deleted.settings).newest()
    with posix_files(str(deleted.path)) as files:
        with hold(files) as lake:
            lake.write(Drilled(slot_of(PLAN, "part.parquet"), "", 7.5, lake.now()))
        past = Deletions(files).past(scan)
    parent, child = scan.number_of["all.parquet"], scan.number_of["part.parquet"]
    assert past.measured_seconds == {(parent, child): 7.5}
    assert past.parents_of_deleted == {"all.parquet": "part.parquet"} and past.deleted == {"part.parquet"}


def test_a_table_is_as_seen_by_size_and_time(small: SmallLake) -> None:
    scan = Workspace(small.settings).newest()
    table = scan.tables[scan.number_of["all.parquet"]]
    with posix_files(str(small.path)) as files:
        seen = see_table(files, "all.parquet", "all.parquet")
    assert is_as_seen(table, seen)
    (file,) = table.files
    assert not is_as_seen(replace(table, files=(replace(file, modified_ns=1),)), seen)
    assert not is_as_seen(replace(table, files=()), seen)
