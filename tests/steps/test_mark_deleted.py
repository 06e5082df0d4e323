"""Deleted tables are marked where the scan knows what was deleted, and only there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from r2d2.model.scan_settings import ScanSettings
from r2d2.model.table import Absent, Problem
from r2d2.model.versions import FileVersion
from r2d2.steps.mark_deleted import DeletedTable, below, has_files, keep_deleted, mark_deleted
from tests.support.priced_lakes import lake

SCAN = lake({"all": 10.0, "part": 2.0, "other": 5.0}, [("all", "part")])
(FILE,) = SCAN.tables[1].files
PART = DeletedTable("part", "part", "all", {"": (FILE.size_bytes, FILE.modified_ns)}, is_gone=True)


def test_a_deleted_table_is_marked_with_its_parents() -> None:
    marked = mark_deleted(SCAN, [PART], root="/lake")
    assert marked.absent == {"part": Absent("all")}
    assert marked.tables == SCAN.tables and marked.graph is SCAN.graph and not SCAN.absent


def test_a_table_in_danger_says_why() -> None:
    marked = mark_deleted(SCAN, [replace(PART, wrong="its parent has changed")], root="/lake")
    assert marked.absent["part"].says == "deleted, in danger: its parent has changed"


@pytest.mark.parametrize(
    "other",
    [
        {"is_gone": False},  # something lies at its place
        {"location": "elsewhere"},
        {"files": {"": (FILE.size_bytes + 1, FILE.modified_ns)}},  # it changed between the scan and its deletion
        {"files": {"": (FILE.size_bytes, FILE.modified_ns + 1)}},
        {"files": {"": PART.files[""], "part-1.parquet": (1, 1)}},
        {"files": {}},
    ],
)
def test_a_table_that_the_scan_does_not_know_as_it_was_deleted_is_skipped(other: dict[str, object]) -> None:
    assert mark_deleted(SCAN, [replace(PART, **other)], root="/lake").absent == {}  # type: ignore[arg-type]


def test_marks_of_an_earlier_time_go() -> None:
    before = replace(SCAN, absent={"other": Absent("all")})
    assert mark_deleted(before, [PART], root="/lake").absent.keys() == {"part"}
    assert mark_deleted(before, [], root="/lake").absent == {}


def test_files_are_compared_by_their_path_below_the_table() -> None:
    table = replace(SCAN.tables[0], location="/lake/all", files=(replace(FILE, path="/lake/all/x/part-0.parquet"),))
    assert has_files(table, {"x/part-0.parquet": (FILE.size_bytes, FILE.modified_ns)})
    assert not has_files(table, {"part-0.parquet": (FILE.size_bytes, FILE.modified_ns)})
    assert below("/lake/a", "/lake/a") == "" and below("/lake/a/b/c", "/lake/a") == "b/c"


# ---- an update keeps what can be rebuilt -----------------------------------------------------------------------------

NOW = lake({"all": 10.0, "other": 5.0}, [])
AWAY = {"part": Absent("all")}


def test_a_rebuildable_table_stays_between_the_others_by_name() -> None:
    kept = keep_deleted(NOW, replace(SCAN, overlaps=frozenset({("all", "part")})), AWAY)
    assert [table.name for table in kept.tables] == ["all", "other", "part"]
    assert [profile.table for profile in kept.profiles] == ["all", "other", "part"]
    assert kept.absent == AWAY and kept.unsampled == {"part"} and kept.overlaps == {("all", "part")}


def test_a_table_that_is_there_again_or_unreadable_there_is_not_kept_as_deleted() -> None:
    assert not keep_deleted(SCAN, SCAN, AWAY).absent
    broken = replace(NOW, problems=(Problem("part", "it ends before its footer"),))
    assert not keep_deleted(broken, SCAN, AWAY).absent


def test_nothing_is_kept_that_is_not_certain() -> None:
    assert keep_deleted(NOW, SCAN, {}) is NOW
    sampled = replace(NOW, settings=ScanSettings(verify=False))
    assert keep_deleted(sampled, SCAN, AWAY) is sampled
    unsettled = replace(FILE, version=FileVersion("part", "", settled=False))
    tables = tuple(replace(one, files=(unsettled,)) if one.name == "part" else one for one in SCAN.tables)
    assert not keep_deleted(NOW, replace(SCAN, tables=tables), AWAY).absent
