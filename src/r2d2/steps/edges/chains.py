"""Chains of edges: reachability, and the edges that no chain can replace.

Sets of tables are Python integers used as bit sets, numbered along a topological order of the components.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

Pair = tuple[int, int]


class Chains:
    """Reachability over some edges."""

    def __init__(self, edges: Iterable[Pair]) -> None:
        self._edges = sorted(set(edges))

    @cached_property
    def tables(self) -> set[int]:
        """The tables of all edges."""
        return {table for edge in self._edges for table in edge}

    def lead(self, start: int, end: int) -> bool:
        """Whether a chain of edges leads from one table to another."""
        here, there = self._component.get(start), self._component.get(end)
        if here is None or there is None:
            return False
        return here == there or bool(self._reach[here] >> there & 1)

    def stop_between(self, start: int, end: int) -> int:
        """A table between: the first after *start* from which *end* can be reached."""
        for following in self._next[start]:
            if following != end and self.lead(following, end):
                return following
        return end

    @cached_property
    def _next(self) -> dict[int, list[int]]:
        following: defaultdict[int, list[int]] = defaultdict(list)
        for start, end in self._edges:
            following[start].append(end)
        return following

    @cached_property
    def _components(self) -> list[list[int]]:
        return strong_components(self._edges)

    @cached_property
    def _component(self) -> dict[int, int]:
        return {table: number for number, tables in enumerate(self._components) for table in tables}

    @cached_property
    def _reach(self) -> list[int]:
        """The components reachable from each; a component comes after those that it leads to."""
        reach = [0] * len(self._components)
        for number, tables in enumerate(self._components):
            for table in tables:
                for following in self._next.get(table, ()):
                    other = self._component[following]
                    if other != number:
                        reach[number] |= reach[other] | 1 << other
        return reach


def needed_edges(asked: Iterable[Pair], proven: Iterable[Pair]) -> set[Pair]:
    """Edges of *asked* that, if they hold, prove all of *asked* together with *proven*; at least one, if any is asked.

    Within a component (tables that might all contain one another) neighbours are linked in a row, both ways; between
    components the edges of the transitive reduction remain, one for each pair of components.
    """
    wanted = set(asked)
    known = set(proven)
    components = strong_components(wanted | known)
    number_of = {table: number for number, tables in enumerate(components) for table in tables}
    chosen = {pair for tables in components if len(tables) > 1 for pair in _row(tables, wanted, known)}
    bridges: defaultdict[int, dict[int, Pair]] = defaultdict(dict)
    for pair in sorted(wanted) + sorted(known):  # a proven edge between two components replaces an asked one
        start, end = number_of[pair[0]], number_of[pair[1]]
        if start != end:
            bridges[start][end] = pair
    chosen.update(pair for pair in _reduced(bridges, len(components)) if pair in wanted and pair not in known)
    return chosen


def _row(tables: Sequence[int], wanted: set[Pair], known: set[Pair]) -> Iterator[Pair]:
    """Edges that link a component: between neighbours both ways, or all edges if one of these is missing."""
    ordered = sorted(tables)
    links = [pair for a, b in pairwise(ordered) for pair in ((a, b), (b, a))]
    if all(pair in wanted or pair in known for pair in links):
        yield from (pair for pair in links if pair not in known)
    else:
        inside = set(tables)
        yield from (pair for pair in wanted if pair[0] in inside and pair[1] in inside and pair not in known)


def _reduced(bridges: dict[int, dict[int, Pair]], count: int) -> Iterator[Pair]:
    """The edges between components that no longer path replaces. Component numbers fall along the edges."""
    reach = [0] * count
    for start in range(count):
        covered = 0
        for end in sorted(bridges.get(start, ()), reverse=True):  # the nearest first: it may lead to the others
            if not covered >> end & 1:
                yield bridges[start][end]
            covered |= reach[end] | 1 << end
        reach[start] = covered


def strong_components(edges: Iterable[Pair]) -> list[list[int]]:
    """Strongly connected components; a component comes after those that it leads to (Tarjan)."""
    following: defaultdict[int, list[int]] = defaultdict(list)
    tables: dict[int, None] = {}
    for start, end in edges:
        following[start].append(end)
        tables[start] = tables[end] = None
    search = _Search(following)
    for table in tables:
        search.visit(table)
    return search.components


class _Search:
    """Tarjan's depth-first search without recursion."""

    def __init__(self, following: dict[int, list[int]]) -> None:
        self.components: list[list[int]] = []
        self._following = following
        self._index: dict[int, int] = {}
        self._low: dict[int, int] = {}
        self._stack: list[int] = []
        self._on_stack: set[int] = set()

    def visit(self, root: int) -> None:
        """Complete every component that can be reached from *root*."""
        if root in self._index:
            return
        work = [(root, self._enter(root))]
        while work:
            table, ways = work[-1]
            for end in ways:
                if end not in self._index:
                    work.append((end, self._enter(end)))
                    break
                if end in self._on_stack:
                    self._low[table] = min(self._low[table], self._index[end])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    self._low[above] = min(self._low[above], self._low[table])
                if self._low[table] == self._index[table]:
                    self._close(table)

    def _enter(self, table: int) -> Iterator[int]:
        self._index[table] = self._low[table] = len(self._index)
        self._stack.append(table)
        self._on_stack.add(table)
        return iter(self._following.get(table, ()))

    def _close(self, table: int) -> None:
        component = []
        while True:
            last = self._stack.pop()
            self._on_stack.discard(last)
            component.append(last)
            if last == table:
                self.components.append(component)
                return
