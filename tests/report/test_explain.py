"""The evidence trail of a pair."""

from __future__ import annotations

import json

import pytest

from r2d2.model.evidence import Evidence, Verdict
from r2d2.report.explain import Explanation, MissingRow

TRAIL = (Evidence("build_schema_graph", Verdict.POSSIBLE, "columns"), Evidence("x", Verdict.IMPOSSIBLE, "rows"))


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (Verdict.IMPOSSIBLE, "c is not contained in p"),
        (Verdict.POSSIBLE, "c may be contained in p"),
        (Verdict.PROVEN, "c is contained in p"),
    ],
)
def test_the_last_check_decides_what_is_said(verdict: Verdict, says: str) -> None:
    found = Explanation("p", "c", (*TRAIL, Evidence("last", verdict, "why")))
    assert (found.says, found.verdict, found.because) == (says, verdict, "why")


def test_the_document_has_the_trail_and_the_missing_row() -> None:
    row = MissingRow((("id", "7"), ("name", None)))
    document = json.loads(json.dumps(Explanation("p", "c", TRAIL, row, {"c": "deleted"}).to_json()))
    assert document == {
        "parent": "p",
        "child": "c",
        "verdict": "IMPOSSIBLE",
        "because": "rows",
        "trail": [
            {"check": "build_schema_graph", "verdict": "POSSIBLE", "because": "columns", "reasons": []},
            {"check": "x", "verdict": "IMPOSSIBLE", "because": "rows", "reasons": []},
        ],
        "deleted": {"c": "deleted"},
        "missing_row": [{"column": "id", "value": "7"}, {"column": "name", "value": None}],
    }


def test_values_are_null_if_nobody_asked_and_empty_if_none_is_missing() -> None:
    assert Explanation("p", "c", TRAIL).to_json()["missing_row"] is None
    assert Explanation("p", "c", TRAIL, MissingRow(())).to_json()["missing_row"] == []
