"""Dyn-Lin for trees: the optimum where no cycle is left once the edges' directions are forgotten.

A table may have several parents and several children, and two equal tables may be each other's parent, as long as
there is only one path between any two tables. Each tree is rooted at one of its tables: every other table has one
neighbour above it and some below, whichever of the two is the parent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from r2d2.solve.problem import Problem, Solution, solution_from

OPEN, SERVED, WAITING = range(
    3
)  # retained; deleted with a parent below; deleted with the neighbour above as its parent


def solve_trees(problem: Problem) -> Solution:
    """The optimum of a forest, in time linear in its size."""
    forest = _hang_up(problem)
    best = _cheapest(problem, forest)
    return solution_from(problem, np.array(_choose(forest, best), np.bool_))


@dataclass(frozen=True, slots=True)
class _Forest:
    order: list[int]  # tables in an order in which each follows the one above it
    above: list[int]  # -1: root of a tree
    from_above: list[float]  # cost of rebuilding the table from the one above it
    to_above: list[float]  # and the other way round; infinite where there is no such edge


@dataclass(frozen=True, slots=True)
class _Cheapest:
    """Lowest cost of each table's subtree, by the table's own state; for WAITING without the table's rebuild."""

    open: list[float]
    served: list[float]
    waiting: list[float]
    server: list[int]  # the parent below used by SERVED; -1 without one


def _hang_up(problem: Problem) -> _Forest:
    """Root every tree at its lowest-numbered table, and order its tables from the top."""
    count, edges = len(problem), len(problem.parents)
    near = np.concatenate([problem.parents, problem.children])  # seen from the child, then from the parent
    here = np.concatenate([problem.children, problem.parents])
    by_table = np.argsort(here, kind="stable")
    start = np.searchsorted(here[by_table], np.arange(count + 1)).tolist()
    neighbour, half = near[by_table].tolist(), by_table.tolist()
    cost = problem.rebuild.tolist()
    above, seen, order = [-1] * count, bytearray(count), list[int]()
    from_above, to_above = [math.inf] * count, [math.inf] * count
    for root in range(count):
        waiting = [] if seen[root] else [root]
        while waiting:
            table = waiting.pop()
            seen[table] = 1
            order.append(table)
            for place in range(start[table], start[table + 1]):
                other = neighbour[place]
                if other == above[table]:
                    seen_from_child = half[place] < edges
                    costs = from_above if seen_from_child else to_above
                    costs[table] = min(costs[table], cost[half[place] % edges])
                elif not seen[other] and above[other] < 0:
                    above[other] = table
                    waiting.append(other)
    return _Forest(order, above, from_above, to_above)


def _cheapest(problem: Problem, forest: _Forest) -> _Cheapest:
    """Add up the lowest costs, from the lowest tables to the roots."""
    count = len(problem)
    opened, waiting, server = problem.retain.tolist(), [0.0] * count, [-1] * count
    served, extra = [math.inf] * count, [math.inf] * count  # extra: added cost of having a parent below
    must_keep = problem.must_keep.tolist()
    for table in reversed(forest.order):
        served[table] = waiting[table] + extra[table]
        if must_keep[table]:
            served[table] = waiting[table] = math.inf
        top = forest.above[table]
        if top >= 0:
            alone = min(opened[table], served[table])
            opened[top] += min(alone, forest.from_above[table] + waiting[table])
            waiting[top] += alone
            serving = forest.to_above[table] + opened[table] - alone
            if serving < extra[top]:
                extra[top], server[top] = serving, table
    return _Cheapest(opened, served, waiting, server)


def _choose(forest: _Forest, best: _Cheapest) -> list[bool]:
    """Flags of the retained tables, chosen from the top down, each given the state of the one above."""
    state = [OPEN] * len(forest.order)
    for table in forest.order:
        top = forest.above[table]
        opened, served = best.open[table], best.served[table]
        if top >= 0 and state[top] == SERVED and best.server[top] == table:
            continue
        if served < opened:
            state[table] = SERVED
        if top >= 0 and state[top] == OPEN and forest.from_above[table] + best.waiting[table] < min(opened, served):
            state[table] = WAITING
    return [what == OPEN for what in state]
