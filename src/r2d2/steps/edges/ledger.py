"""The counts of pairs that have to be proven or refuted, as columns, and which table stands for which.

A pair of tables is one number: parent * tables + child.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from r2d2.model.containment import Missing
from r2d2.model.graph import Edges
from r2d2.model.profile import TableProfile
from r2d2.steps.edges.arrays import Flags, Ints, among
from r2d2.steps.edges.chains import Chains, strong_components

Pair = tuple[int, int]  # parent, child
PAIRS_AT_ONCE = 1 << 20


class Counts(Protocol):
    """Counts of what the parents of some pairs lack, as columns; the pairs are numbers, and ascend."""

    @property
    def pairs(self) -> Ints:
        """The pairs."""

    @property
    def rows(self) -> Ints:
        """Rows that are nowhere in the parent."""

    @property
    def copies(self) -> Ints:
        """Rows beyond the number that the parent has of each."""


class Content(Protocol):
    """Reader of the tables; those that cannot be read are left out of its answers."""

    def same_bytes(self, groups: Sequence[Sequence[int]]) -> Mapping[int, int]:
        """By table the first of its group that is the same, byte by byte; others may be left out."""

    def compare(self, pairs: Ints, *, at_no_cost: Ints = ...) -> Counts:
        """Missing rows, exactly, for the ascending *pairs* and those of *at_no_cost* that come along."""


class Counted(NamedTuple):
    """Counts so far; see `Counts`."""

    pairs: Ints
    rows: Ints
    copies: Ints

    @staticmethod
    def of(known: Mapping[int, Missing]) -> Counted:
        """The counts of some pairs."""
        pairs = sorted(known)
        columns = (pairs, [known[pair].rows for pair in pairs], [known[pair].copies for pair in pairs])
        return Counted(*(np.array(column, np.int64) for column in columns))

    def and_also(self, more: Counts) -> Counted:
        """These counts, and those of other pairs."""
        if not len(self.pairs):
            return Counted(more.pairs, more.rows, more.copies)
        new = ~among(more.pairs, self.pairs)
        both = zip(self, (more.pairs, more.rows, more.copies), strict=True)
        columns = [np.concatenate([mine, theirs[new]]) for mine, theirs in both]
        order = np.argsort(columns[0], kind="stable")
        return Counted(*(column[order] for column in columns))

    def take(self, places: Ints | Flags) -> Counted:
        """The counts at some places."""
        return Counted(*(column[places] for column in self))


class Ledger:
    """Counts so far, and the table that each table stands for."""

    def __init__(
        self, edges: Edges, profiles: Sequence[TableProfile], known: Mapping[Pair, Missing], content: Content
    ) -> None:
        self.tables = len(profiles)
        self.rows = np.array([-1 if profile.rows is None else profile.rows for profile in profiles], np.int64)
        self._edges = edges
        self._content = content
        self.stands_for = _replaced(self.tables, _known_equal(known, profiles))
        self._let_same_bytes_stand(profiles)
        pairs = {self._between(pair): missing for pair, missing in known.items()}
        self.counted = Counted.of({p * self.tables + c: missing for (p, c), missing in pairs.items() if p != c})
        self.failed = np.empty(0, np.int64)
        self._link()

    def _let_same_bytes_stand(self, profiles: Sequence[TableProfile]) -> None:
        """Let one of tables with the same files stand for the others."""
        width = np.array([len(profile.schema) for profile in profiles], np.int64)
        groups = lookalikes(_distinct([numbers for _, numbers in self.asked()]), self.rows, width)
        self.stands_for = _replaced(self.tables, self._content.same_bytes(groups))[self.stands_for]

    def asked(self) -> Iterator[tuple[slice, Ints]]:
        """The pairs of tables that stand for those of the edges, some at a time, with their places."""
        parents, children = np.asarray(self._edges.parents), np.asarray(self._edges.children)
        for first in range(0, len(parents), PAIRS_AT_ONCE):
            some = slice(first, min(first + PAIRS_AT_ONCE, len(parents)))
            yield some, self.stands_for[parents[some]] * self.tables + self.stands_for[children[some]]

    def open_pairs(self) -> Ints:
        """Pairs to count: those that do not follow from earlier counts. They ascend."""
        return _distinct([numbers[self._is_open(places, numbers)] for places, numbers in self.asked()])

    def _is_open(self, places: slice, numbers: Ints) -> Flags:
        open_ = numbers // self.tables != numbers % self.tables
        open_ &= self.rows[np.asarray(self._edges.children)[places]] != 0
        open_ &= ~(among(numbers, self.counted.pairs) | among(numbers, self.failed))
        return without(self.bag_chains, open_, numbers, self.tables)

    def count(self, chosen: Ints, along: Ints) -> None:
        """Compare *chosen* and whatever comes *along*."""
        self.counted = self.counted.and_also(self._content.compare(chosen, at_no_cost=along))
        self.failed = np.union1d(self.failed, chosen[~among(chosen, self.counted.pairs)])
        self._link()

    def _link(self) -> None:
        """The chains over what is counted: edges proven as a set, and as a bag."""
        proven = self.proven()
        parents, children = np.divmod(proven.pairs, self.tables)
        kept = (self.stands_for[parents] == parents) & (self.stands_for[children] == children) & (parents != children)
        self.chains = Chains(pairs_of(proven.pairs[kept], self.tables))
        self.bag_chains = Chains(pairs_of(proven.pairs[kept & (proven.copies == 0)], self.tables))

    def proven(self) -> Counted:
        """The counts of pairs that hold as a set."""
        return self.counted.take(self.counted.rows == 0)

    def _between(self, pair: Pair) -> Pair:
        return int(self.stands_for[pair[0]]), int(self.stands_for[pair[1]])


def pairs_of(numbers: Ints, tables: int) -> list[Pair]:
    """Pairs as parent and child."""
    parents, children = np.divmod(numbers, tables)
    return list(zip(parents.tolist(), children.tolist(), strict=True))


def without(chains: Chains, flags: Flags, numbers: Ints, tables: int) -> Flags:
    """The flags, lowered for pairs from whose parent a chain leads to their child."""
    parents, children = np.divmod(numbers, tables)
    linked = np.zeros(tables, np.bool_)
    linked[list(chains.tables)] = True
    for place in np.flatnonzero(flags & linked[parents] & linked[children]).tolist():
        flags[place] = not chains.lead(int(parents[place]), int(children[place]))
    return flags


def lookalikes(pairs: Ints, rows: Ints, width: Ints) -> list[list[int]]:
    """Groups of tables that may be equal: they might hold one another, with as many columns and rows.

    Unknown row counts, below 0, are equal to one another.
    """
    tables = len(rows)
    parents, children = np.divmod(pairs, max(1, tables))
    alike = (parents < children) & (rows[parents] == rows[children]) & (rows[parents] != 0)
    alike &= width[parents] == width[children]
    one, other = parents[alike], children[alike]
    mutual = among(other * tables + one, pairs)
    one, other = one[mutual], other[mutual]
    group_of = _weak_components(one, other, tables)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for table in np.union1d(one, other).tolist():
        groups[int(group_of[table])].append(table)
    return list(groups.values())


def _weak_components(one: Ints, other: Ints, tables: int) -> Ints:
    """For each table the first of those that links lead to, in either direction."""
    first = np.arange(tables)
    while True:
        lowest = np.minimum(first[one], first[other])
        before = first.copy()
        np.minimum.at(first, one, lowest)
        np.minimum.at(first, other, lowest)
        first = first[first]
        if (first == before).all():
            return first


def _replaced(tables: int, by: Mapping[int, int]) -> Ints:
    """All tables, some replaced by others."""
    numbers = np.arange(tables)
    numbers[list(by)] = list(by.values())
    return numbers


def _known_equal(known: Mapping[Pair, Missing], profiles: Sequence[TableProfile]) -> dict[int, int]:
    """Tables that hold one another, copies and all, are equal: the first of them stands for the others."""
    exact = [pair for pair, missing in known.items() if missing.copies == 0 and profiles[pair[1]].rows]
    groups = [sorted(component) for component in strong_components(exact)]
    return {table: tables[0] for tables in groups for table in tables}


def _distinct(parts: Sequence[Ints]) -> Ints:
    """All numbers once, ascending."""
    numbers = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return numbers if (numbers[1:] > numbers[:-1]).all() else np.unique(numbers)
