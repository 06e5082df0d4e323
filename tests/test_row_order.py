"""A copy that is kept for the order of its rows comes back in that order, or the plan says that it will not.

All cases lie side by side in one lake, so that each command runs once for all of them.
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.apply import apply_plan
from r2d2.app.drill import drill_tables
from r2d2.app.known_recipes import recipes_for
from r2d2.app.plan import make_plan
from r2d2.app.purge import purge_tables
from r2d2.app.recipes import give
from r2d2.app.restore import restore_tables
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.model.proposal import Deletion
from r2d2.model.recipe import Recipe, SortKey
from r2d2.model.scan import Scan
from r2d2.safety.apply import Approval
from r2d2.settings import Settings

ROWS = 400
BY_K, AS_DECLARED = (SortKey(("k",)),), (SortKey(("k",), nulls_first=False),)
Row = tuple[Any, ...]


def rows_of_parent(seed: int, *, nulls: bool = False, ties: bool = False) -> list[Row]:
    """Rows of k, v and x in no order; v is unique."""
    rng = random.Random(seed)
    keys = [n // 40 if ties else n for n in range(ROWS)]
    rows = [(None if nulls and n % 9 == 0 else key, f"{n * 7919 % 1009}é{n}", n / 8) for n, key in enumerate(keys)]
    rng.shuffle(rows)
    return rows


def by_k(rows: list[Row]) -> list[Row]:
    """The slow, obvious order: k ascending, ties as they come."""
    return sorted(rows, key=lambda row: row[0])


def own_shuffle(rows: list[Row]) -> list[Row]:
    return random.Random(99).sample(rows, len(rows))


def falling(rows: list[Row]) -> list[Row]:
    """Descending, NULL first."""
    return sorted(own_shuffle(rows), key=lambda row: (row[0] is not None, -(row[0] or 0)))


def write(path: Path, case: str, rows: list[Row], names: str, flag: Any = None) -> None:
    """Write rows under column names that no other case has."""
    columns = {f"{case}_{name}": [row[place] for row in rows] for place, name in enumerate(names)}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, sorting_columns=flag, row_group_size=150)


@dataclass
class Lake:
    settings: Settings
    root: Path
    before: dict[str, list[Row]]
    risks: dict[str, Deletion]
    orders: dict[str, Recipe]
    restored_by: dict[str, str]

    def order(self, case: str) -> Any:
        """The keys without the prefix of the case."""
        order = self.orders[case].order
        short = len(case) + 1
        return order and tuple(SortKey((k.column[0][short:],), k.descending, k.nulls_first) for k in order)

    def files(self, case: str) -> list[Path]:
        child = self.root / case / "child.parquet"
        return sorted(child.glob("*.parquet")) if child.is_dir() else [child]

    def rows(self, case: str) -> list[Row]:
        return [row for file in self.files(case) for row in rows_in(file)]

    def declared(self, case: str) -> set[Any]:
        groups = [pq.read_metadata(file).row_group(0) for file in self.files(case)]
        return {group.sorting_columns for group in groups}


def rows_in(file: Path) -> list[Row]:
    with pq.ParquetFile(file) as opened:
        table = opened.read()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def two_files(root: Path, case: str, rows: list[Row]) -> None:
    for number in range(2):
        write(root / case / "child.parquet" / f"part-{number}.parquet", case, by_k(rows[number::2]), "kv")


def build(root: Path) -> None:
    """Per case a parent of three columns, and a child that has two of them and all rows."""
    k, falls = [pq.SortingColumn(0)], [pq.SortingColumn(0, descending=True, nulls_first=True)]
    children: dict[str, tuple[list[Row], Any]] = {}
    parents = {case: rows_of_parent(n) for n, case in enumerate(("flag", "plain", "same", "mixed", "files", "lie"))}
    parents |= {"falls": rows_of_parent(7, nulls=True), "ties": rows_of_parent(8, ties=True)}
    for case, rows in parents.items():
        write(root / case / "parent.parquet", case, rows, "kvx")
    children["flag"] = by_k(parents["flag"]), k
    children["plain"] = by_k(parents["plain"]), None
    children["same"] = parents["same"], None
    children["mixed"] = own_shuffle(parents["mixed"]), None
    children["lie"] = own_shuffle(parents["lie"]), k
    children["falls"] = falling(parents["falls"]), falls
    children["ties"] = by_k(own_shuffle(parents["ties"])), k
    for case, (rows, flag) in children.items():
        write(root / case / "child.parquet", case, rows, "kv", flag)
    two_files(root, "files", parents["files"])
    long_ago = time.time() - 10 * 86_400
    for path in [*root.rglob("*"), root]:
        os.utime(path, (long_ago, long_ago))


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Plan, apply, drill, purge and restore by recipe."""
    folder = tmp_path_factory.mktemp("order")
    root = folder / "lake"
    build(root)
    settings = Settings(state=str(folder / "state"), accesses_per_week=0, min_age=0, quiet_period=0, retention=0)
    scan = scan_lake(Workspace(settings, spark=spark), [str(root)])
    planned, draft = make_plan(Workspace(settings, spark=spark), out=str(folder / "plan.json"))
    assert draft is not None and draft.plan is not None and not draft.left_out
    recipes = recipes_for(Workspace(settings, spark=spark), scan).recipes
    lines = {line.table.split("/")[0]: line for line in planned.proposal.deletions}
    assert set(lines) == {path.name for path in root.iterdir()}
    found = Lake(settings, root, {}, lines, {}, {})
    for (parent, child), recipe in recipes.items():
        case = scan.tables[child].name.split("/")[0]
        assert isinstance(recipe, Recipe) and scan.tables[parent].name.startswith(case)
        found.orders[case], found.before[case] = recipe, found.rows(case)
    _, done = apply_plan(
        Workspace(settings, spark=spark), draft.plan, approval=Approval("Ann", typed=len(draft.plan.entries))
    )
    assert all(one.is_deleted for one in done), done
    assert all(one.is_exact for one in drill_tables(Workspace(settings, lake=str(root), spark=spark), [])[1])
    purge_tables(Workspace(settings, lake=str(root)))
    names = [entry.child.name for entry in draft.plan.entries]
    _, restored = restore_tables(Workspace(settings, lake=str(root), spark=spark), names)
    found.restored_by = {one.table.split("/")[0]: one.by for one in restored}
    return found


