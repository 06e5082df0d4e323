"""Which edges are tried, and what is believed: a recipe only after it gave the child."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare, keeps
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.recipe import ChosenRows, Recipe, projection
from r2d2.model.scan import Scan
from r2d2.model.schema import Column, Schema
from r2d2.model.table import Table
from r2d2.steps.infer_recipes import NoRecipe, infer_recipes, stated_box

X = Column(("x",), "int64")
Pair = tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    rows: int
    same: bool
    wrong: str = ""
    order: None = None
    lost_order: str = ""


@dataclass
class Numbers:
    """Tables of one column of numbers; its search knows one answer, its rebuilding is real."""

    tables: Sequence[Sequence[int]]
    answer: Recipe
    unread: tuple[int, ...] = ()
    searched: list[Pair] = field(default_factory=list)

    def search(self, edges: Sequence[Pair]) -> Mapping[Pair, Recipe]:
        self.searched += edges
        return {pair: self.answer for pair in edges if not set(pair) & set(self.unread)}

    def rebuild(self, wanted: Mapping[Pair, Recipe]) -> Mapping[Pair, Outcome]:
        return {p: self._outcome(p, recipe) for p, recipe in wanted.items() if not set(p) & set(self.unread)}

    def _outcome(self, pair: Pair, recipe: Recipe) -> Outcome:
        parent, child = (self.tables[table] for table in pair)
        made = [n for n in parent if recipe.where is None or keeps(recipe.where, {X.token: Literal("int", n)})]
        return Outcome(len(made), Counter(made) == Counter(child))


def below(bound: int) -> Recipe:
    return Recipe(projection([X]), Compare(X.token, "<", Literal("int", bound)))


def scan_of(tables: Sequence[Sequence[int]], edges: Mapping[Pair, tuple[int, int]]) -> Scan:
    """A scan with these edges: check, and copies that the parent lacks."""
    profiles = []
    for number, rows in enumerate(tables):
        stats = ColumnStats(0, min(rows), max(rows), True, True) if rows else ColumnStats(0)
        profiles.append(TableProfile(f"t{number}", Schema.of([X]), len(rows), 10 * len(rows), (stats,)))
    pairs = sorted(edges)
    columns: list[Any] = [array("I", [p for p, _ in pairs]), array("I", [c for _, c in pairs])]
    columns += [array("B", [edges[pair][0] for pair in pairs]), array("q", [0] * len(pairs))]
    columns += [array("q", [edges[pair][1] for pair in pairs]), columns[1][:]]
    names = tuple(profile.table for profile in profiles)
    graph = ContainmentGraph(names, Edges(*columns), "verify_containment")
    return Scan((), tuple(Table(name, "parquet", "", ()) for name in names), profiles=tuple(profiles), graph=graph)


TEN, FIVE, SAME, NONE = list(range(10)), list(range(5)), list(range(10)), []
TABLES = [TEN, FIVE, SAME, NONE, list(range(50))]
PROVEN = (Check.COMPARED, 0)


def infer(edges: Mapping[Pair, tuple[int, int]], jobs: Numbers, **given: Any) -> dict[Pair, Recipe | NoRecipe]:
    options: dict[str, Any] = {"most_parents": 0, "most_rows": 1000} | given
    return infer_recipes(scan_of(jobs.tables, edges), jobs=jobs, **options)


def because(answer: Recipe | NoRecipe) -> str:
    assert isinstance(answer, NoRecipe)
    return answer.because


def test_equal_and_empty_tables_need_no_search() -> None:
    jobs = Numbers(TABLES, below(5))
    found = infer({(0, 1): PROVEN, (0, 2): (Check.EQUAL, 0), (0, 3): PROVEN}, jobs)
    assert jobs.searched == [(0, 1)]
    assert found[0, 1] == below(5) and found[0, 2] == Recipe(projection([X]))
    assert isinstance(found[0, 3], Recipe) and found[0, 3].where is not None


def test_a_recipe_that_gives_other_rows_is_not_believed() -> None:
    found = infer({(0, 1): PROVEN}, Numbers(TABLES, below(6)))
    assert because(found[0, 1]) == "the predicate recipe makes 6 rows, not the child's 5"


def test_edges_that_are_not_proven_as_bags_keep_their_reason() -> None:
    edges = {(0, 1): (Check.COMPARED, 7), (2, 1): (Check.SAMPLED, 0), (4, 1): (Check.IMPLIED, -1)}
    jobs = Numbers(TABLES, below(5))
    found = infer(edges, jobs)
    assert "lacks 7 copies" in because(found[0, 1])
    assert "not proven" in because(found[2, 1]) and "not counted" in because(found[4, 1])
    assert not jobs.searched


def test_the_smallest_parents_are_tried_first_and_named_ones_always() -> None:
    edges = {(0, 1): PROVEN, (2, 1): PROVEN, (4, 1): PROVEN}
    jobs = Numbers(TABLES, below(5))
    found = infer(edges, jobs, most_parents=1)
    assert jobs.searched == [(0, 1)] and "not tried" in because(found[2, 1])
    found = infer(edges, jobs, most_parents=1, only=[(4, 1), (1, 0)])
    assert found[4, 1] == below(5) and "not contained" in because(found[1, 0])


def test_a_parent_that_is_in_no_other_is_tried_whatever_its_size() -> None:
    jobs = Numbers(TABLES, below(5))
    found = infer(
        {(0, 1): PROVEN, (2, 1): PROVEN, (4, 1): PROVEN, (4, 0): PROVEN, (4, 2): PROVEN}, jobs, most_parents=1
    )
    assert isinstance(found[4, 1], Recipe) and "not tried" in because(found[2, 1])


def test_a_table_that_cannot_be_read_gives_no_recipe() -> None:
    found = infer({(0, 1): PROVEN, (0, 2): PROVEN}, Numbers(TABLES, below(5), unread=(0,)))
    assert {because(answer) for answer in found.values()} == {"the parent or the child could not be read"}


def test_a_child_too_large_to_search_gets_the_box_that_its_metadata_states() -> None:
    jobs = Numbers([*TABLES, [1, 3]], below(5))
    found = infer({(0, 1): PROVEN, (0, 5): PROVEN}, jobs, most_rows=1)
    assert not jobs.searched and isinstance(found[0, 1], Recipe)
    assert because(found[0, 5]) == "the predicate recipe makes 3 rows, not the child's 2"


def test_bounds_that_are_not_exact_are_no_condition() -> None:
    schema = Schema.of([X, Column(("s",), "string")])
    vague, exact = ColumnStats(0, b"a", b"b", True, False), ColumnStats(0, 1, 2, True, True)
    child = TableProfile("c", schema, 2, 1, (vague, exact))
    parent = TableProfile("p", schema, 9, 1, (ColumnStats(), ColumnStats(0, 1, 9, True, True)))
    box = stated_box(parent=parent, child=child)
    assert [part.column for part in box.parts] == [("x",)]  # type: ignore[union-attr]


def test_a_table_that_cannot_be_rebuilt_is_not_tried_as_child_or_as_parent() -> None:
    tables = [TEN, FIVE, SAME]
    scan = scan_of(tables, {(0, 1): (Check.COMPARED, 0), (0, 2): (Check.COMPARED, 0), (2, 1): (Check.COMPARED, 0)})
    jobs = Numbers(tables, below(5))
    answers = infer_recipes(scan, jobs=jobs, most_parents=0, most_rows=100, fixed={2: "it stays"})
    assert answers == {(0, 1): below(5), (0, 2): NoRecipe("it stays"), (2, 1): NoRecipe("it stays")}
    assert jobs.searched == [(0, 1)]


def test_no_recipe_lists_rows_of_a_parent_that_does_not_number_them() -> None:
    tables = [TEN, FIVE]
    scan = scan_of(tables, {(0, 1): (Check.COMPARED, 0)})
    listing = Recipe(projection([X]), rows=(ChosenRows("", 5, b""),))

    class Listing(Numbers):
        def _outcome(self, pair: Pair, recipe: Recipe) -> Outcome:
            return Outcome(5, True)

    for answer, unlisted, expected in (
        (listing, {}, listing),
        (listing, {0: "no numbers"}, NoRecipe("no numbers")),
        (listing, {1: "no numbers"}, listing),  # the child's rows are not listed
        (below(5), {0: "no numbers"}, below(5)),
    ):
        jobs = Listing(tables, answer)
        assert infer_recipes(scan, jobs=jobs, most_parents=0, most_rows=100, unlisted=unlisted) == {(0, 1): expected}
