"""A lower bound and a fair choice without a solver: dual ascent for facility location, on a kernel.

Every table offers a sum towards being served. It is raised as long as no table's retain cost is paid for more than
once by those that it would serve; the sum of all offers is then a lower bound (weak duality of the linear
relaxation), and the tables that are paid for in full make a choice that serves everyone.
"""

from __future__ import annotations

import math

import numpy as np

from r2d2.solve.kernel import Kernel, is_parent
from r2d2.solve.problem import Flags, Floats


def dual_ascent(kernel: Kernel) -> tuple[float, Flags]:
    """A lower bound of the kernel's cost, and which tables to retain for a choice that is not far from it."""
    ways = _ways(kernel)
    ceiling = _ceilings(kernel)
    slack = kernel.retain.tolist()
    offers = [0.0] * len(slack)
    rising = sorted(range(len(slack)), key=lambda table: len(ways[table]))
    while rising:
        rising = [table for table in rising if _raise(table, offers, ways[table], ceiling[table], slack)]
    paid = np.array([room <= 1e-12 * cost for room, cost in zip(slack, kernel.retain.tolist(), strict=True)], np.bool_)
    return math.fsum(offers), without_idle(kernel, paid)


def cost_of(kernel: Kernel, retained: Flags) -> float:
    """What the kernel costs if these parents stay and every other table takes its cheapest way."""
    stays = settled(kernel, retained)
    cheapest = _cheapest_ways(kernel, stays)
    return math.fsum(np.where(stays, kernel.retain, cheapest).tolist())


def settled(kernel: Kernel, retained: Flags) -> Flags:
    """The parents among these, and those that would have no way of being rebuilt."""
    stays = retained & is_parent(kernel)
    return np.asarray(stays | np.isinf(_cheapest_ways(kernel, stays)))


def _cheapest_ways(kernel: Kernel, retained: Flags) -> Floats:
    """What each table costs if it is not retained as a parent; infinite if it has to be."""
    cheapest = np.minimum(kernel.fallback, np.where(is_parent(kernel), math.inf, kernel.retain))
    usable = retained[kernel.parents]
    np.minimum.at(cheapest, kernel.children[usable], kernel.rebuild[usable])
    return cheapest


Ways = list[list[tuple[float, int]]]


def _ways(kernel: Kernel) -> Ways:
    """For each table, who can serve it at which cost, cheapest first; a parent serves itself for nothing."""
    ways: Ways = [[(0.0, table)] if serves else [] for table, serves in enumerate(is_parent(kernel).tolist())]
    edges = zip(kernel.rebuild.tolist(), kernel.parents.tolist(), kernel.children.tolist(), strict=True)
    for cost, parent, child in edges:
        ways[child].append((cost, parent))
    for own in ways:
        own.sort()
    return ways


def _ceilings(kernel: Kernel) -> list[float]:
    """What each table costs without any of those ways; a parent has only its fallback."""
    ceilings: list[float] = np.where(
        is_parent(kernel), kernel.fallback, np.minimum(kernel.retain, kernel.fallback)
    ).tolist()
    return ceilings


def _raise(table: int, offers: list[float], ways: list[tuple[float, int]], ceiling: float, slack: list[float]) -> bool:
    """Raise its offer to the next cost at which someone else could serve it; whether it might rise further."""
    offer, level, room = offers[table], ceiling, math.inf
    paying = []
    for cost, server in ways:
        if cost > offer:
            level = min(level, cost)
            break
        paying.append(server)
        room = min(room, slack[server])
    step = min(room, level - offer)
    for server in paying:
        slack[server] -= step
    offers[table] = level if step < room else offer + step
    return step < room and level < ceiling


def without_idle(kernel: Kernel, opened: Flags) -> Flags:
    """Close, dearest first, whatever costs more than it saves those that it serves."""
    ways = _ways(kernel)
    opened = opened & is_parent(kernel)
    is_open = bytearray(opened.tobytes())
    retain, ceiling = kernel.retain.tolist(), _ceilings(kernel)
    served_by: list[list[int]] = [[] for _ in retain]
    for table, own in enumerate(ways):
        for _, server in own:
            served_by[server].append(table)
    for table in sorted(np.flatnonzero(opened).tolist(), key=lambda number: -retain[number]):
        lost = sum(_loss(ways[other], ceiling[other], table, is_open) for other in served_by[table])
        is_open[table] = lost >= retain[table]
    return np.frombuffer(bytes(is_open), np.bool_).copy()


def _loss(ways: list[tuple[float, int]], ceiling: float, closing: int, is_open: bytearray) -> float:
    """What a table pays more once *closing* no longer serves it."""
    before = -1.0
    for cost, server in ways:
        if server == closing and before < 0:
            before = cost
        elif is_open[server]:
            return min(cost, ceiling) - before if before >= 0 else 0.0
    return ceiling - before
