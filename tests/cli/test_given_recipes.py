"""A recipe that a person gave for a pair that is no edge: planned, applied, drilled, purged, restored; or said why not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from r2d2.safety.plan import read_plan
from tests.cli.conftest import Command, Done
from tests.cli.test_apply import put, rows_of, schema_of

pytestmark = pytest.mark.spark

PLAN = ("--accesses-per-week", "0", "--min-age", "0")
SELECTS = {
    "clients": "SELECT id AS client, name AS `full name`, price AS paid FROM parent WHERE id >= 40 AND name IS NOT NULL",
    "renamed": "SELECT id AS key, name AS label, price AS amount FROM parent",
    "kinds": "SELECT DISTINCT kind AS sort FROM parent",
}


def orders(rows: int = 200) -> pa.Table:
    numbers = list(range(rows))
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "name": pa.array([None if n % 7 == 0 else f"name {n}" for n in numbers]),
            "price": pa.array([n / 4 for n in numbers], pa.float64()),
            "kind": pa.array([("a", "b", "ü")[n % 3] for n in numbers]),
        }
    )


def write_lake(lake: Path) -> None:
    whole = orders()
    put(whole, lake / "orders", files=3)
    some = whole.filter(pa.compute.and_(pa.compute.greater_equal(whole["id"], 40), whole["name"].is_valid()))
    small = pa.array(some["id"].to_pylist(), pa.int32())  # cast as well as renamed
    put(
        pa.table({"paid": some["price"], "client": small, "full name": some["name"]}),
        lake / "clients.parquet",
        row_group_size=20,
    )
    put(whole.select(["name", "id", "price"]).rename_columns(["label", "key", "amount"]), lake / "renamed", files=2)
    put(pa.table({"sort": ["ü", "b", "a"]}), lake / "kinds.parquet")
    put(whole.slice(3, 9), lake / "plain.parquet")


Ask = Callable[..., Any]


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Path:
    write_lake(tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def ask(r2d2: Command, tmp_path: Path) -> Ask:
    """Run a command on the state with --json, and read what it says."""

    def call(*arguments: str | Path, code: int = 0) -> Any:
        done: Done = r2d2(*arguments, "--state", tmp_path / "state", "--json")
        assert done.code == code, done.err + done.out
        return json.loads(done.out)

    return call


def give(ask: Ask, *names: str) -> None:
    for name in names:
        table = name if name == "renamed" else f"{name}.parquet"
        assert ask("recipe", "set", "orders", table, SELECTS[name])["kept"]


def test_a_given_recipe_is_planned_applied_drilled_purged_and_restored(
    ask: Ask, r2d2: Command, lake: Path, tmp_path: Path
) -> None:
    ask("scan", lake)
    assert [edge["child"] for edge in ask("edges")] == ["plain.parquet"], "columns of the others are renamed"
    give(ask, *SELECTS)  # before recipes were looked for at all
    before = {name: (rows_of(lake / name), schema_of(lake / name)) for name in sorted(os.listdir(lake))}
    found = ask("plan", *PLAN, "--out", tmp_path / "plan")
    given = {"clients.parquet", "renamed", "kinds.parquet"}
    away = given | {"plain.parquet"}
    assert {line["table"]: line["given"] for line in found["deletions"]} == {name: name in given for name in away}
    assert all(line["parent"] == "orders" for line in found["deletions"]) and not found["left_out"]
    entries = read_plan(str(tmp_path / "plan")).entries
    origins = {entry.child.name: entry.recipe["origin"] for entry in entries}
    assert origins == {name: "given" if name in given else "inferred" for name in away}
    shown = r2d2("plan", *PLAN, "--state", tmp_path / "state")
    assert "predicate, given by a person" in shown.out and "projection, given by a person" in shown.out
    number = found["plan"]["type_to_confirm"]
    approve = ("--approved-by", "Ann", "--quiet-period", "0", *(("--yes-delete", str(number)) if number else ()))
    done = ask("apply", tmp_path / "plan", *approve)
    assert {one["table"] for one in done["tables"] if one["is_deleted"]} == away
    assert os.listdir(lake) == ["orders"] or set(os.listdir(lake)) == {"orders", ".r2d2-safety"}
    ask("update")
    assert not ask("plan", *PLAN)["deletions"], "what something deleted is rebuilt from stays"
    assert {one["table"] for one in ask("drill")["tables"] if one["is_exact"]} == away
    assert {one["table"] for one in ask("purge", "--retention", "0")["tables"] if one["is_purged"]} == away
    ask("restore", "--all")
    assert {name: (rows_of(lake / name), schema_of(lake / name)) for name in before} == before


def test_a_given_recipe_counts_only_while_both_tables_are_as_they_were(ask: Ask, lake: Path) -> None:
    ask("scan", lake)
    give(ask, "clients", "renamed")
    put(pa.table({"paid": [1.0], "client": pa.array([40], pa.int32()), "full name": ["x"]}), lake / "clients.parquet")
    ask("update")
    found = ask("plan", *PLAN)
    assert {line["table"] for line in found["deletions"]} == {"renamed", "plain.parquet"}
    (note,) = found["notes"]
    assert note.startswith(
        "the recipe given for clients.parquet from orders no longer fits: clients.parquet has changed"
    )
    put(orders(100), lake / "orders", files=3)
    (lake / "clients.parquet").unlink()
    ask("update")
    found = ask("plan", *PLAN)
    assert {line["table"] for line in found["deletions"]} == {"plain.parquet"}
    (note,) = found["notes"]
    assert "(and 1 more)" in note and "orders has changed" in note
    assert ask("recipe", "forget", "orders", "clients.parquet")["forgotten"], "though the child is gone"
    assert ask("recipe", "forget", "orders", "renamed")["forgotten"]
    assert not ask("plan", *PLAN)["notes"]


def test_recipes_both_ways_delete_one_of_two_tables(ask: Ask, lake: Path) -> None:
    put(pa.table({"x": [1, 2, 3]}), lake / "one.parquet")
    put(pa.table({"y": [1, 2, 3]}), lake / "two.parquet")
    ask("scan", lake)
    assert ask("recipe", "set", "one.parquet", "two.parquet", "SELECT x AS y FROM parent")["kept"]
    assert ask("recipe", "set", "two.parquet", "one.parquet", "SELECT y AS x FROM parent")["kept"]
    gone = {line["table"] for line in ask("plan", *PLAN)["deletions"]}
    assert len(gone & {"one.parquet", "two.parquet"}) == 1


def test_an_empty_table_goes_by_a_given_recipe_only_if_asked(ask: Ask, lake: Path) -> None:
    put(pa.table({"nobody": pa.array([], pa.int64())}), lake / "empty.parquet")
    ask("scan", lake)
    assert ask("recipe", "set", "orders", "empty.parquet", "SELECT id AS nobody FROM parent WHERE id < 0")["kept"]
    found = ask("plan", *PLAN)
    assert [line["table"] for line in found["deletions"]] == ["plain.parquet"]
    kept = {line["table"]: line["because"] for line in found["kept"]}
    assert kept["empty.parquet"] == "it is empty (--plan-empty takes such tables, too)"
    assert "empty.parquet" in {line["table"] for line in ask("plan", *PLAN, "--plan-empty")["deletions"]}
