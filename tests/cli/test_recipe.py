"""`r2d2 recipe` from start to end, on a lake of a few tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command, Scanned, write


@pytest.fixture
def state(scanned: Scanned, tmp_path: Path) -> Path:
    """The scan's state, for one test alone, without the recipes that plans have looked for."""
    shutil.copytree(scanned.state, tmp_path / "state", ignore=shutil.ignore_patterns("recipes"))
    return tmp_path / "state"


PAIR = ("sales", "extract.parquet")


def test_a_recipe_is_inferred_shown_and_forgotten(r2d2: Command, spark: Any, state: Path) -> None:
    nothing = r2d2("recipe", "show", *PAIR, "--state", state)
    assert nothing.code == 2 and "r2d2 recipe infer" in nothing.err
    done = r2d2("recipe", "infer", "--state", state, "--json")
    assert done.code == 0
    found = {(row["parent"], row["child"]): row for row in json.loads(done.out)}
    assert found[PAIR]["kind"] == "predicate" and found[PAIR]["selector_bytes"] == 0
    assert found[PAIR]["sql"] == "SELECT id, name FROM sales WHERE id BETWEEN 10 AND 19"
    shown = r2d2("recipe", "show", *PAIR, "--state", state)
    assert shown.code == 0 and "WHERE id BETWEEN 10 AND 19" in shown.out and "exactly" in shown.out
    data = json.loads(r2d2("recipe", "show", *PAIR, "--state", state, "--json").out)
    assert data["current"] and data["origin"] == "inferred" and data["recipe"]["columns"][0]["column"] == ["id"]
    assert json.loads(r2d2("recipe", "forget", *PAIR, "--state", state, "--json").out)["forgotten"]
    again = r2d2("recipe", "forget", *PAIR, "--state", state)
    assert again.code == 1 and "there was no recipe" in again.out


def test_a_given_select_is_tried_and_kept_only_if_exact(r2d2: Command, spark: Any, state: Path) -> None:
    wrong = r2d2("recipe", "set", *PAIR, "SELECT id, name FROM parent WHERE id < 20", "--state", state)
    assert wrong.code == 1 and "10 rows too many, 0 too few; not kept" in wrong.out
    assert "name 3" not in wrong.out, "values are shown only if asked for"
    shown = r2d2("recipe", "set", *PAIR, "SELECT id, name FROM sales WHERE id > 12", "--state", state, "--show-values")
    assert "80 rows too many, 3 too few" in shown.out and "too few: id = 10, name = name 10" in shown.out
    assert r2d2("recipe", "show", *PAIR, "--state", state).code == 2
    right = r2d2("recipe", "set", *PAIR, "SELECT * FROM parent WHERE id >= 10 AND id < 20", "--state", state, "--json")
    data = json.loads(right.out)
    assert right.code == 0 and data["exact"] and data["kept"] and (data["too_many"], data["too_few"]) == (0, 0)
    r2d2("recipe", "infer", "--state", state)
    kept = json.loads(r2d2("recipe", "show", *PAIR, "--state", state, "--json").out)
    assert kept["origin"] == "given", "what a person gave stays"


def test_tables_given_by_their_paths_are_called_by_their_names(
    r2d2: Command, spark: Any, scanned: Scanned, state: Path
) -> None:
    paths = [scanned.lake / name for name in PAIR]
    done = r2d2("recipe", "set", *paths, "SELECT * FROM sales WHERE id BETWEEN 10 AND 19", "--state", state, "--json")
    data = json.loads(done.out)
    assert done.code == 0 and (data["parent"], data["child"]) == PAIR
    assert "FROM sales WHERE" in r2d2("recipe", "show", *paths, "--state", state).out


def test_a_recipe_goes_out_and_comes_in_as_a_file(r2d2: Command, spark: Any, state: Path, tmp_path: Path) -> None:
    r2d2("recipe", "infer", *PAIR, "--state", state)
    data = json.loads(r2d2("recipe", "show", *PAIR, "--state", state, "--json").out)
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(data["recipe"]))
    assert r2d2("recipe", "set", *PAIR, path, "--state", state).code == 0
    path.write_text(json.dumps(data))  # all that `show --json` said
    assert r2d2("recipe", "set", *PAIR, path, "--state", state).code == 0
    path.write_text(json.dumps(data["recipe"] | {"columns": data["recipe"]["columns"][:1]}))
    refused = r2d2("recipe", "set", *PAIR, path, "--state", state)
    assert refused.code == 2 and "it makes no column name" in refused.err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("SELECT id, name FROM parent WHERE reflect('java.lang.System', 'exit', 3) = 1", "reflect()"),
        ("SELECT id, name FROM parent LIMIT 5", "LIMIT"),
        ("no-such-file.json", "cannot read no-such-file.json"),
        ("x" * 5000, "cannot read"),
    ],
)
def test_what_is_no_recipe_is_refused_before_anything_is_read(
    r2d2: Command, state: Path, given: str, says: str
) -> None:
    done = r2d2("recipe", "set", *PAIR, given, "--state", state)
    assert done.code == 2 and says in done.err and "Hint:" in done.err and not done.out


def test_a_recipe_that_is_nested_too_deep_is_refused_in_words(r2d2: Command, state: Path, tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text('{"recipe":' * 60_000)
    done = r2d2("recipe", "set", *PAIR, tmp_path / "deep.json", "--state", state)
    assert done.code == 2 and "this is no recipe: the recipe is nested too deep" in done.err


def test_edges_that_hold_not_and_tables_that_are_not_there(r2d2: Command, spark: Any, state: Path) -> None:
    done = r2d2("recipe", "infer", "sales", "almost.parquet", "--state", state)
    assert done.code == 1 and "not contained" in done.out
    assert r2d2("recipe", "infer", "sales", "--state", state).code == 2
    assert r2d2("recipe", "show", "sales", "sales", "--state", state).code == 2
    assert "did you mean" in r2d2("recipe", "show", "sale", "extract.parquet", "--state", state).err


def test_a_recipe_is_out_of_date_once_a_table_has_changed(r2d2: Command, spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "lake" / "all.parquet", x=[1, 2, 3])
    write(tmp_path / "lake" / "some.parquet", x=[1, 2])
    pair = ("all.parquet", "some.parquet", "--state", tmp_path / "state")
    assert r2d2("scan", tmp_path / "lake", "--state", tmp_path / "state").code == 0
    assert r2d2("recipe", "infer", *pair).code == 0
    write(tmp_path / "lake" / "all.parquet", x=[1, 2, 3, 4])
    refused = r2d2("recipe", "infer", *pair)
    assert refused.code == 2 and "has changed since the scan" in refused.err
    assert r2d2("scan", tmp_path / "lake", "--state", tmp_path / "state").code == 0
    stale = r2d2("recipe", "show", *pair)
    assert stale.code == 1 and "out of date" in stale.out
