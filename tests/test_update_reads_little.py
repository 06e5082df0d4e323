"""An update reads what changed and what it may go with, and not what follows; what cannot be read is believed no more."""

from __future__ import annotations

import mmap
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.flows.update import Update
from r2d2.model.scan import Scan
from r2d2.model.table import Absent, DataFile
from r2d2.pipeline import update
from r2d2.report.edges import EdgeRow, standing_edges
from r2d2.settings import Settings
from r2d2.steps import prune_by_content, verify_containment
from r2d2.steps.leave_out_absent import leave_out_absent
from tests.support.in_process import Reader
from tests.test_updates import assert_founded, assert_same

FEW = {"few": Absent("all")}
OLD_NS = 1_600_000_000_123_456_789


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables here are tiny; treat them as if comparing two were work."""
    monkeypatch.setattr(prune_by_content, "WITHIN", 0.0)
    monkeypatch.setattr(verify_containment, "SMALL_ROWS", 0)


class Lake:
    """A folder of tables with one column, and its newest scan."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._time = OLD_NS
        self.scan = Scan(())
        self.reader = Reader()

    def write(self, name: str, ids: Sequence[Any], part: int = 0, **columns: Any) -> Path:
        path = self.folder / name / f"part-{part}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": ids, **columns}), path, compression="zstd")
        return self.stamp(path)

    def stamp(self, path: Path) -> Path:
        self._time += 1_000_000_007
        os.utime(path, ns=(self._time, self._time))
        return path

    def begin(self) -> None:
        self.scan = replace(Reader().scan(str(self.folder), Settings()), run="first")

    def update(self, **options: Any) -> Update:
        """Update, hold the result against a scan from scratch, and go on from there."""
        self.reader = Reader()
        done = update(self.scan, settings=Settings(), tools=self.reader.tools, **options)
        assert_same(Reader().scan(str(self.folder), Settings()), leave_out_absent(done.scan))
        assert_founded(done.scan)
        self.scan = replace(done.scan, run=f"after {self.scan.run}")
        return done

    def edges(self) -> set[tuple[str, str]]:
        return {(row.parent, row.child) for row in standing_edges(self.scan)}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake")
    made.write("all", range(100))
    made.write("most", range(60))
    made.write("few", range(20))
    made.write("other", [1, 2], extra=[1, 2])
    made.begin()
    return made


def test_nothing_is_read_if_nothing_changed(lake: Lake) -> None:
    done = lake.update()
    assert not done.changes and not done.is_news
    assert (lake.reader.read, lake.reader.profiled) == (set(), [])
    assert done.kept_edges == len(done.scan.graph or ())


def test_only_footers_of_changed_tables_are_read(lake: Lake) -> None:
    lake.write("new", [5, 700])
    lake.update()
    assert lake.reader.profiled == ["new"]


def test_a_deleted_table_costs_nothing(lake: Lake) -> None:
    shutil.rmtree(lake.folder / "few")
    done = lake.update()
    assert lake.reader.read == set()
    assert ("all", "few") in done.lost and not done.gained


def test_a_renamed_table_keeps_its_edges_unread(lake: Lake) -> None:
    (lake.folder / "few").rename(lake.folder / "a few")
    lake.update()
    assert lake.reader.read == set()
    assert ("most", "a few") in lake.edges()


def test_a_new_table_is_not_compared_with_what_holds_its_parent(lake: Lake) -> None:
    lake.write("new", range(19, 60))
    lake.update()
    assert {("most", "new"), ("all", "new")} <= lake.edges()
    assert lake.reader.read == {"new", "most"}


def test_a_copy_is_compared_with_one_of_its_equals(lake: Lake) -> None:
    for name in ("a", "b", "c"):
        lake.write(name, ["x", "y", None])
    lake.update()
    lake.write("d", ["y", "x", None])
    lake.update()
    assert len(lake.reader.read) == 2
    assert {(one, two) for one in "abcd" for two in "abcd" if one != two} <= lake.edges()


