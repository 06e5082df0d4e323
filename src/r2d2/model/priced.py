"""Priced graph and chosen deletions. Edges are columns: a million of them are three arrays."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class PricedGraph:
    """Costs of keeping each table, and of rebuilding it from each candidate parent (section 5.1).

    All costs are for one billing period, in one currency. Only edges with a known recipe that is fast enough belong
    here.

    >>> graph = PricedGraph(
    ...     ("all", "copy"), array("d", [5, 5]), array("I", [0]), array("I", [1]), array("d", [1]), {0: "protected"}
    ... )
    >>> len(graph), graph.must_keep[0]
    (1, 'protected')
    """

    tables: tuple[str, ...]
    retain_cost: array[float]  # table by table: storage and maintenance, (C_s + C_m f_v) S_v
    parents: array[int]  # table numbers, edge by edge
    children: array[int]
    rebuild_cost: array[float]  # edge by edge: cost of one rebuild times the accesses expected, C_e A_v
    must_keep: Mapping[int, str] = field(default_factory=dict)  # table number: one sentence that says why

    def __post_init__(self) -> None:
        """Refuse inconsistent input, and costs that are unknown, negative or infinite."""
        if len(self.retain_cost) != len(self.tables):
            raise ValueError("each table needs one retain cost")
        if not len(self.parents) == len(self.children) == len(self.rebuild_cost):
            raise ValueError("each edge needs a parent, a child and a rebuild cost")
        for costs in (self.retain_cost, self.rebuild_cost):
            if not all(0 <= cost < math.inf for cost in costs):
                raise ValueError("costs must be finite and not negative")
        for numbers in (self.parents, self.children, self.must_keep):
            if len(numbers) and not 0 <= min(numbers) <= max(numbers) < len(self.tables):
                raise ValueError("an edge or a flag names a table that does not exist")
        if any(parent == child for parent, child in zip(self.parents, self.children, strict=True)):
            raise ValueError("no table is its own parent")

    def __len__(self) -> int:
        """Number of edges."""
        return len(self.parents)


class Method(StrEnum):
    """Algorithm that found the choice for a component."""

    DYN_LIN = "Dyn-Lin"  # a path: the paper's dynamic program (section 5.3)
    TREE = "tree"  # no cycle, directions aside: its generalisation
    OPT_RET = "Opt-Ret"  # anything else: the integer program (section 5.2)


@dataclass(frozen=True, slots=True)
class Component:
    """Result for one weakly connected component, by edges that could pay."""

    method: Method
    tables: int
    edges: int
    objective: float
    lower_bound: float  # of the cost of every possible choice

    @property
    def proven(self) -> bool:
        """Whether the choice is known to be the cheapest."""
        return self.lower_bound >= self.objective


@dataclass(frozen=True, slots=True)
class Choice:
    """The tables to delete, the parent that each is rebuilt from, and the reason that each other table stays.

    Every deleted table has one chosen parent, and that parent is retained.
    """

    deleted: array[int]  # table numbers, ascending
    rebuilt_from: array[int]  # for each of them, the number of the chosen parent
    kept_because: tuple[str, ...]  # table by table one sentence; empty for the deleted
    objective: float  # total cost after the deletions, over the billing period
    retain_all: float  # total cost now
    lower_bound: float
    proven: bool  # the cheapest choice, by an exact algorithm or by the solver's proof
    components: tuple[Component, ...]  # those with at least one edge that could pay
    given_up: float = 0.0  # the part of the objective that keeping the preferred of equal tables costs

    @property
    def gap(self) -> float:
        """Share of its cost by which this choice might exceed the cheapest; 0 if proven optimal."""
        return (self.objective - self.lower_bound) / self.objective if self.objective > 0 else 0.0

    @property
    def savings(self) -> float:
        """Savings of the deletions over the billing period, less expected rebuilds."""
        return self.retain_all - self.objective

    def rebuilds(self) -> Iterator[tuple[int, int]]:
        """Each deleted table with the parent that it is rebuilt from."""
        return zip(self.deleted, self.rebuilt_from, strict=True)
