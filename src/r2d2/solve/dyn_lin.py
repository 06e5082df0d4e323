"""Dyn-Lin: the optimum of a path in one pass forward and one back (section 5.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from r2d2.solve.problem import Problem, Solution, solution_from


def dyn_lin(problem: Problem) -> Solution:
    """The optimum where every table has at most one parent and one child, and no chain closes to a ring."""
    retained = np.ones(len(problem), np.bool_)
    retain = problem.retain.tolist()
    rebuild = _cost_from_parent(problem)
    for path in _paths(problem):
        kept = retained_on_path([retain[table] for table in path], [rebuild[table] for table in path])
        retained[path] = kept
    return solution_from(problem, retained)


def retained_on_path(retain: Sequence[float], rebuild: Sequence[float]) -> list[bool]:
    """Flags of the tables to retain on one path; `rebuild[i]` is the cost of table i from table i - 1, inf: keep it.

    `best[i + 1]` is the paper's ALG[i]. If table i is deleted, table i - 1 is retained, and the tables before are free.

    >>> retained_on_path([9, 5, 5, 5], [math.inf, 1, 1, 1])
    [True, False, True, False]
    """
    best = [0.0]
    goes = []
    for i, keep in enumerate(retain):
        kept = best[i] + keep
        gone = best[i - 1] + retain[i - 1] + rebuild[i] if i else math.inf
        goes.append(gone < kept)
        best.append(min(gone, kept))
    retained = [True] * len(goes)
    i = len(goes) - 1
    while i > 0:
        retained[i] = not goes[i]
        i -= 2 if goes[i] else 1
    return retained


def _cost_from_parent(problem: Problem) -> list[float]:
    cost = np.full(len(problem), math.inf)
    cost[problem.children] = problem.rebuild
    cost[problem.must_keep] = math.inf
    costs: list[float] = cost.tolist()
    return costs


def _paths(problem: Problem) -> Iterator[list[int]]:
    """The tables of each path, beginning with the one that has no parent."""
    following = np.full(len(problem), -1)
    following[problem.parents] = problem.children
    is_child = np.zeros(len(problem), np.bool_)
    is_child[problem.children] = True
    after = following.tolist()
    for table in np.flatnonzero(~is_child & (following >= 0)).tolist():
        path = [table]
        while (table := after[table]) >= 0:
            path.append(table)
        yield path
