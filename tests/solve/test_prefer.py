"""Preferred tables stay in place of equal ones; what that costs is known and never more than was allowed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from r2d2.solve.brute_force import brute_force
from r2d2.solve.prefer import keep_preferred
from r2d2.solve.problem import RETAINED, Problem, Solution, solution_from, useful_edges, with_edges
from tests.solve.random_problems import Random, random_graph, seeds

pytestmark = pytest.mark.slow


def equal_tables(rng: Random) -> tuple[Problem, list[list[int]]]:
    """Up to three groups of equal tables of about the same size, each above the next; all hold one loose table."""
    level = np.sort(rng.integers(0, 3, int(rng.integers(2, 9))))
    level = np.append(level, 3)
    count = len(level)
    matrix = level[:, None] <= level[None, :]
    np.fill_diagonal(matrix, False)
    pairs = np.argwhere(matrix)
    size = 10.0 * (4 - level) * (1 + rng.choice([0.0, 0.001, 0.02, 0.3], count))
    accesses = rng.choice([0.0, 0.0, 0.01, 0.2], count)
    rebuild = (0.1 * size[pairs[:, 0]] + 0.6 * size[pairs[:, 1]]) * accesses[pairs[:, 1]]
    whole = Problem(size, rng.random(count) < 0.1, pairs[:, 0], pairs[:, 1], rebuild)
    groups = [np.flatnonzero(level == one) for one in range(3)]
    return with_edges(whole, useful_edges(whole)), [rng.permutation(g).tolist() for g in groups if len(g) > 1]


def cost_of(problem: Problem, retained: set[int]) -> float:
    """By the definition, table by table."""
    total = 0.0
    for table in range(len(problem)):
        edges = zip(problem.parents.tolist(), problem.children.tolist(), problem.rebuild.tolist(), strict=True)
        rebuilds = [cost for parent, child, cost in edges if child == table and parent in retained]
        keep = float(problem.retain[table])
        total += keep if table in retained else min([keep, *rebuilds])
    return total


@pytest.mark.parametrize("share", [0.0, 0.01, 0.2, 1.0])
def test_no_more_than_the_budget_is_given_up_and_it_is_stated(share: float) -> None:
    for rng in seeds(300):
        problem, groups = equal_tables(rng)
        best = brute_force(problem)
        budget = share * (float(problem.retain.sum()) - best.objective)
        found, given_up = keep_preferred(problem, best, groups, budget=budget)
        assert found.objective == pytest.approx(best.objective + given_up, rel=1e-8)
        assert found.objective <= (best.objective + budget) * (1 + 1e-8)
        retained = set(np.flatnonzero(found.parent == RETAINED).tolist())
        assert found.objective == pytest.approx(cost_of(problem, retained), rel=1e-9)
        for table in set(range(len(problem))) - retained:
            assert int(found.parent[table]) in retained and not problem.must_keep[table]


@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_a_table_goes_for_an_equal_one_that_is_less_preferred_only_if_that_would_cost_too_much(share: float) -> None:
    met = 0
    for rng in seeds(300):
        problem, groups = equal_tables(rng)
        best = brute_force(problem)
        budget = share * (float(problem.retain.sum()) - best.objective)
        found, given_up = keep_preferred(problem, best, groups, budget=budget)
        retained = set(np.flatnonzero(found.parent == RETAINED).tolist())
        for group in groups:
            for better, worse in combinations(group, 2):
                if worse in retained and better not in retained and not problem.must_keep[worse]:
                    if len([t for t in group if t in retained and not problem.must_keep[t]]) == 1:
                        first = next(t for t in group if not problem.must_keep[t])
                        other = cost_of(problem, retained - {worse} | {first})
                        assert other - found.objective > budget - given_up - 1e-9 * other
                elif better in retained and worse not in retained:
                    met += 1
    assert met > 100


def test_tables_of_the_same_cost_are_exchanged_without_any_budget() -> None:
    ends = np.array([[0, 1], [1, 0], [0, 2], [1, 2]])
    problem = Problem(np.array([5.0, 5.0, 2.0]), np.zeros(3, np.bool_), ends[:, 0], ends[:, 1], np.ones(4))
    alphabet = solution_from(problem, np.array([True, False, False]))
    found, given_up = keep_preferred(problem, alphabet, [[1, 0]], budget=0.0)
    assert found.parent.tolist() == [1, RETAINED, 1] and given_up == 0


def test_whatever_the_groups_are_the_result_is_a_solution_within_the_budget() -> None:
    """Groups that are none: edges are missing, costs span orders of magnitude."""
    for rng in seeds(300):
        whole = random_graph(rng, 8)
        problem = with_edges(whole, useful_edges(whole))
        best: Solution = brute_force(problem)
        groups = np.array_split(rng.permutation(len(problem)), 2)
        budget = float(rng.choice([0.0, 0.1])) * (float(problem.retain.sum()) - best.objective)
        found, given_up = keep_preferred(problem, best, [g.tolist() for g in groups], budget=budget)
        assert found.objective <= best.objective + budget + 1e-8 * float(problem.retain.sum())
        assert given_up <= budget + 1e-8 * float(problem.retain.sum())
        deleted = np.flatnonzero(found.parent != RETAINED)
        assert (found.parent[found.parent[deleted]] == RETAINED).all()
