"""Check whether edges that were proven by a chain through a third table are still supported."""

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
    """The edges that hold directly or by a chain of these edges, with their *since*; and those whose chain is broken.

    The table between the two of an implied edge may no longer be between them. If two directly compared edges lead
    through another table, that table takes its place; otherwise the edge is checked again. A lost edge may break
    other chains, so this repeats until none breaks. An edge of an *unasked* table cannot be checked again. It is as
    true as before, and counts as compared directly from then on.
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
    """Whether both halves of each edge's chain are present; as bags, if the edge holds as a bag."""
    numbers = parent * tables + child
    sets, bags = np.sort(numbers[keep]), np.sort(numbers[keep & exact])

    def there(wanted: Ints) -> Flags:
        return np.where(exact, np.isin(wanted, bags), np.isin(wanted, sets))

    return there(parent * tables + via) & there(via * tables + child)


def _other_ways(edges: Edges, broken: Ints, direct: Flags, exact: Flags) -> Ints:
    """For each broken edge a table between its two by direct edges only; -1 without one."""
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
