"""The kernel: the part of a problem that the reductions leave for the solver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from r2d2.solve.problem import Flags, Floats, Ints, weak_components


@dataclass(frozen=True, slots=True)
class Kernel:
    """The undecided tables and edges, and the way back to the whole problem."""

    tables: Ints  # the tables that are left, by their number in the problem
    retain: Floats
    fallback: Floats  # infinite where no parent is certain to stay
    parents: Ints  # edge by edge, by their place in `tables`
    children: Ints
    rebuild: Floats
    kept: Flags  # of the whole problem: certain to stay
    followers: list[tuple[int, tuple[int, ...]]]  # tables that go if one of these parents stays; decide the last first

    def expand(self, retained: Flags) -> Flags:
        """The whole problem's retained tables, from the kernel's."""
        stays = self.kept.copy()
        stays[self.tables] = retained
        for table, parents in reversed(self.followers):
            stays[table] = not any(stays[parent] for parent in parents)
        return stays


def is_parent(kernel: Kernel) -> Flags:
    """Flags of the tables that serve others; retaining any other table affects only itself."""
    serves = np.zeros(len(kernel.tables), np.bool_)
    serves[kernel.parents] = True
    return serves


def components_of(kernel: Kernel) -> Ints:
    """The component of each table, numbered from 0."""
    lowest = weak_components(len(kernel.tables), kernel.parents, kernel.children)
    return np.asarray(np.unique(lowest, return_inverse=True)[1], np.int64)


def split_by(kernel: Kernel, group: Ints) -> Iterator[tuple[Ints, Kernel]]:
    """Split into groups without edges between them: the places of each group's tables, and its own kernel."""
    by_group = np.argsort(group, kind="stable")
    edges_by_group = np.argsort(group[kernel.parents], kind="stable")
    numbers = np.unique(group)
    starts = np.searchsorted(group[by_group], numbers)
    edge_starts = np.searchsorted(group[kernel.parents][edges_by_group], numbers)
    new = np.empty(len(group), np.int64)
    new[by_group] = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    for places, edges in zip(np.split(by_group, starts[1:]), np.split(edges_by_group, edge_starts[1:]), strict=True):
        if len(places):
            yield places, _part(kernel, places, edges, new)


def _part(kernel: Kernel, places: Ints, edges: Ints, new: Ints) -> Kernel:
    return Kernel(
        kernel.tables[places],
        kernel.retain[places],
        kernel.fallback[places],
        new[kernel.parents[edges]],
        new[kernel.children[edges]],
        kernel.rebuild[edges],
        np.zeros(0, np.bool_),
        [],
    )
