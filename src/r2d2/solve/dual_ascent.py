"""Dual ascent for facility location on a kernel: a lower bound and a good choice without a solver.

Every table offers a sum for being served. Offers rise as long as no table's retain cost is paid more than once by the
tables that it would serve. The sum of all offers is then a lower bound (weak duality of the linear relaxation), and
the tables that are paid in full serve every table.
"""

from __future__ import annotations

import math

import numpy as np

from r2d2.solve.kernel import Kernel, is_parent
from r2d2.solve.problem import Flags, Floats


def dual_ascent(kernel: Kernel) -> tuple[float, Flags]:
    """A lower bound of the kernel's cost, and the tables to retain for a choice close to it."""
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
    """Cost of the kernel if these parents stay and every other table takes its cheapest option."""
    stays = settled(kernel, retained)
    cheapest = _cheapest_ways(kernel, stays)
    return math.fsum(np.where(stays, kernel.retain, cheapest).tolist())


def settled(kernel: Kernel, retained: Flags) -> Flags:
    """The parents among these, and the tables that could not be rebuilt from them."""
    stays = retained & is_parent(kernel)
    return np.asarray(stays | np.isinf(_cheapest_ways(kernel, stays)))


def _cheapest_ways(kernel: Kernel, retained: Flags) -> Floats:
    """Cost of each table if it is not retained as a parent; infinite if it must be retained."""
    cheapest = np.minimum(kernel.fallback, np.where(is_parent(kernel), math.inf, kernel.retain))
    usable = retained[kernel.parents]
    np.minimum.at(cheapest, kernel.children[usable], kernel.rebuild[usable])
    return cheapest


Ways = list[list[tuple[float, int]]]


def _ways(kernel: Kernel) -> Ways:
    """For each table, cost and number of the tables that can serve it, cheapest first; a parent serves itself for 0."""
    ways: Ways = [[(0.0, table)] if serves else [] for table, serves in enumerate(is_parent(kernel).tolist())]
    edges = zip(kernel.rebuild.tolist(), kernel.parents.tolist(), kernel.children.tolist(), strict=True)
    for cost, parent, child in edges:
        ways[child].append((cost, parent))
    for own in ways:
        own.sort()
    return ways


def _ceilings(kernel: Kernel) -> list[float]:
    """Cost of each table if no uncertain table serves it; a parent has only its fallback."""
    ceilings: list[float] = np.where(
        is_parent(kernel), kernel.fallback, np.minimum(kernel.retain, kernel.fallback)
    ).tolist()
    return ceilings


def _raise(table: int, offers: list[float], ways: list[tuple[float, int]], ceiling: float, slack: list[float]) -> bool:
    """Raise an offer to the next cost at which another table could serve this one; tell whether it may rise further."""
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
    """Close, most expensive first, each table that costs more than it saves the tables it serves."""
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
    """Extra cost of a table once *closing* no longer serves it."""
    before = -1.0
    for cost, server in ways:
        if server == closing and before < 0:
            before = cost
        elif is_open[server]:
            return min(cost, ceiling) - before if before >= 0 else 0.0
    return ceiling - before
