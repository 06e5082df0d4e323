"""A proposal and a plan as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from r2d2.app.draft_plan import Draft
from r2d2.app.proposal import Planned, plan_lake
from r2d2.model.proposal import CurvePoint, LogMatch
from r2d2.model.table import Absent
from r2d2.report.plan import access_json, curve_json, plan_json
from r2d2.safety.plan import VERSION, Plan
from r2d2.settings import Settings
from tests.support.priced_lakes import NOW_NS, every_row, lake

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "plan.json").read_text())
PLAN = Plan(VERSION, "id", "2026-01-01T00:00:00Z", "/lake", 3, 300, (), "abc")


def planned() -> Planned:
    scan = lake({"a": 1.0, "b": 1.0, "c": 1.0}, [("a", "b"), ("b", "a"), ("a", "c")])
    return plan_lake(scan, every_row(scan), Settings(min_age=0), now_ns=NOW_NS)


def as_printed(document: Any) -> Any:
    return json.loads(json.dumps(document))


def test_the_document_has_the_fields_of_the_golden_file() -> None:
    found = as_printed(plan_json(planned(), Draft(PLAN, ()), "plan.json"))
    assert found.keys() == GOLDEN.keys() and found["plan"].keys() == GOLDEN["plan"].keys()
    assert found["deletions"][0].keys() == GOLDEN["deletions"][0].keys()
    assert found["plan"] == {
        "file": "plan.json",
        "plan_id": "id",
        "created": "2026-01-01T00:00:00Z",
        "lake": "/lake",
        "tables": 0,
        "bytes": 0,
        "sha256": "abc",
        "type_to_confirm": None,
    }


def test_a_plan_that_could_not_be_written_is_null_and_one_not_asked_for_is_left_out() -> None:
    assert plan_json(planned(), Draft(None, ()), "plan.json")["plan"] is None
    assert "plan" not in plan_json(planned(), None, "") and "left_out" not in plan_json(planned(), None, "")


def test_totals_are_the_sums_of_the_deletions() -> None:
    found = as_printed(plan_json(planned(), None, ""))
    assert found["tables"] == len(found["deletions"]) == 2
    for name in ("saved", "storage_saved", "maintenance_saved", "rows_not_scanned", "bytes_not_scanned"):
        assert found[name] == sum(line[name] for line in found["deletions"])


def test_an_access_log_and_deleted_tables_stand_beside_the_proposal() -> None:
    match = LogMatch("log.csv", lines=10, matched=4, not_scanned=2, unknown=("x",))
    found = as_printed(plan_json(replace(planned(), access=match, absent={"d": Absent("a")}), None, ""))
    assert found["access"] == as_printed(access_json(match)) and found["access"]["share"] == 0.5
    assert found["deleted"] == [{"table": "d", "parent": "a", "wrong": ""}]


def test_a_curve_is_a_list_of_points() -> None:
    point = CurvePoint(3, 0.5, 7, 1.25, "EUR")
    assert curve_json([point]) == [
        {"months": 3, "maintenance_per_week": 0.5, "tables": 7, "saved": 1.25, "currency": "EUR"}
    ]
