"""All algorithms find the same optimum, and every solution keeps the paper's constraints."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from r2d2.solve.brute_force import brute_force
from r2d2.solve.dual_ascent import cost_of, dual_ascent, settled
from r2d2.solve.dyn_lin import dyn_lin
from r2d2.solve.opt_ret import Search, integer_search, opt_ret, relaxation_first, solve_kernel
from r2d2.solve.problem import RETAINED, Problem, Solution, useful_edges, weak_components
from r2d2.solve.reduce import reduce_problem
from r2d2.solve.trees import solve_trees
from tests.solve.random_problems import (
    closed_chain,
    hard_graph,
    problem_with,
    random_forest,
    random_graph,
    random_paths,
    seeds,
)

pytestmark = pytest.mark.slow


def assert_allowed(problem: Problem, solution: Solution) -> None:
    """The constraints of section 5.2, and that the stated costs are those of the edges chosen."""
    edges = dict(zip(zip(problem.parents, problem.children, strict=True), problem.rebuild, strict=True))
    for table, parent in enumerate(solution.parent):
        if parent == RETAINED:
            assert solution.cost[table] == problem.retain[table]
        else:
            assert not problem.must_keep[table]
            assert solution.parent[parent] == RETAINED
            assert solution.cost[table] == edges[parent, table]


def assert_same(problem: Problem, found: Solution, expected: Solution) -> None:
    for solution in (found, expected):
        assert_allowed(problem, solution)
        assert solution.proven
    assert found.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-12)


def test_opt_ret_finds_what_trying_everything_finds() -> None:
    for rng in seeds(1500):
        problem = random_graph(rng)
        assert_same(problem, opt_ret(problem), brute_force(problem))


def test_opt_ret_finds_it_where_the_solver_has_to_search() -> None:
    kernels = 0
    for rng in seeds(60):
        problem = hard_graph(rng)
        kernels += len(reduce_problem(problem).tables) > 0
        assert_same(problem, opt_ret(problem), brute_force(problem))
    assert kernels > 30


@pytest.mark.parametrize("unit", [1e-12, 1e9])
def test_the_unit_of_the_costs_does_not_matter(unit: float) -> None:
    for rng in seeds(40):
        problem = hard_graph(rng, 8)
        scaled = replace(problem, retain=unit * problem.retain, rebuild=unit * problem.rebuild)
        found = opt_ret(scaled)
        assert found.proven
        assert found.objective == pytest.approx(brute_force(scaled).objective, rel=1e-9, abs=0)


def test_dyn_lin_trees_and_opt_ret_agree_on_paths() -> None:
    for rng in seeds(1000):
        problem = random_paths(rng)
        expected = opt_ret(problem)
        assert_same(problem, dyn_lin(problem), expected)
        assert_same(problem, solve_trees(problem), expected)


def test_opt_ret_is_exact_on_chains_with_shortcuts() -> None:
    for rng in seeds(300):
        problem = closed_chain(rng)
        assert_same(problem, opt_ret(problem), brute_force(problem))


@pytest.mark.parametrize("one_parent", [True, False])
def test_trees_and_opt_ret_agree_on_trees(one_parent: bool) -> None:
    for rng in seeds(1000):
        problem = random_forest(rng, one_parent=one_parent)
        assert_same(problem, solve_trees(problem), opt_ret(problem))


def test_trees_find_what_trying_everything_finds() -> None:
    for rng in seeds(200):
        problem = random_forest(rng, one_parent=False, most=9)
        assert_same(problem, solve_trees(problem), brute_force(problem))


def test_without_time_there_is_a_choice_with_an_honest_gap() -> None:
    stopped = 0
    for rng in seeds(150):
        problem = hard_graph(rng) if rng.random() < 0.3 else random_graph(rng)
        found, best = opt_ret(problem, time_limit_seconds=0), brute_force(problem)
        assert_allowed(problem, found)
        stopped += not found.proven
        slack = 1e-9 * best.objective + 1e-12
        assert found.objective - found.gap.sum() <= best.objective + slack
        assert found.objective >= best.objective - slack
        assert not found.proven or found.objective <= best.objective + slack
    assert stopped > 20


@pytest.mark.parametrize("search", [relaxation_first, integer_search])
def test_dual_ascent_is_a_bound_and_its_choice_costs_what_it_says(search: Search) -> None:
    for rng in seeds(50):
        problem = hard_graph(rng)
        kernel = reduce_problem(problem)
        if len(kernel.tables):
            bound, fair = dual_ascent(kernel)
            retained, gap = solve_kernel(kernel, float("inf"), search)
            assert not gap.any()
            assert bound <= cost_of(kernel, retained) * (1 + 1e-12) <= cost_of(kernel, fair) * (1 + 1e-9)


def test_the_reductions_leave_an_optimum_standing() -> None:
    """The kernel solved by hand, without the solver: every set of its parents tried."""
    for rng in seeds(300):
        problem = random_graph(rng, most=7)
        kernel = reduce_problem(problem)
        count = len(kernel.tables)
        best = min(
            (np.array([bits >> place & 1 for place in range(count)], np.bool_) for bits in range(1 << count)),
            key=lambda retained: cost_of(kernel, retained),
        )
        stays = kernel.expand(settled(kernel, best))
        cost = sum(problem.retain[stays])
        for table in np.flatnonzero(~stays):
            usable = (problem.children == table) & stays[problem.parents]
            cost += problem.rebuild[usable].min()
        assert cost == pytest.approx(brute_force(problem).objective, rel=1e-9, abs=1e-12)


def test_equal_tables_keep_one() -> None:
    count = 50
    pairs = np.argwhere(~np.eye(count, dtype=np.bool_))
    problem = Problem(np.full(count, 3.0), np.zeros(count, np.bool_), pairs[:, 0], pairs[:, 1], np.ones(len(pairs)))
    assert len(reduce_problem(problem).tables) == 0
    found = opt_ret(problem)
    assert_allowed(problem, found)
    assert (found.parent == RETAINED).sum() == 1


def test_two_edges_between_the_same_tables_count_as_the_cheaper_one() -> None:
    pairs = np.array([[0, 1], [0, 1]])
    problem = Problem(np.array([5.0, 5.0]), np.zeros(2, np.bool_), pairs[:, 0], pairs[:, 1], np.array([4.0, 1.0]))
    for solve in (opt_ret, solve_trees, brute_force):
        assert solve(problem).objective == 6


def test_an_edge_that_costs_as_much_as_keeping_is_of_no_use() -> None:
    pairs = np.array([[0, 1], [0, 2], [0, 3]])
    keep = np.array([False, False, False, True])
    problem = Problem(np.array([5.0, 2.0, 2.0, 2.0]), keep, pairs[:, 0], pairs[:, 1], np.array([2.0, 1.0, 0.0]))
    assert useful_edges(problem).tolist() == [False, True, False]


def test_no_recursion_and_no_square_on_a_long_path() -> None:
    count = 200_000
    rng = np.random.default_rng(0)
    pairs = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    problem = problem_with(rng, count, pairs)
    assert dyn_lin(problem).objective == pytest.approx(solve_trees(problem).objective, rel=1e-12)


def test_ctrl_c_stops_the_solver() -> None:
    rng = np.random.default_rng(0)
    pairs = np.argwhere((rng.random((600, 600)) < 0.02) & ~np.eye(600, dtype=np.bool_))
    retain, rebuild = 1 + 0.01 * rng.random(600), 0.5 + 0.01 * rng.random(len(pairs))
    problem = Problem(retain, np.zeros(600, np.bool_), pairs[:, 0], pairs[:, 1], rebuild)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            opt_ret(problem, time_limit_seconds=60)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - started < 30


def test_components_are_those_of_a_plain_search() -> None:
    for rng in seeds(200):
        problem = random_graph(rng, most=12)
        label = list(range(len(problem)))
        for _ in label:
            for parent, child in zip(problem.parents, problem.children, strict=True):
                label[parent] = label[child] = min(label[parent], label[child])
        assert weak_components(len(problem), problem.parents, problem.children).tolist() == label
