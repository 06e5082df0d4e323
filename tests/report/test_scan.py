"""The figures of a scan."""

from __future__ import annotations

import json
from dataclasses import replace

from r2d2.model.table import Absent, Problem
from r2d2.report.scan import DeletedTable, deleted_tables, scan_report, worst_first
from tests.state.scans import plain_scan


def test_a_deleted_table_counts_among_the_edges_and_not_among_the_tables() -> None:
    scan = plain_scan(3)
    name = scan.tables[0].name
    report = scan_report(replace(scan, absent={name: Absent("parent", "it was changed")}), "somewhere")
    assert (report.tables, report.edges, report.rows, report.state) == (2, 6, 10, "somewhere")
    assert report.deleted == (DeletedTable(name, "parent", "it was changed"),)


def test_its_document_is_plain_json() -> None:
    scan = plain_scan(2)
    document = json.loads(json.dumps(scan_report(scan, "s").to_json()))
    assert document["roots"] == list(scan.roots)
    assert document["funnel"][1] == {"step": "x", "left": 1, "unit": "edges", "seconds": 1e-9, "dropped": {"range": 3}}


def test_deleted_tables_stand_by_name_and_say_how_they_are() -> None:
    found = deleted_tables({"b": Absent("p"), "a": Absent("p", "gone")})
    assert [one.says for one in found] == ["deleted, in danger: gone", "deleted, can be rebuilt from p"]


def test_the_worst_problem_comes_first_and_the_order_is_else_kept() -> None:
    kinds = ("notice", "unsupported", "unreadable", "something new", "unreadable")
    problems = [Problem(str(number), "", kind=kind) for number, kind in enumerate(kinds)]
    assert [problem.where for problem in worst_first(problems)] == ["2", "4", "1", "0", "3"]
