"""Decide as many tables as possible without a solver; the rest is the kernel.

Opt-Ret is a facility location problem: a retained table is an open facility that serves its children, and itself for
nothing. Each rule here preserves at least one optimum; the state at any time is a smaller problem of the same kind,
plus a way back. In it, a table costs `retain` if it stays; `fallback` is its cost if rebuilt from a parent that is
certain to stay; `parents` holds the uncertain parents that could still beat both.
"""

from __future__ import annotations

import math

import numpy as np

from r2d2.solve.kernel import Kernel
from r2d2.solve.problem import Problem, useful_edges

MOST_RIVALS = 3  # parents that are tried as a replacement of a table


def reduce_problem(problem: Problem) -> Kernel:
    """Apply the rules until none of them finds anything."""
    state = _Reduction(problem)
    state.run()
    while state.drop_replaceable():
        state.run()
    state.merge_followers()
    return state.kernel()


class _Reduction:
    """The problem as it shrinks. A changed table waits in the queue to be examined again."""

    def __init__(self, problem: Problem) -> None:
        count = len(problem)
        self.retain: list[float] = problem.retain.tolist()
        self.fallback = [math.inf] * count
        self.fallback_parent = [-1] * count
        self.parents: list[dict[int, float]] = [{} for _ in range(count)]
        self.children: list[set[int]] = [set() for _ in range(count)]
        self.kept = bytearray(count)
        self.done = bytearray(count)  # decided by other tables
        self.followers: list[tuple[int, tuple[int, ...]]] = []
        self._cheapest: list[tuple[int, float] | None] = [None] * count
        useful = useful_edges(problem)
        edges = (problem.parents[useful], problem.children[useful], problem.rebuild[useful])
        for parent, child, cost in zip(*(column.tolist() for column in edges), strict=True):
            known = self.parents[child].get(parent, math.inf)
            self.parents[child][parent] = min(cost, known)
            self.children[parent].add(child)
        self._queue = list(range(count))
        self._queued = bytearray(b"\1") * count

    def run(self) -> None:
        """Examine every queued table, and those that change by it, in rounds."""
        while self._queue:
            waiting, self._queue = self._queue, []
            for table in waiting:
                self._queued[table] = 0
                if not self.kept[table] and not self.done[table]:
                    self._look_at(table)

    def _look_at(self, table: int) -> None:
        self._drop_dear_parents(table)
        alone = not self.parents[table] and self.fallback[table] == math.inf
        if alone or self._pays_in_any_case(table):
            self._keep(table)
        else:
            if self.children[table] and self._never_pays(table):
                self._cut_children(table)
            if not self.children[table] and len(self.parents[table]) <= 1:
                self._fold(table)

    def _push(self, table: int) -> None:
        if not self._queued[table]:
            self._queued[table] = 1
            self._queue.append(table)

    def _unlink(self, parent: int, child: int) -> float:
        self._cheapest[child] = None
        self.children[parent].discard(child)
        return self.parents[child].pop(parent)

    def _limit(self, table: int) -> float:
        """Upper bound of the table's cost, whatever is decided for the others."""
        return min(self.retain[table], self.fallback[table])

    def _drop_dear_parents(self, table: int) -> None:
        """Drop parents that cost at least as much as an option that is certain."""
        if self.fallback[table] >= self.retain[table]:
            self.fallback[table] = math.inf
        limit = self._limit(table)
        for parent in [parent for parent, cost in self.parents[table].items() if cost >= limit]:
            self._unlink(parent, table)
            self._push(parent)

    def _keep(self, table: int) -> None:
        """Keep a table: it becomes a certain parent of its children."""
        self.kept[table] = 1
        for parent in list(self.parents[table]):
            self._unlink(parent, table)
            self._push(parent)
        for child in list(self.children[table]):
            cost = self._unlink(table, child)
            if cost < self.fallback[child]:
                self.fallback[child], self.fallback_parent[child] = cost, table
            self._touch(child)

    def _touch(self, table: int) -> None:
        """Queue a table whose costs changed, and its parents: they may be decidable now."""
        self._cheapest[table] = None
        self._push(table)
        for parent in self.parents[table]:
            self._push(parent)

    def _pays_in_any_case(self, table: int) -> bool:
        """Whether keeping a table pays even if its best alternatives are retained.

        The savings counted are its own cheapest rebuild, and, for each child without children whose cheapest parent
        it is, the difference to that child's second choice.
        """
        least = min(self.parents[table].values(), default=math.inf)
        missing = self.retain[table] - min(least, self.fallback[table])
        for child in self.children[table]:
            if missing <= 0:
                break
            if not self.children[child]:
                first, gain = self._first_choice(child)
                missing -= gain if first == table else 0
        return missing <= 0

    def _first_choice(self, child: int) -> tuple[int, float]:
        """The child's cheapest parent, and its advantage over the second choice."""
        known = self._cheapest[child]
        if known is None:
            best, best_cost, second = -1, math.inf, self._limit(child)
            for parent, cost in self.parents[child].items():
                if cost < best_cost:
                    best, best_cost, second = parent, cost, min(second, best_cost)
                else:
                    second = min(second, cost)
            known = self._cheapest[child] = best, max(0.0, second - best_cost)
        return known

    def _never_pays(self, table: int) -> bool:
        """Whether keeping a table costs at least what it can save, given its fallback."""
        room = self.retain[table] - self.fallback[table]
        for child in self.children[table]:
            if room < 0:
                break
            room -= max(0.0, self._limit(child) - self.parents[child][table])
        return room >= 0

    def _cut_children(self, table: int) -> None:
        for child in list(self.children[table]):
            self._unlink(table, child)
            self._touch(child)
        self._touch(table)

    def _fold(self, table: int) -> None:
        """Fold a table without children into its only uncertain parent: keeping that parent saves a fixed sum."""
        limit = self._limit(table)
        self._follow(table)
        for parent, cost in list(self.parents[table].items()):
            self.retain[parent] -= limit - cost
            self._unlink(parent, table)
            self._touch(parent)

    def _follow(self, table: int) -> None:
        self.done[table] = 1
        certain = self.fallback[table] < math.inf
        self.followers.append((table, (self.fallback_parent[table],) if certain else tuple(self.parents[table])))

    def drop_replaceable(self) -> bool:
        """Cut off the children of every table that one of its parents can replace; return whether there was one.

        Equal tables are the usual case. The replacement serves every child of the table as cheaply. If both are
        retained, the table may be deleted; if only the table is, retaining the replacement instead costs no more.
        """
        least = [min(self.parents[t].values(), default=math.inf) for t in range(len(self.retain))]
        least = [min(pair) for pair in zip(least, self.fallback, strict=True)]
        found = False
        for table, children in enumerate(self.children):
            if children and any(self._replaces(rival, table) for rival in self._rivals(table, least)):
                self._cut_children(table)
                found = True
        return found

    def _rivals(self, table: int, least: list[float]) -> list[int]:
        """The parents that cost no more in its place, best first. *least*: lowest cost of deleting each table."""
        most = self.retain[table]
        costs = (
            (self.retain[rival] + cost - least[rival], rival)
            for rival, cost in self.parents[table].items()
            if self.retain[rival] + cost <= most + least[rival]
        )
        return [rival for _, rival in sorted(costs)[:MOST_RIVALS]]

    def _replaces(self, rival: int, table: int) -> bool:
        parents = self.parents
        return all(
            child == rival or parents[child].get(rival, math.inf) <= parents[child][table]
            for child in self.children[table]
        )

    def merge_followers(self) -> None:
        """Merge childless tables that prefer the same parents in the same order: they all choose alike."""
        leader_of: dict[tuple[int, ...], int] = {}
        for table, parents in enumerate(self.parents):
            if parents and not self.children[table]:
                self.retain[table] = self._limit(table)
                self._follow(table)
                self.done[table], self.fallback[table] = 0, math.inf
                order = tuple(sorted(parents, key=lambda parent: (parents[parent], parent)))
                leader = leader_of.setdefault(order, table)
                if leader != table:
                    self._merge(table, leader)

    def _merge(self, table: int, leader: int) -> None:
        self.retain[leader] += self.retain[table]
        self.done[table] = 1
        for parent in list(self.parents[table]):
            self.parents[leader][parent] += self._unlink(parent, table)

    def kernel(self) -> Kernel:
        """The undecided rest, as arrays."""
        tables = [t for t in range(len(self.retain)) if not self.kept[t] and not self.done[t]]
        place = {table: number for number, table in enumerate(tables)}
        edges = [(place[p], place[t], cost) for t in tables for p, cost in self.parents[t].items()]
        parents, children, rebuild = zip(*edges, strict=True) if edges else ((), (), ())
        return Kernel(
            np.array(tables, np.int64),
            np.array([self.retain[table] for table in tables], np.float64),
            np.array([self.fallback[table] for table in tables], np.float64),
            np.array(parents, np.int64),
            np.array(children, np.int64),
            np.array(rebuild, np.float64),
            np.frombuffer(bytes(self.kept), np.bool_).copy(),
            self.followers,
        )
