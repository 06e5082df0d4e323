"""Problem and solution of every algorithm here, as NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

RETAINED = -1


@dataclass(frozen=True, slots=True)
class Problem:
    """Opt-Ret (section 5.2): choose tables to retain so that keeping them and rebuilding the others costs least."""

    retain: Floats  # table by table
    must_keep: Flags
    parents: Ints  # edge by edge
    children: Ints
    rebuild: Floats

    def __len__(self) -> int:
        """Number of tables."""
        return len(self.retain)


@dataclass(frozen=True, slots=True)
class Solution:
    """The parent that each table is rebuilt from, or RETAINED, and the gap to the optimum."""

    parent: Ints  # table by table: the parent it is rebuilt from, or RETAINED
    cost: Floats  # table by table: of keeping or of rebuilding it
    gap: Floats  # table by table; the sum is the most that a better choice could save; all 0 if proven optimal

    @property
    def objective(self) -> float:
        """Total cost."""
        return float(self.cost.sum())

    @property
    def proven(self) -> bool:
        """Whether the solution is proven optimal."""
        return not self.gap.any()


def solution_from(problem: Problem, retained: Flags, gap: Floats | None = None) -> Solution:
    """The solution that retains these tables; each other one is rebuilt from its cheapest retained parent.

    A table that must be kept, or has no retained parent that pays, is retained in any case: that takes no parent from
    another.
    """
    retained = retained | problem.must_keep
    usable = retained[problem.parents] & ~retained[problem.children] & useful_edges(problem)
    parents, children, costs = problem.parents[usable], problem.children[usable], problem.rebuild[usable]
    order = np.lexsort((parents, costs, children))
    first = np.ones(len(order), np.bool_)
    first[1:] = children[order][1:] != children[order][:-1]
    chosen = order[first]
    parent = np.full(len(problem), RETAINED, np.int64)
    cost = problem.retain.copy()
    parent[children[chosen]] = parents[chosen]
    cost[children[chosen]] = costs[chosen]
    return Solution(parent, cost, np.zeros(len(problem)) if gap is None else gap)


def useful_edges(problem: Problem) -> Flags:
    """The edges that can pay: the child may be deleted, and rebuilding it costs less than keeping it.

    Retaining the child instead of using any other edge costs no more, and only gives other tables a parent.
    """
    child = problem.children
    return (problem.rebuild < problem.retain[child]) & ~problem.must_keep[child]


def with_edges(problem: Problem, chosen: Flags) -> Problem:
    """The same tables with some of the edges."""
    edges = problem.parents[chosen], problem.children[chosen], problem.rebuild[chosen]
    return Problem(problem.retain, problem.must_keep, *edges)


def part_of(problem: Problem, tables: Flags) -> tuple[Problem, Ints]:
    """Some of the tables with the edges between them, renumbered, and the old number of each."""
    old = np.flatnonzero(tables)
    new = np.cumsum(tables) - 1
    chosen = tables[problem.parents] & tables[problem.children]
    parents, children = new[problem.parents[chosen]], new[problem.children[chosen]]
    return Problem(problem.retain[old], problem.must_keep[old], parents, children, problem.rebuild[chosen]), old


def weak_components(count: int, starts: Ints, ends: Ints) -> Ints:
    """For each of *count* tables the lowest table number of its weakly connected component.

    >>> weak_components(5, np.array([3, 4]), np.array([1, 3])).tolist()
    [0, 1, 2, 1, 1]
    """
    label = np.arange(count)
    while True:
        one, other = label[starts], label[ends]
        low, high = np.minimum(one, other), np.maximum(one, other)
        apart = low != high
        if not apart.any():
            return label
        starts, ends = starts[apart], ends[apart]
        np.minimum.at(label, high[apart], low[apart])
        while True:
            jumped = label[label]
            if np.array_equal(jumped, label):
                break
            label = jumped