def test_rows_that_are_appended_to_a_parent_change_no_edge_to_a_child(lake: Lake) -> None:
    lake.write("all", range(200, 210), part=1)
    lake.update()
    assert lake.reader.read == {"all"}  # its new file, to see that it can be read
    assert {("all", "most"), ("all", "few")} <= lake.edges()


def test_an_appended_copy_may_make_a_set_a_bag(lake: Lake) -> None:
    lake.write("twice", [*range(30), *range(30)])
    lake.update()
    rows = {(row.parent, row.child): row for row in standing_edges(lake.scan)}
    assert rows["all", "twice"].bag is False
    lake.write("all", range(30), part=1)
    lake.update()
    rows = {(row.parent, row.child): row for row in standing_edges(lake.scan)}
    assert rows["all", "twice"].bag is True


def test_a_table_between_two_that_goes_leaves_no_evidence_behind(lake: Lake) -> None:
    shutil.rmtree(lake.folder / "most")
    lake.update()  # assert_founded looks at the evidence
    assert ("all", "few") in lake.edges()
    assert "most" not in " ".join(row.because for row in standing_edges(lake.scan))


def test_edges_say_since_when_they_stand(lake: Lake) -> None:
    lake.write("new", [3])
    lake.update()
    since = {(row.parent, row.child): row.since for row in standing_edges(lake.scan)}
    assert since["all", "few"] == "first" and since["most", "new"] == "after first"
    lake.write("newer", [4])
    lake.update()
    since = {(row.parent, row.child): row.since for row in standing_edges(lake.scan)}
    assert since["all", "few"] == "first" and since["most", "new"] == "after first"
    assert since["most", "newer"] == "after after first"


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4:24] = b"\xff" * 20
    path.write_bytes(content)


