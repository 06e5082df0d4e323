"""`r2d2 plan`: what may go, what that saves, and why the rest stays, in words, in JSON and as a curve."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import HOSTILE, Command, Scanned

pytestmark = pytest.mark.spark


def plan(r2d2: Command, scanned: Scanned, *more: str) -> Any:
    done = r2d2("plan", "--state", scanned.state, "--min-age", "0", "--json", *more)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_the_extract_goes_and_a_condition_brings_it_back(r2d2: Command, scanned: Scanned) -> None:
    found = plan(r2d2, scanned)
    line = next(line for line in found["deletions"] if line["table"] == "extract.parquet")
    assert line["parent"] in ("sales", "half")  # both hold it
    assert (line["recipe"], line["rows"]) == ("predicate", 10)
    assert "WHERE" in line["sql"] and line["risk"] == "medium"
    assert found["proven_optimal"] and found["saved"] == pytest.approx(sum(d["saved"] for d in found["deletions"]))


def test_one_of_equal_tables_stays(r2d2: Command, scanned: Scanned) -> None:
    equal = {f"{name}.parquet" for name in HOSTILE}
    gone = {line["table"] for line in plan(r2d2, scanned)["deletions"]}
    assert len(equal - gone) == 1


def test_nothing_goes_that_something_deleted_is_rebuilt_from(r2d2: Command, scanned: Scanned) -> None:
    lines = plan(r2d2, scanned)["deletions"]
    assert not {line["table"] for line in lines} & {line["parent"] for line in lines}


def test_each_kept_table_says_why(r2d2: Command, scanned: Scanned) -> None:
    found = plan(r2d2, scanned, "--protect", "extract*")
    assert {"table": "extract.parquet", "because": "it is protected"} in found["kept"]
    young = r2d2("plan", "--state", scanned.state, "--json")
    assert not json.loads(young.out)["deletions"]
    assert "days ago" in json.loads(young.out)["kept"][0]["because"]


def test_people_read_a_table_and_a_sum(r2d2: Command, scanned: Scanned) -> None:
    done = r2d2("plan", "--state", scanned.state, "--min-age", "0")
    assert done.code == 0
    assert "What may go" in done.out and "saved" in done.out and "Azure Data Lake" in done.out
    assert "\x1b[31m" not in done.out


def test_the_curve_covers_a_year(r2d2: Command, scanned: Scanned) -> None:
    points = plan(r2d2, scanned, "--curve")
    assert {point["months"] for point in points} == set(range(1, 13))
    shown = r2d2("plan", "--state", scanned.state, "--min-age", "0", "--curve")
    assert "5 privacy requests a week" in shown.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--prices", "ibm"), "there are no prices 'ibm'"),
        (("--access", "log.txt"), "cannot tell what kind of log"),
        (("--horizon", "0"), "--horizon must be"),
        (("--latency", "-1"), "--latency must be"),
    ],
)
def test_what_the_user_can_fix_is_said_in_a_sentence(
    r2d2: Command, scanned: Scanned, arguments: tuple[str, ...], says: str
) -> None:
    done = r2d2("plan", "--state", scanned.state, *arguments)
    assert done.code == 2 and says in done.err and "Traceback" not in done.err
