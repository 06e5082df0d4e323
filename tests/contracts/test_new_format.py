"""A format that nobody but the test knows goes through a scan, an update and a plan, wherever rows are read.

Adding it takes one file and its registration; no other file of R2D2 says its name.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from r2d2.app.explain import explain_pair
from r2d2.app.find import find_in_lake
from r2d2.app.lake_tools import lake_tools
from r2d2.app.proposal import plan_lake
from r2d2.app.recipe_jobs import infer_recipes, try_recipe
from r2d2.app.scan import scan_lake
from r2d2.app.update import update_lake
from r2d2.app.workspace import Workspace
from r2d2.cli.main import cli
from r2d2.cli.main import run as run_command
from r2d2.engine.spark.session import LazySession
from r2d2.engine.spark.ship_code import with_code
from r2d2.errors import UserError
from r2d2.formats.registry import format_named, read_slice
from r2d2.model.recipe import Recipe, projection
from r2d2.model.scan import Scan
from r2d2.pipeline import run
from r2d2.report.edges import standing_edges
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from r2d2.steps.infer_recipes import NoRecipe
from tests.contracts.lines_format import LIST, NAME
from tests.support.in_process import KEY, Reader
from tests.support.lines_files import write_lines

ROOT = Path(__file__).parents[2]
ROWS = pa.table({"id": list(range(50)), "name": [None if n % 7 == 0 else f"n{n}" for n in range(50)]})
STAYS = format_named(NAME).capabilities.without_rebuild
LONG_AGO = 1_500_000_000


@pytest.fixture
def lake(tmp_path: Path, lines: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same rows as lines and as Parquet, parts of them as either, and a folder that lists its files."""
    monkeypatch.chdir(tmp_path)  # child processes import nothing from the working folder
    monkeypatch.syspath_prepend(str(ROOT))
    folder = tmp_path / "lake"
    for name in ("listed", "parts", "days/day=1", "days/day=2"):
        (folder / name).mkdir(parents=True)
    pq.write_table(ROWS, folder / "all.parquet")
    write_lines(ROWS, str(folder / "all.lines"))
    pq.write_table(ROWS.slice(5, 20), folder / "some.parquet")
    write_lines(ROWS.slice(10, 5), str(folder / "few.lines"))
    write_lines(pa.table({"id": [1], "name": ["elsewhere"]}), str(folder / "strange.lines"))
    write_lines(ROWS.slice(0, 0), str(folder / "empty.lines"))
    for number in range(2):
        write_lines(ROWS.slice(25 * number, 25), str(folder / "parts" / f"part-{number}.lines"))
        write_lines(ROWS.slice(25 * number, 25), str(folder / f"days/day={number + 1}" / "part-0.lines"))
    write_lines(ROWS.slice(3, 3), str(folder / "listed" / "a.lines"))
    write_lines(ROWS.slice(0, 50), str(folder / "listed" / "old.lines"))
    (folder / "listed" / LIST).write_text("a.lines\n")
    for path in folder.rglob("*.*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def expected() -> set[tuple[str, str]]:
    """The true edges, worked out from the rows."""
    rows = {
        "all.parquet": range(50),
        "all.lines": range(50),
        "parts": range(50),
        "some.parquet": range(5, 25),
        "few.lines": range(10, 15),
        "listed": range(3, 6),
        "empty.lines": range(0),
        "days": range(50),
        "strange.lines": range(99, 100),
    }
    return {
        (parent, child)
        for parent in rows
        for child in rows
        if parent != child and child != "days" and set(rows[child]) <= set(rows[parent])
    }


def scan(lake: Path, how: str, spark: Any = None) -> Scan:
    """The lake, scanned in this process, in a child process, or by Spark."""
    settings = Settings(state=str(lake.parent / "state"))
    if how == "spark":
        return scan_lake(Workspace(settings, spark=spark), [str(lake)])
    if how == "inline":
        return Reader().scan(str(lake), settings)
    tools = lake_tools(LazySession(settings), KEY, at_hand=1000)
    return run([str(lake)], settings=settings, tools=tools)


def saved(found: Scan, lake: Path) -> Settings:
    """Settings that name a state with this scan."""
    store = StateStore(lake.parent / "kept")
    with store.locked():
        store.save(found, keep=1)
    return Settings(state=str(store.folder))


def assert_found(found: Scan) -> None:
    assert found.graph is not None and not [one for one in found.problems if one.needs_a_look]
    assert set(found.graph.edges()) == expected()
    assert all(edge.verdict.name == "PROVEN" for edge in standing_edges(found))
    for table, profile in zip(found.tables, found.profiles, strict=True):
        is_parquet = table.name.endswith(".parquet")
        assert table.format == ("parquet" if is_parquet else NAME)
        assert (profile.rows is not None) == is_parquet
        if not is_parquet:
            stated = [stats for c, stats in zip(profile.schema.columns, profile.stats, strict=True) if str(c) != "day"]
            assert all(stats == (None, None, None, False, False) for stats in stated)
    assert found.tables[found.number_of["listed"]].unexplained == ("old.lines",)


@pytest.mark.parametrize("how", ["inline", "child process"])
def test_it_is_found_profiled_and_proven_without_spark(lake: Path, how: str) -> None:
    found = scan(lake, how)
    assert_found(found)
    loaded = StateStore(saved(found, lake).state).load()
    assert loaded.tables == found.tables and loaded.profiles == found.profiles


def test_it_is_one_file_of_sixty_lines_at_most() -> None:
    assert len((ROOT / "tests/contracts/lines_format.py").read_text().splitlines()) <= 60


def test_no_file_of_ours_knows_it() -> None:
    assert not [path for path in (ROOT / "src").rglob("*.py") if "lines_format" in path.read_text()]


def test_shipped_code_reads_it_where_r2d2_is_not_installed(lake: Path) -> None:
    """The format itself has to be importable there, like any library of a worker."""
    path = str(lake / "few.lines")
    part = {"format": NAME, "path": path, "first": 0, "rows": None, "bytes": 1, "partition": [], "fold": False}
    shipped = cloudpickle.dumps(with_code(partial(read_slice, tokens=[("id",)])))
    code = (
        "import pickle, sys; from importlib.util import find_spec; assert find_spec('r2d2') is None;"
        "read, part = pickle.load(sys.stdin.buffer); (ids,) = pickle.loads(read)(part).values(); print(ids.to_pylist())"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", code],  # -S: nothing that .pth files put on the path
        input=pickle.dumps((shipped, part)),
        env={"PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(pa.__file__).parents[1])])},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout.decode().strip() == str(list(range(10, 15)))


def test_samples_alone_prune_no_edge_of_it(lake: Path) -> None:
    """A child of unknown rows is not sampled, and what is not sampled is not pruned."""
    found = Reader().scan(str(lake), Settings(verify=False, state=str(lake.parent / "state")))
    assert found.graph is not None and expected() <= set(found.graph.edges())
    assert ("all.lines", "strange.lines") in set(found.graph.edges())


def test_a_plan_leaves_it_alone_with_the_sentence_of_its_format(lake: Path) -> None:
    found = scan(lake, "inline")
    assert found.graph is not None
    columns = {n: projection(profile.schema) for n, profile in enumerate(found.profiles)}
    recipes = {pair: Recipe(columns[pair[1]]) for pair in found.graph.standing.pairs()}
    proposal = plan_lake(found, recipes, Settings()).proposal
    assert {line.table for line in proposal.deletions} <= {"all.parquet", "some.parquet"}
    kept = {line.table: line.because for line in proposal.kept if not line.table.endswith(".parquet")}
    assert set(kept) == {child for _, child in expected() if not child.endswith(".parquet")}
    assert set(kept.values()) == {STAYS}


def test_no_recipe_rebuilds_it_or_is_given_for_it(lake: Path) -> None:
    found = scan(lake, "inline")
    settings = saved(found, lake)
    named = [("all.parquet", "few.lines"), ("all.lines", "some.parquet")]
    assert infer_recipes(Workspace(settings), found, only=named) == dict.fromkeys(named, NoRecipe(STAYS))
    columns = projection(found.profiles[0].schema)
    for parent, child in named:
        with pytest.raises(UserError, match=STAYS):
            try_recipe(Workspace(settings), found, Recipe(columns), parent=parent, child=child)


def test_a_missing_row_of_it_can_be_shown(lake: Path) -> None:
    found = scan(lake, "inline")
    explained = explain_pair(found, parent="all.parquet", child="strange.lines", show_values=True)
    assert explained.missing_row is not None and dict(explained.missing_row.values)["name"] == "elsewhere"


def test_spark_scans_it_updates_it_and_infers_recipes_beside_it(spark: Any, lake: Path) -> None:
    assert_found(scan(lake, "spark", spark))
    settings = Settings(state=str(lake.parent / "state"))
    write_lines(ROWS.slice(0, 10), str(lake / "few.lines"))
    (lake / "strange.lines").unlink()
    updated = update_lake(Workspace(settings, spark=spark)).scan
    assert updated.graph is not None
    edges = set(updated.graph.edges())
    assert ("all.parquet", "few.lines") in edges and ("some.parquet", "few.lines") not in edges
    recipes = infer_recipes(Workspace(settings, spark=spark), updated)
    assert isinstance(recipes["all.parquet", "some.parquet"], Recipe)
    assert all(
        answer == NoRecipe(STAYS)
        for pair, answer in recipes.items()
        if not all(name.endswith(".parquet") for name in pair)
    )


ROW = st.tuples(st.sampled_from([0, 1, 2, None]), st.sampled_from(["a", "b", None]))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(["lines", "parquet"]), st.lists(ROW, max_size=5)), min_size=2, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_whatever_has_unknown_rows_the_scan_finds_the_true_edges(
    lines: str, tables: list[tuple[str, list[tuple[Any, Any]]]], bag: bool, verify: bool
) -> None:
    """Unknown never prunes and never proves: no true edge is lost, and where rows are compared no other is found."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (suffix, rows) in enumerate(tables):
            columns = {
                "id": pa.array([a for a, _ in rows], pa.int64()),
                "t": pa.array([b for _, b in rows], pa.string()),
            }
            write = write_lines if suffix == "lines" else pq.write_table
            write(pa.table(columns), f"{folder}/{number}t.{suffix}")
        asked = Settings(bag=bag, verify=verify, state=f"{folder}/state")
        found = Reader().scan(folder, asked)
    counted = {f"{number}t.{suffix}": Counter(rows) for number, (suffix, rows) in enumerate(tables)}
    true = {
        (parent, child)
        for parent in counted
        for child in counted
        if parent != child
        and (counted[child] <= counted[parent] if bag else counted[child].keys() <= counted[parent].keys())
    }
    assert found.graph is not None
    edges = set(found.graph.edges())
    assert true == edges if verify else true <= edges


def test_commands_show_it_without_its_rows(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = str(saved(scan(lake, "inline"), lake).state)

    def said(*arguments: str) -> str:
        capsys.readouterr()
        run_command(lambda: cli.main(args=[*arguments, "--state", state], prog_name="r2d2", standalone_mode=False))
        return capsys.readouterr().out

    assert "few.lines" in said("edges")
    edges = {(edge["parent"], edge["child"]): edge for edge in json.loads(said("edges", "--json"))}
    assert edges.keys() == expected()
    edge = edges["all.parquet", "few.lines"]
    assert (edge["containment"], edge["child_rows"], edge["parent_rows"]) == (1.0, None, 50)
    assert "each of the child's rows is in the parent" in said("explain", "all.parquet", "few.lines")
    assert "1 of the child's rows is not in the parent" in said("explain", "all.parquet", "strange.lines")


def test_a_table_of_it_is_found_in_the_lake(lake: Path) -> None:
    write_lines(ROWS.slice(5, 20), str(lake.parent / "asked.lines"))
    found = find_in_lake(Workspace(saved(scan(lake, "inline"), lake)), lake.parent / "asked.lines")
    assert found.rows is None and not found.problems
    assert {one.table for one in found.equal} == {"some.parquet"}
    assert {one.table for one in found.contained_in} == {"all.parquet", "all.lines", "parts", "days"}
    assert {one.table for one in found.contains} == {"few.lines", "empty.lines"}
