"""Graphs of tables. Edges are columns of table numbers, so that a million of them are two arrays, not objects."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class SchemaOperations:
    """Pairwise operations of the ways to build the schema graph (Table 3 of the paper)."""

    tables: int
    families: int  # distinct schemas
    centers: int  # the paper's cluster centers: schemas that no other schema holds
    brute_force: int  # every pair once
    clusters: int  # SGB as printed: sorting, assigning to centers, pairs within each cluster
    index: int  # ours: look-ups in the inverted index, one per distinct schema and column at most


@dataclass(frozen=True)
class SchemaGraph:
    """Which schema holds which, family by family: the tables of a family have the same schema (SGB, section 4.1).

    An edge between two families stands for one between each of their tables; an edge of a family to itself for
    both directions between any two of its members. It is never spread out as a whole: one family of ten thousand
    tables has a hundred million edges.
    """

    tables: tuple[str, ...]
    families: tuple[array[int], ...]  # the table numbers of each family
    parents: array[int]  # family numbers, edge by edge
    children: array[int]
    operations: SchemaOperations

    @cached_property
    def family_of(self) -> array[int]:
        """The family of each table."""
        number = array("I", bytes(4 * len(self.tables)))
        for family, members in enumerate(self.families):
            for table in members:
                number[table] = family
        return number

    @cached_property
    def edge_count(self) -> int:
        """How many pairs of tables the family edges stand for."""
        sizes = [len(members) for members in self.families]
        return sum(
            sizes[parent] * (sizes[child] - (parent == child))
            for parent, child in zip(self.parents, self.children, strict=True)
        )

    def family_edges(self) -> Iterator[tuple[int, int]]:
        """The edges between families, parent first."""
        return zip(self.parents, self.children, strict=True)


@dataclass(frozen=True)
class ContainmentGraph:
    """The edges `parent -> child` that stand after a step, ordered by parent and child.

    `dropped` counts, rule by rule, what the step took out. Why one pair went is asked of the step's own scalar
    form, which answers from the profiles: a reason needs no storage as long as it can be worked out again.
    """

    tables: tuple[str, ...]
    parents: array[int]
    children: array[int]
    step: str
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """The number of each table."""
        return {name: number for number, name in enumerate(self.tables)}

    def edges(self) -> Iterator[tuple[str, str]]:
        """The edges by name, parent first."""
        for parent, child in zip(self.parents, self.children, strict=True):
            yield self.tables[parent], self.tables[child]

    def has_edge(self, *, parent: str, child: str) -> bool:
        """Whether this edge stands."""
        return (self.number_of[parent], self.number_of[child]) in self._pairs

    @cached_property
    def _pairs(self) -> frozenset[tuple[int, int]]:
        return frozenset(zip(self.parents, self.children, strict=True))
