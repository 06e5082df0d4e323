"""Tables that were deleted and can be rebuilt: every command that shows the graph knows them, until they are back."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import r2d2 as package
from tests.cli.conftest import Command, Done, write
from tests.cli.test_apply import PLAN, Lake, apply, put
from tests.cli.test_apply import plan as plan_file
from tests.cli.test_update import old
from tests.test_updates import assert_founded, assert_same

SAYS = "deleted, can be rebuilt from big"
BIG = pa.table({"id": list(range(100)), "name": [f"n{number}" for number in range(100)]})
EXTRACTS = {"one.parquet": (10, 30), "two.parquet": (15, 10)}  # the second is in the first
GONE = set(EXTRACTS)


@pytest.fixture
def lake(spark: Any, tmp_path: Path, r2d2: Command) -> Lake:
    """A parent with two extracts, one of which holds a part of the other, and a table of its own; scanned."""
    put(BIG, tmp_path / "lake" / "big", files=2)
    for name, (first, count) in EXTRACTS.items():
        put(BIG.slice(first, count), tmp_path / "lake" / name)
    put(pa.table({"day": ["monday"]}), tmp_path / "lake" / "other.parquet")
    old(tmp_path / "lake")
    made = Lake(tmp_path / "lake", tmp_path / "state")
    assert r2d2("scan", made.path, "--state", made.state).code == 0
    return made


@pytest.fixture
def deleted(lake: Lake, r2d2: Command) -> Lake:
    out, _ = plan_file(r2d2, lake)
    assert apply(r2d2, lake, out).code == 0
    assert not any(lake.table(name).exists() for name in GONE)
    return lake


def told(done: Done) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)


def edges(r2d2: Command, lake: Lake) -> dict[tuple[str, str], dict[str, Any]]:
    found = told(r2d2("edges", "--state", lake.state, "--json"))
    return {(one["parent"], one["child"]): one for one in found}


def assert_a_scan_says_the_same(lake: Lake, spark: Any) -> None:
    """Of the tables that are there."""
    from r2d2.app.scan import scan_lake
    from r2d2.app.workspace import Workspace
    from r2d2.settings import Settings
    from r2d2.steps.leave_out_absent import leave_out_absent

    fresh = lake.state.parent / "fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    updated = package.open_state(lake.state).scan
    assert_same(
        scan_lake(Workspace(Settings(state=str(fresh)), spark=spark), [str(lake.path)]), leave_out_absent(updated)
    )
    assert_founded(updated)


def test_a_deleted_table_is_shown_with_its_edges_until_it_is_restored(r2d2: Command, deleted: Lake, spark: Any) -> None:
    state = ("--state", deleted.state)
    assert edges(r2d2, deleted)["big", "one.parquet"]["child_deleted"] == SAYS  # before any update
    updated = told(r2d2("update", *state, "--json"))
    assert {one["table"] for one in updated["changed"]} == GONE and not updated["lost"]
    assert all("stays in the graph" in one["because"] for one in updated["changed"])
    assert {one["table"]: one["parent"] for one in updated["deleted"]} == dict.fromkeys(GONE, "big")
    assert updated["tables"] == 2 and updated["rows"] == 101 and not updated["endangered"]
    again = told(r2d2("update", *state, "--json"))
    assert again["run"] == updated["run"] and again["deleted"] == updated["deleted"] and not again["changed"]

    found = edges(r2d2, deleted)
    assert found.keys() == {("big", "one.parquet"), ("big", "two.parquet"), ("one.parquet", "two.parquet")}
    assert {one["child_deleted"] for one in found.values()} == {SAYS}
    assert found["one.parquet", "two.parquet"]["parent_deleted"] == SAYS
    assert found["big", "one.parquet"]["parent_deleted"] is None
    assert SAYS in r2d2("edges", *state).out and SAYS in r2d2("edges", *state, "--format", "csv").out
    explained = told(r2d2("explain", *state, "big", "one.parquet", "--json"))
    assert explained["deleted"] == {"one.parquet": SAYS} and explained["verdict"] == "PROVEN"
    assert f"one.parquet: {SAYS}" in r2d2("explain", *state, "big", "one.parquet").out
    planned = told(r2d2("plan", *state, "--json", *PLAN))
    assert not planned["deletions"] and not planned["kept"] and planned["lake_tables"] == 2
    assert {one["table"] for one in planned["deleted"]} == GONE
    assert SAYS in r2d2("plan", *state, *PLAN).out
    standing = told(r2d2("status", *state, "--json"))
    assert {one["table"]: one["state"] for one in standing["tables"]} == dict.fromkeys(GONE, "quarantined")
    assert package.open_state(deleted.state).deleted == dict.fromkeys(sorted(GONE), SAYS)
    assert_a_scan_says_the_same(deleted, spark)

    write(deleted.table("new.parquet"), id=[17], name=["n17"])
    old(deleted.path)
    gained = told(r2d2("update", *state, "--json"))["gained"]
    assert gained == [{"parent": "big", "child": "new.parquet"}]
    assert "its rows could not be compared" in r2d2("explain", *state, "one.parquet", "new.parquet").out
    assert_a_scan_says_the_same(deleted, spark)

    assert r2d2("restore", *state, "--all").code == 0
    for name, (first, count) in EXTRACTS.items():
        assert pq.read_table(deleted.table(name)) == BIG.slice(first, count)
    back = told(r2d2("update", *state, "--json"))
    assert {one["because"] for one in back["changed"]} == {"it was deleted, and is there again"}
    assert back["tables"] == 5 and not back["deleted"]
    found = edges(r2d2, deleted)
    assert ("one.parquet", "new.parquet") in found and ("two.parquet", "new.parquet") in found
    assert all(one["child_deleted"] is None and one["parent_deleted"] is None for one in found.values())
    assert_a_scan_says_the_same(deleted, spark)
    assert told(r2d2("plan", *state, "--json", *PLAN))["deletions"]


def test_what_is_deleted_is_neither_planned_again_nor_read_by_other_commands(
    r2d2: Command, deleted: Lake, spark: Any
) -> None:
    state = ("--state", deleted.state)
    put(pa.table({"id": [16, 17], "name": ["n16", "n17"]}), deleted.table("three.parquet"))
    old(deleted.path)
    assert r2d2("update", *state).code == 0
    out, planned = plan_file(r2d2, deleted, "second.json")
    assert [(one["table"], one["parent"]) for one in planned["deletions"]] == [("three.parquet", "big")]
    assert [entry["child"]["name"] for entry in json.loads(out.read_text())["entries"]] == ["three.parquet"]
    assert json.loads(out.read_text())["lake_tables"] == 3
    inferred = told(r2d2("recipe", "infer", *state, "--json"))
    assert [(one["parent"], one["child"]) for one in inferred] == [("big", "three.parquet")]
    for refused in (
        r2d2("recipe", "infer", "big", "one.parquet", *state),
        r2d2("recipe", "set", "big", "one.parquet", "SELECT id, name FROM big WHERE id < 3", *state),
    ):
        assert refused.code == 2 and SAYS in refused.err and "r2d2 restore one.parquet" in refused.err
    asked = r2d2("find", deleted.table("three.parquet"), *state, "--json")
    assert asked.code == 1 and {one["table"] for one in json.loads(asked.out)["contained_in"]} == {"big"}
    assert r2d2("plan", *state, "--curve", "--json", *PLAN).code == 0

    # Something new at the place of a deleted table is a table like any other.
    write(deleted.table("one.parquet"), id=[1, 500], name=["n1", "n500"])
    old(deleted.path)
    assert [one["table"] for one in told(r2d2("update", *state, "--json"))["deleted"]] == ["two.parquet"]
    assert edges(r2d2, deleted).keys() == {("big", "two.parquet"), ("big", "three.parquet")}
    assert_a_scan_says_the_same(deleted, spark)


def test_an_update_that_endangers_a_deleted_table_is_loud_and_what_is_shown_says_so(
    r2d2: Command, deleted: Lake
) -> None:
    state = ("--state", deleted.state)
    assert r2d2("update", *state).code == 0
    part = deleted.table("big") / "part-1.parquet"
    pq.write_table(pa.table({"id": [1], "name": ["other"]}), part)
    os.utime(part, ns=(10**18 + 9, 10**18 + 9))
    done = r2d2("update", *state, "--json")
    answer = json.loads(done.out)
    assert done.code == 1 and {one["table"] for one in answer["endangered"]} == GONE
    assert all("its parent has changed" in one["wrong"] for one in answer["deleted"])
    assert {(one["parent"], one["child"]) for one in answer["lost"]} == {("big", name) for name in GONE}
    found = edges(r2d2, deleted)
    assert found.keys() == {("one.parquet", "two.parquet")}
    assert "deleted, in danger" in found["one.parquet", "two.parquet"]["child_deleted"]
    loud = r2d2("update", *state)
    assert loud.code == 1 and loud.out.count("one.parquet") == 1 and "in danger" in loud.out
    assert r2d2("restore", *state, "--all").code == 0
    assert r2d2("update", *state).code == 0


def test_a_danger_is_said_at_every_update_even_if_only_bytes_tell(r2d2: Command, deleted: Lake) -> None:
    """A parent that was rewritten with other rows, as large as before."""
    state = ("--state", deleted.state)
    assert r2d2("update", *state).code == 0
    part = deleted.table("big") / "part-1.parquet"
    size, rows = part.stat().st_size, pq.read_table(part)
    put(rows.set_column(0, "id", pc.add(rows["id"], 1)), part)
    assert part.stat().st_size == size
    os.utime(part, ns=(10**18 + 9, 10**18 + 9))
    for _ in range(2):
        done = r2d2("update", *state, "--json")
        answer = json.loads(done.out)
        assert done.code == 1 and {one["table"] for one in answer["endangered"]} == GONE
        assert all("holds other bytes" in one["wrong"] for one in answer["deleted"])
    assert "deleted, in danger" in edges(r2d2, deleted)["one.parquet", "two.parquet"]["child_deleted"]


def test_a_table_that_was_not_what_the_state_knows_when_it_went_is_not_believed(
    r2d2: Command, lake: Lake, spark: Any, tmp_path: Path
) -> None:
    """Another state of the same lake has an older scan."""
    other = Lake(lake.path, tmp_path / "other state")
    assert r2d2("scan", other.path, "--state", other.state).code == 0
    write(lake.table("two.parquet"), id=[1], name=["n1"])
    os.utime(lake.table("two.parquet"), ns=(10**18 + 9, 10**18 + 9))
    assert r2d2("update", "--state", lake.state).code == 0
    out, _ = plan_file(r2d2, lake)
    assert apply(r2d2, lake, out).code == 0
    updated = told(r2d2("update", "--state", other.state, "--json"))
    assert [one["table"] for one in updated["deleted"]] == ["one.parquet"]
    assert_a_scan_says_the_same(other, spark)


def test_a_lake_that_was_moved_is_missed_and_the_hint_finds_it(r2d2: Command, deleted: Lake) -> None:
    moved = deleted.path.with_name("moved")
    deleted.path.rename(moved)
    refused = r2d2("plan", "--state", deleted.state)
    assert (
        refused.code == 2 and "is not there any more" in refused.err and "If it was moved, scan it there" in refused.err
    )
    for command in ("status", "doctor"):
        refused = r2d2(command, "--state", deleted.state)
        assert refused.code == 2 and "is not there any more" in refused.err and "--lake DIR" in refused.err
        assert r2d2(command, "--lake", moved).code == 0