def test_every_table_came_back_by_its_recipe_with_the_same_rows(lake: Lake) -> None:
    assert set(lake.restored_by.values()) == {"recipe"} and lake.restored_by.keys() == lake.before.keys()
    for case, before in lake.before.items():
        assert sorted(map(repr, lake.rows(case))) == sorted(map(repr, before))


def test_a_sorted_copy_with_the_footers_word_comes_back_sorted_with_that_word(lake: Lake) -> None:
    assert lake.order("flag") == AS_DECLARED
    assert lake.rows("flag") == lake.before["flag"]
    assert lake.declared("flag") == {(pq.SortingColumn(0),)}
    assert str(lake.risks["flag"].risk) == "low" and "sorted by flag_k" in lake.risks["flag"].risk_because


def test_a_sorted_copy_without_the_footers_word_comes_back_sorted_without_it(lake: Lake) -> None:
    assert lake.order("plain") == BY_K
    assert lake.rows("plain") == lake.before["plain"]
    assert lake.declared("plain") == {()}


def test_a_copy_in_its_parents_order_comes_back_in_it(lake: Lake) -> None:
    assert lake.order("same") == ()
    assert lake.rows("same") == lake.before["same"]


def test_a_descending_copy_with_nulls_comes_back_with_them_in_place(lake: Lake) -> None:
    assert lake.order("falls") == (SortKey(("k",), descending=True, nulls_first=True),)
    assert [row[0] for row in lake.rows("falls")] == [row[0] for row in lake.before["falls"]]
    assert lake.declared("falls") == {(pq.SortingColumn(0, descending=True, nulls_first=True),)}


def test_a_shuffled_copy_is_not_bothered(lake: Lake) -> None:
    assert lake.order("mixed") is None and not lake.orders["mixed"].lost_order
    assert str(lake.risks["mixed"].risk) == "low" and "sort" not in lake.risks["mixed"].risk_because


def test_among_ties_sortedness_is_promised_and_not_the_sequence(lake: Lake) -> None:
    assert lake.order("ties") == AS_DECLARED
    assert [row[0] for row in lake.rows("ties")] == [row[0] for row in lake.before["ties"]]
    assert lake.declared("ties") == {(pq.SortingColumn(0),)}


def test_each_file_of_a_table_of_sorted_files_comes_back_sorted(lake: Lake) -> None:
    assert lake.order("files") == BY_K
    assert lake.rows("files") == by_k(lake.before["files"])


def test_a_declared_order_that_the_rows_do_not_have_is_said_and_not_declared_again(lake: Lake) -> None:
    risk = lake.risks["lie"]
    assert str(risk.risk) == "medium" and "declare" in risk.risk_because and "lie_k" in risk.risk_because
    assert lake.declared("lie") == {()}


@pytest.fixture(scope="module")
def pair(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Scan, Settings]:
    folder = tmp_path_factory.mktemp("pair")
    rows = rows_of_parent(3)
    write(folder / "lake" / "parent.parquet", "t", rows, "kvx")
    write(folder / "lake" / "child.parquet", "t", by_k(rows), "kv")
    settings = Settings(state=str(folder / "state"))
    return scan_lake(Workspace(settings, spark=spark), [str(folder / "lake")]), settings


def test_an_order_that_a_person_gives_is_kept_only_if_the_child_has_it(spark: Any, pair: Any) -> None:
    _, settings = pair
    select = "SELECT t_k, t_v FROM parent"
    asked = {"parent": "parent.parquet", "child": "child.parquet"}
    recipe, found = give(Workspace(settings, spark=spark), f"{select} ORDER BY t_v", **asked)
    assert not found.same and found.wrong == "the child is not sorted by t_v"
    recipe, found = give(Workspace(settings, spark=spark), f"{select} ORDER BY t_k NULLS LAST", **asked)
    assert found.same and recipe.order == (SortKey(("t_k",), nulls_first=False),)
    recipe, found = give(Workspace(settings, spark=spark), select, **asked)
    assert found.same and recipe.order == (SortKey(("t_k",)),)