def test_a_table_that_turns_out_unreadable_loses_the_edges_it_had(lake: Lake) -> None:
    """Its files look as they did, so only an update that needs its rows can notice."""
    path = lake.folder / "most" / "part-0.parquet"
    before = path.stat()
    damage(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    lake.write("new", range(55, 60))
    done = lake.update()
    assert [problem.where for problem in done.scan.problems] == ["most"]
    assert not any("most" in pair for pair in lake.edges())


def test_a_first_store_through_a_memory_map_is_noticed(lake: Lake) -> None:
    """Later ones may not be: docs/operations.md says so."""
    with open(lake.folder / "most" / "part-0.parquet", "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0] = mapped[0]
        done = lake.update()
    assert [(one.table, str(one.change)) for one in done.changes.changed] == [("most", "replaced")]


@pytest.mark.parametrize("content", [lambda old: old[:-9], lambda old: b"", lambda old: b"no Parquet" * 9])
def test_a_table_that_becomes_unreadable_is_not_called_deleted(lake: Lake, content: Any) -> None:
    path = lake.folder / "most" / "part-0.parquet"
    path.write_bytes(content(path.read_bytes()))
    done = lake.update()
    (one,) = done.changes.changed
    (problem,) = done.scan.problems
    assert (one.table, str(one.change)) == ("most", "unreadable")
    assert one.because == f"it can no longer be read: {problem.because}"
    assert not any("most" in pair for pair in lake.edges())
    assert not lake.update().changes, "that is no news the second time"
    lake.write("most", range(60))
    assert [(str(one.change), one.because) for one in lake.update().changes.changed] == [
        ("new", "it could not be read before")
    ]


def test_a_table_that_cannot_be_read_holds_not_even_a_table_without_rows(lake: Lake) -> None:
    lake.write("none", pa.array([], pa.int64()))
    lake.update()
    assert ("most", "none") in lake.edges()
    damage(lake.folder / "most" / "part-0.parquet")
    lake.stamp(lake.folder / "most" / "part-0.parquet")
    assert lake.update().scan.needs_a_look
    assert not any("most" in pair for pair in lake.edges()) and ("all", "none") in lake.edges()


def test_a_table_that_was_unreadable_and_is_mended_gets_its_edges_back(lake: Lake) -> None:
    before = lake.edges()
    damage(lake.folder / "most" / "part-0.parquet")
    lake.stamp(lake.folder / "most" / "part-0.parquet")
    assert lake.update().scan.needs_a_look
    lake.write("most", range(60))
    assert not lake.update().scan.needs_a_look
    assert lake.edges() == before


def test_a_damaged_file_that_is_appended_is_noticed(lake: Lake) -> None:
    damage(lake.write("all", range(200, 210), part=1))
    lake.stamp(lake.folder / "all" / "part-1.parquet")
    assert [problem.where for problem in lake.update().scan.problems] == ["all"]


def test_a_rebuildable_table_stays_with_the_edges_that_are_still_true(lake: Lake) -> None:
    shutil.rmtree(lake.folder / "few")
    lake.write("new", [1])
    done = lake.update(rebuildable=FEW)
    assert {("all", "few"), ("most", "few"), ("most", "new")} <= lake.edges()
    assert ("few", "new") not in lake.edges(), "its rows are not there to be asked"
    assert not done.lost and [str(one.change) for one in done.changes.changed] == ["new", "deleted"]
    assert "can be rebuilt from all" in done.changes.changed[1].because
    lake.write("most", range(50, 90))
    lake.update(rebuildable=FEW)
    assert ("most", "few") not in lake.edges() and ("all", "few") in lake.edges()
    lake.update()
    assert not any("few" in pair for pair in lake.edges())


def test_a_table_that_comes_back_is_held_against_what_came_while_it_was_away(lake: Lake) -> None:
    """Its files are the very same: only the state knows that it was away."""
    aside = lake.folder.parent / "few"
    (lake.folder / "few").rename(aside)
    lake.write("new", [1])
    lake.update(rebuildable=FEW)
    assert ("few", "new") not in lake.edges()
    aside.rename(lake.folder / "few")
    done = lake.update()
    assert ("few", "new") in lake.edges() and ("all", "few") in lake.edges()
    assert [one.because for one in done.changes.changed] == ["it was deleted, and is there again"]
    assert not lake.update().is_news


def test_a_table_that_comes_back_under_another_name_is_asked_anew(lake: Lake) -> None:
    aside = lake.folder.parent / "few"
    (lake.folder / "few").rename(aside)
    lake.write("new", [1])
    lake.update(rebuildable=FEW)
    aside.rename(lake.folder / "again")
    lake.update()
    assert ("again", "new") in lake.edges() and ("all", "again") in lake.edges()


def test_a_deleted_table_keeps_an_edge_whose_proof_led_through_a_table_that_is_gone(lake: Lake) -> None:
    def edge() -> EdgeRow:
        return next(row for row in standing_edges(lake.scan) if (row.parent, row.child) == ("all", "new"))

    new = {"new": Absent("all")}
    lake.write("new", range(19, 60))
    lake.update()
    assert "the child is in most" in edge().because
    shutil.rmtree(lake.folder / "new")
    lake.update(rebuildable=new)
    assert "the child is in most" in edge().because
    shutil.rmtree(lake.folder / "most")
    lake.update(rebuildable=new)
    assert edge().because == "each of the child's 41 rows is in the parent"
    assert edge().child_deleted == "deleted, can be rebuilt from all" and edge().parent_deleted is None


def unsettled(file: DataFile) -> DataFile:
    return replace(file, version=file.version._replace(settled=False))


def test_a_deleted_table_that_was_in_doubt_or_known_by_samples_only_is_forgotten(lake: Lake) -> None:
    shutil.rmtree(lake.folder / "few")
    listed = lake.scan
    tables = [replace(table, files=tuple(map(unsettled, table.files))) for table in listed.tables]
    lake.scan = replace(listed, tables=tuple(tables))
    assert not lake.update(rebuildable=FEW).scan.absent
    unverified = Settings(verify=False)
    lake.scan = replace(Reader().scan(str(lake.folder), unverified), run="first")
    done = update(lake.scan, settings=unverified, tools=Reader().tools, rebuildable=FEW)
    assert not done.scan.absent
