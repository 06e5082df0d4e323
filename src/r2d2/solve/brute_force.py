"""Try every set of tables: slow, obvious, and the oracle for the other algorithms."""

from __future__ import annotations

import math

import numpy as np

from r2d2.solve.problem import Problem, Solution, solution_from

MOST_TABLES = 20


def brute_force(problem: Problem) -> Solution:
    """The optimum by trying every set of deletions (section 5.2's constraints, read literally)."""
    count = len(problem)
    if count > MOST_TABLES:
        raise ValueError(f"{count} tables are too many to try every set of them; {MOST_TABLES} is the most")
    costs_of = [_parent_costs(problem, table) for table in range(count)]
    best, best_set = math.inf, 0
    for deleted in range(1 << count):
        cost = _cost(problem, costs_of, deleted)
        if cost < best:
            best, best_set = cost, deleted
    return solution_from(problem, np.array([not best_set >> table & 1 for table in range(count)], np.bool_))


def _parent_costs(problem: Problem, table: int) -> list[tuple[int, float]]:
    edges = np.flatnonzero(problem.children == table)
    return [(int(problem.parents[edge]), float(problem.rebuild[edge])) for edge in edges]


def _cost(problem: Problem, costs_of: list[list[tuple[int, float]]], deleted: int) -> float:
    """Cost of deleting exactly this set; infinite if that is not allowed."""
    cost = 0.0
    for table, parents in enumerate(costs_of):
        if not deleted >> table & 1:
            cost += float(problem.retain[table])
        elif problem.must_keep[table]:
            return math.inf
        else:
            cost += min((price for parent, price in parents if not deleted >> parent & 1), default=math.inf)
    return cost
