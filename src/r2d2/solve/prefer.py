"""Exchange retained tables for equal ones that the user prefers to keep, within a budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from r2d2.solve.problem import RETAINED, Flags, Problem, Solution, solution_from

NOISE = 1e-9  # differences below this share of a cost are rounding; proofs have nine digits as well


class _Exchange(NamedTuple):
    goes: frozenset[int]
    stays: frozenset[int]


def keep_preferred(
    problem: Problem, solution: Solution, groups: Iterable[Sequence[int]], *, budget: float
) -> tuple[Solution, float]:
    """The solution with the preferred tables of each group retained, and its extra cost.

    A group holds equal tables, the preferred first. It retains as many tables as before. The cheapest exchanges are
    made first; together they cost *budget* at most.
    """
    retained = solution.parent == RETAINED
    wanted = [exchange for group in groups if (exchange := _exchange(group, retained, problem.must_keep)) is not None]
    if not wanted:
        return solution, 0.0
    costs = _Costs(problem, retained, wanted)
    for exchange in sorted(wanted, key=lambda one: (costs.extra(one), min(one.stays))):
        extra = costs.extra(exchange)
        if extra <= max(0.0, budget) + costs.noise(exchange):
            costs.make(exchange)
            budget -= max(0.0, extra)
    if np.array_equal(costs.retained, retained):
        return solution, 0.0
    found = solution_from(problem, costs.retained, solution.gap)
    extra = found.objective - solution.objective
    return found, extra if extra > NOISE * solution.objective else 0.0


def _exchange(group: Sequence[int], retained: Flags, must_keep: Flags) -> _Exchange | None:
    """The exchange that makes the first tables of a group stay; tables that must be kept take no part."""
    free = [table for table in group if not must_keep[table]]
    here = {table for table in free if retained[table]}
    first = set(free[: len(here)])
    return None if here == first else _Exchange(frozenset(here - first), frozenset(first - here))


class _Costs:
    """Cost of an exchange, given the exchanges made so far."""

    def __init__(self, problem: Problem, retained: Flags, wanted: Sequence[_Exchange]) -> None:
        self.retained = retained.copy()
        self._retain = problem.retain
        moved = np.zeros(len(problem), np.bool_)
        moved[[table for exchange in wanted for table in (*exchange.goes, *exchange.stays)]] = True
        near = moved.copy()
        near[problem.children[moved[problem.parents]]] = True
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        self._parents: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        edges = near[problem.children]
        for parent, child, cost in zip(
            problem.parents[edges].tolist(),
            problem.children[edges].tolist(),
            problem.rebuild[edges].tolist(),
            strict=True,
        ):
            self._parents[child].append((parent, cost))
            if moved[parent]:
                self._children[parent].append(child)

    def extra(self, exchange: _Exchange) -> float:
        """Cost of the exchange on top of the present choice."""
        near = self._near(exchange)
        before = sum(self._cost(table, frozenset(), frozenset()) for table in near)
        return sum(self._cost(table, exchange.goes, exchange.stays) for table in near) - before

    def noise(self, exchange: _Exchange) -> float:
        """The largest difference in cost that counts as rounding."""
        return NOISE * float(sum(self._retain[table] for table in self._near(exchange)))

    def make(self, exchange: _Exchange) -> None:
        """Carry the exchange out."""
        self.retained[list(exchange.goes)] = False
        self.retained[list(exchange.stays)] = True

    def _near(self, exchange: _Exchange) -> list[int]:
        """The tables whose cost the exchange can change."""
        moved = exchange.goes | exchange.stays
        return sorted(moved.union(*(self._children[table] for table in moved)))

    def _cost(self, table: int, goes: frozenset[int], stays: frozenset[int]) -> float:
        """Cost of keeping a table or of its cheapest rebuild; a table without a retained parent is kept."""

        def is_retained(other: int) -> bool:
            return other in stays or (other not in goes and bool(self.retained[other]))

        keep = float(self._retain[table])
        if is_retained(table):
            return keep
        return min((cost for parent, cost in self._parents[table] if is_retained(parent)), default=keep)
