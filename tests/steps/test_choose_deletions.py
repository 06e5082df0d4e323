"""The step on graphs of every kind: the optimum, the constraints, a reason for every table that stays."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from r2d2.model.priced import Choice, Method, PricedGraph
from r2d2.solve.brute_force import brute_force
from r2d2.solve.problem import Problem
from r2d2.steps.choose_deletions import choose_deletions
from tests.solve.random_problems import closed_chain, random_forest, random_graph, random_paths, seeds


def graph_of(problem: Problem) -> PricedGraph:
    return PricedGraph(
        tuple(f"t{table}" for table in range(len(problem))),
        array("d", problem.retain),
        array("I", problem.parents.tolist()),
        array("I", problem.children.tolist()),
        array("d", problem.rebuild),
        {int(table): f"t{table} is under legal hold" for table in np.flatnonzero(problem.must_keep)},
    )


def assert_sound(graph: PricedGraph, choice: Choice) -> None:
    deleted = set(choice.deleted)
    edges = set(zip(graph.parents, graph.children, strict=True))
    assert list(choice.deleted) == sorted(deleted)
    assert not deleted & set(graph.must_keep)
    for table, parent in choice.rebuilds():
        assert (parent, table) in edges and parent not in deleted
    for table, reason in enumerate(choice.kept_because):
        assert bool(reason) == (table not in deleted)


def test_the_choice_is_the_one_that_trying_everything_finds() -> None:
    for rng in seeds(400):
        makers = (
            random_graph,
            random_paths,
            closed_chain,
            lambda rng, most: random_forest(rng, one_parent=False, most=most),
        )
        problem = makers[rng.integers(4)](rng, 9)
        graph = graph_of(problem)
        choice = choose_deletions(graph)
        assert_sound(graph, choice)
        assert choice.proven and choice.gap == 0
        assert choice.objective == pytest.approx(brute_force(problem).objective, rel=1e-9, abs=1e-12)
        assert choice.savings >= -1e-9 * choice.retain_all


def lake(
    *edges: tuple[int, int], retain: float = 5, rebuild: float = 1, keep: dict[int, str] | None = None
) -> PricedGraph:
    count = 1 + max(max(edge) for edge in edges)
    return PricedGraph(
        tuple(f"t{table}" for table in range(count)),
        array("d", [retain]) * count,
        array("I", [parent for parent, _ in edges]),
        array("I", [child for _, child in edges]),
        array("d", [rebuild]) * len(edges),
        keep or {},
    )


def test_each_component_is_solved_by_the_method_for_its_shape() -> None:
    graph = lake((0, 1), (1, 2), (3, 4), (3, 5), (6, 7), (7, 6), (8, 9), (8, 10), (9, 10))
    methods = [component.method for component in choose_deletions(graph).components]
    assert methods == [Method.DYN_LIN, Method.TREE, Method.TREE, Method.OPT_RET]


def test_components_add_up_and_single_tables_are_not_listed() -> None:
    choice = choose_deletions(lake((0, 1), (3, 4)))
    assert [(part.tables, part.edges, part.objective, part.proven) for part in choice.components] == [
        (2, 1, 6, True)
    ] * 2
    assert (choice.objective, choice.retain_all, choice.savings) == (17, 25, 8)


def test_every_kept_table_says_why() -> None:
    graph = lake((0, 1), (1, 2), (0, 3), keep={3: "it is under legal hold"})
    choice = choose_deletions(graph)
    nothing = "no other table is known that it can be rebuilt from"
    alone = "every table that it could be rebuilt from at less cost than keeping it is itself deleted"
    assert choice.kept_because == (nothing, "", alone, "it is under legal hold")


@pytest.mark.parametrize(
    ("graph", "table", "reason"),
    [
        (lake((0, 1), rebuild=9), 0, "no other table is known that it can be rebuilt from"),
        (lake((0, 1), rebuild=5), 1, "rebuilding it whenever it is read would cost at least as much as keeping it"),
        (lake((0, 1), (1, 0)), 0, "it is kept as the parent that t1 can be rebuilt from"),
        (lake((0, 1), (1, 2), (1, 3), (1, 4), keep={0: "held"}), 1, "it is kept as the parent that t2 and 2 more can be rebuilt from"),
        (lake((0, 1), (1, 2)), 2, "every table that it could be rebuilt from at less cost than keeping it is itself deleted"),
    ],
)  # fmt: skip
def test_the_reason_fits(graph: PricedGraph, table: int, reason: str) -> None:
    assert choose_deletions(graph).kept_because[table] == reason


def test_a_stopped_solver_says_so() -> None:
    rng = np.random.default_rng(1)
    pairs = np.argwhere((rng.random((40, 40)) < 0.2) & ~np.eye(40, dtype=np.bool_))
    graph = PricedGraph(
        tuple(map(str, range(40))),
        array("d", 10 + rng.random(40)),
        array("I", pairs[:, 0].tolist()),
        array("I", pairs[:, 1].tolist()),
        array("d", 1 + rng.random(len(pairs))),
    )
    stopped, best = choose_deletions(graph, time_limit_seconds=0), choose_deletions(graph)
    assert_sound(graph, stopped)
    assert not stopped.proven and 0 < stopped.gap < 1
    assert stopped.lower_bound <= best.objective <= stopped.objective
    assert best.proven


def test_an_empty_lake_has_nothing_to_choose() -> None:
    choice = choose_deletions(PricedGraph((), array("d"), array("I"), array("I"), array("d")))
    assert choice.proven and not choice.deleted and choice.objective == choice.gap == 0


@pytest.mark.parametrize(
    "change",
    [
        {"retain_cost": array("d", [1])},
        {"retain_cost": array("d", [1, float("nan")])},
        {"retain_cost": array("d", [1, -1])},
        {"rebuild_cost": array("d", [float("inf")])},
        {"children": array("I", [0])},
        {"children": array("I", [2])},
        {"children": array("I")},
        {"must_keep": {2: "held"}},
    ],
)
def test_unknown_costs_and_broken_edges_are_refused(change: dict[str, object]) -> None:
    good = {
        "tables": ("a", "b"),
        "retain_cost": array("d", [1, 1]),
        "parents": array("I", [0]),
        "children": array("I", [1]),
        "rebuild_cost": array("d", [1]),
    }
    PricedGraph(**good)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        PricedGraph(**good | change)  # type: ignore[arg-type]
