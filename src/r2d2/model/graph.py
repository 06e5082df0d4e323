"""Graphs of tables. Edges are columns of table numbers, so that a million of them take a few arrays."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

from r2d2.model.containment import Missing


@dataclass(frozen=True, slots=True)
class SchemaOperations:
    """Pairwise operations of the ways to build the schema graph (Table 3 of the paper)."""

    tables: int
    families: int  # distinct schemas
    centers: int  # the paper's cluster centers: schemas contained in no other schema
    brute_force: int  # every pair once
    clusters: int  # SGB as printed: sorting, assigning to centers, pairs within each cluster
    index: int  # ours: look-ups in the inverted index, one per distinct schema and column at most


@dataclass(frozen=True)
class SchemaGraph:
    """Containment of schemas between families; the tables of a family have the same schema (SGB, section 4.1).

    An edge between two families stands for one between each pair of their tables; an edge of a family to itself for
    both directions between any two of its members. It is never expanded as a whole: one family of ten thousand tables
    has a hundred million edges.
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
        """Number of pairs of tables that the family edges stand for."""
        sizes = [len(members) for members in self.families]
        return sum(
            sizes[parent] * (sizes[child] - (parent == child))
            for parent, child in zip(self.parents, self.children, strict=True)
        )

    def family_edges(self) -> Iterator[tuple[int, int]]:
        """The edges between families, parent first."""
        return zip(self.parents, self.children, strict=True)


class Check(IntEnum):
    """The last check on content of an edge."""

    NONE = 0  # not checked yet: only metadata is known
    SAMPLED = 1  # sampled rows of the child were looked for in the parent
    COMPARED = 2  # every row of both was compared
    EQUAL = 3  # every row of both was read: they are the same table
    IMPLIED = 4  # the child is in a table that is in the parent, both proven


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges and the findings about each, as columns of equal length, ordered by parent and child."""

    parents: array[int]
    children: array[int]
    check: array[int]  # of Check
    missing_rows: array[int]  # rows of the child, copies counted, that are not in the parent; -1: not counted
    missing_copies: array[int]  # the same where the parent must have each row as often; -1: not counted
    via: array[int]  # for IMPLIED: the table between the two; else the child

    @staticmethod
    def of(parents: array[int], children: array[int]) -> Edges:
        """Edges without a check on content."""
        count = len(parents)
        unknown = array("q", [-1]) * count
        return Edges(parents, children, array("B", bytes(count)), unknown, unknown[:], children[:])

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def columns(self) -> tuple[array[int], ...]:
        """Every column, in the order in which `Edges` takes them."""
        return self.parents, self.children, self.check, self.missing_rows, self.missing_copies, self.via

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Parent and child of each edge."""
        return zip(self.parents, self.children, strict=True)

    def missing(self) -> Iterator[Missing]:
        """Counts of what each edge's parent lacks; -1: not counted."""
        return map(Missing, self.missing_rows, self.missing_copies)

    def concat(self, other: Edges) -> Edges:
        """The edges of both, these first."""
        return Edges(*(one + two for one, two in zip(self.columns, other.columns, strict=True)))


@dataclass(frozen=True)
class ContainmentGraph:
    """The edges `parent -> child` that stand after a step, and those that checks on content have ruled out.

    `dropped` counts the edges that the last step dropped, rule by rule. Pairs that min-max pruning ruled out are not
    stored: the step's one-pair form recomputes the reason from the profiles.
    """

    tables: tuple[str, ...]
    standing: Edges
    step: str
    dropped: Mapping[str, int] = field(default_factory=dict)
    ruled_out: Edges = field(default_factory=lambda: Edges.of(array("I"), array("I")))

    def __len__(self) -> int:
        return len(self.standing)

    def edges(self) -> Iterator[tuple[str, str]]:
        """The edges that stand, by name, parent first."""
        for parent, child in self.standing.pairs():
            yield self.tables[parent], self.tables[child]

    def find(self, parent: int, child: int) -> tuple[Edges, int] | None:
        """Place of the edge between two tables; None if min-max pruning or the schema graph ruled it out."""

        for edges in (self.standing, self.ruled_out):
            place = _position(edges, parent, child)
            if place is not None:
                return edges, place
        return None


# Of a scan whose steps have not built them yet.
NO_SCHEMA_GRAPH = SchemaGraph((), (), array("I"), array("I"), SchemaOperations(0, 0, 0, 0, 0, 0))
NO_GRAPH = ContainmentGraph((), Edges.of(array("I"), array("I")), "")


def _position(edges: Edges, parent: int, child: int) -> int | None:
    first = bisect_left(edges.parents, parent)
    last = bisect_right(edges.parents, parent)
    place = bisect_left(edges.children, child, first, last)
    return place if place < last and edges.children[place] == child else None
