"""Edges that were proven by way of a third table: do they still have a chain to stand on?"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from r2d2.model.graph import Check, Edges
from r2d2.steps.edges.arrays import Flags, Ints, as_array, ints, take


def founded(
    edges: Edges, since: array[int], tables: int, unasked: Collection[int] = ()
) -> tuple[Edges, array[int], Edges]:
    """The edges that stand by themselves or on a chain of others here; and those whose chain is broken.

    An edge may have had a table between its two that is no longer between them. If two edges that were compared
    directly lead through another table, that one takes its place; else the edge is asked again. An edge that goes
    may break other chains, so this goes on until nothing breaks. An edge of a table *unasked* cannot be asked again.
    What it says of its two tables is as true as it was; it stands for itself from then on.
    """
    keep = np.ones(len(edges), dtype=bool)
    via = ints(edges.via).copy()
    parent, child, check = ints(edges.parents), ints(edges.children), ints(edges.check).copy()
    alone = np.isin(parent, list(unasked)) | np.isin(child, list(unasked))
    exact = ints(edges.missing_copies) == 0
    while True:
        broken = np.flatnonzero(keep & (check == Check.IMPLIED) & ~_linked(parent, child, via, exact, keep, tables))
        if not len(broken):
            break
        other = _other_ways(edges, broken, keep & (check != Check.IMPLIED), exact)
        via[broken] = np.where(other >= 0, other, via[broken])
        lost = broken[other < 0]
        keep[lost[~alone[lost]]] = False
        check[lost[alone[lost]]] = Check.COMPARED
        via[lost[alone[lost]]] = child[lost[alone[lost]]]
    founded = replace(edges, check=as_array("B", check), via=as_array("I", via))
    unfounded = Edges.of(as_array("I", parent[~keep]), as_array("I", child[~keep]))
    return take(founded, np.flatnonzero(keep)), as_array("I", ints(since)[keep]), unfounded


def _linked(parent: Ints, child: Ints, via: Ints, exact: Flags, keep: Flags, tables: int) -> Flags:
    """Whether both halves of each edge's chain are here; as bags, if the edge holds as a bag."""
    numbers = parent * tables + child
    sets, bags = np.sort(numbers[keep]), np.sort(numbers[keep & exact])

    def there(wanted: Ints) -> Flags:
        return np.where(exact, np.isin(wanted, bags), np.isin(wanted, sets))

    return there(parent * tables + via) & there(via * tables + child)


def _other_ways(edges: Edges, broken: Ints, direct: Flags, exact: Flags) -> Ints:
    """For each broken edge a table between its two by direct edges alone; -1 if there is none."""
    below: dict[int, dict[int, bool]] = {}
    above: dict[int, dict[int, bool]] = {}
    wanted_parents = {edges.parents[place] for place in broken.tolist()}
    wanted_children = {edges.children[place] for place in broken.tolist()}
    for place in np.flatnonzero(direct).tolist():
        parent, child = edges.parents[place], edges.children[place]
        if parent in wanted_parents:
            below.setdefault(parent, {})[child] = bool(exact[place])
        if child in wanted_children:
            above.setdefault(child, {})[parent] = bool(exact[place])
    return np.array([_between(edges, place, below, above, bool(exact[place])) for place in broken.tolist()])


def _between(
    edges: Edges, place: int, below: dict[int, dict[int, bool]], above: dict[int, dict[int, bool]], exact: bool
) -> int:
    down, up = below.get(edges.parents[place], {}), above.get(edges.children[place], {})
    ways = [table for table in sorted(down.keys() & up.keys()) if not exact or (down[table] and up[table])]
    return ways[0] if ways else -1
