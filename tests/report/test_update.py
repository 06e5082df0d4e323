"""The figures of an update."""

from __future__ import annotations

from dataclasses import replace

from r2d2.flows.update import Update
from r2d2.model.scan import Scan
from r2d2.model.table import Problem
from r2d2.report.update import NamedEdge, changes_in_words, update_report
from r2d2.safety.doctor import BAD, Finding
from r2d2.steps.find_changes import Change, Changes, TableChange
from tests.state.scans import plain_scan


def changed(*kinds: Change) -> Changes:
    return Changes((), (), tuple(TableChange(f"t{n}", kind, "why") for n, kind in enumerate(kinds)))


def test_it_is_the_report_of_the_scan_with_what_changed() -> None:
    old, new = replace(plain_scan(2), run="first"), replace(plain_scan(3), run="second")
    danger = Finding(BAD, "parent", "t", "because")
    report = update_report(Update(old, new, changed(Change.NEW), 2, 4), "s", [danger])
    assert (report.run, report.previous, report.tables, report.edges) == ("second", "first", 3, 6)
    assert (report.kept_edges, report.asked_pairs, report.endangered) == (2, 4, (danger,))
    assert len(report.gained) == 4 and NamedEdge("folder/t0", "folder/t2") in report.gained and not report.lost
    assert list(report.to_json()["changed"]) == [{"table": "t0", "change": "new", "because": "why", "before": ""}]


def test_changes_are_counted_by_kind() -> None:
    scan = plain_scan(2)

    def words(*kinds: Change) -> str:
        return changes_in_words(Update(scan, scan, changed(*kinds), 0, 0))

    assert words(Change.NEW, Change.GROWN, Change.NEW) == "2 new, 1 grown"
    assert words() == "nothing has changed"


def test_a_new_file_that_cannot_be_read_is_a_change_and_one_known_as_such_is_none() -> None:
    whole = plain_scan(2)
    broken = replace(whole, problems=(Problem("broken.parquet", "it is cut"), Problem("csv", "", kind="unsupported")))

    def words(old: Scan, new: Scan, *kinds: Change) -> str:
        return changes_in_words(Update(old, new, changed(*kinds), 0, 0))

    assert words(whole, broken) == "1 new and unreadable"
    assert words(whole, broken, Change.GROWN) == "1 grown, 1 new and unreadable"
    assert words(broken, broken) == "nothing has changed"
    assert words(broken, whole) == "no table has changed"  # a broken file is gone
    gone = replace(whole, problems=(Problem("t0", "it is cut"),))
    assert words(whole, gone, Change.UNREADABLE) == "1 unreadable"  # named once
