"""Prefer one of several equal tables, where cost does not decide."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

import numpy as np

from r2d2.model.graph import Check
from r2d2.model.proposal import EqualKept, Rule
from r2d2.model.scan import Scan
from r2d2.model.table import Table
from r2d2.solve.problem import weak_components
from r2d2.steps.edges.arrays import Ints, ints

Pair = tuple[int, int]  # parent, child
DAY_NS = 86_400 * 10**9
PASSING = frozenset({"scratch", "tmp", "temp", "backup", "backups", "bak", "copy", "copies", "old"})
_RULES = (Rule.READS, Rule.PREFER, Rule.AGE, Rule.DEPTH, Rule.NAME, Rule.ALPHABET)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


@dataclass(frozen=True)
class Preferences:
    """The equal tables of a scan and what speaks for each; a lower standing stays."""

    tables: Sequence[Table]
    groups: tuple[tuple[int, ...], ...]  # the preferred first
    standing: Mapping[int, tuple[float | str, ...]]  # one value for each of the rules, in their order

    @cached_property
    def group_of(self) -> dict[int, tuple[int, ...]]:
        """The equal tables of each table that has any, itself included."""
        return {table: group for group in self.groups for table in group}

    def why(self, *, kept: int, gone: int, must_keep: Mapping[int, str]) -> EqualKept:
        """The rule by which one table stays and an equal one goes."""
        name, other = self.tables[kept].name, self.tables[gone].name
        if kept in must_keep:
            return EqualKept(name, Rule.GUARD, f"{name} must stay: {must_keep[kept]}")
        if self.standing[gone] < self.standing[kept]:
            return EqualKept(name, Rule.COST, f"keeping {other} instead would cost more than --prefer-cost allows")
        pairs = zip(_RULES, self.standing[kept], self.standing[gone], strict=True)
        rule, mine, its = next((rule, mine, its) for rule, mine, its in pairs if mine != its)
        return EqualKept(name, rule, _sentence(rule, name, other, mine, its))


def prefer_tables(
    scan: Scan, *, reads_per_month: Sequence[float] | None, is_preferred: Callable[[str], bool]
) -> Preferences:
    """The groups of equal tables, in the order in which they should stay.

    Tables are equal if each is proven to hold every row of the other as often. *reads_per_month* come from an access
    log: without one, reads tell no table from another.
    """
    groups = list(_equal(scan))
    standing: dict[int, tuple[float | str, ...]] = {}
    for number in (number for group in groups for number in group):
        table = scan.tables[number]
        standing[number] = (
            -reads_per_month[number] if reads_per_month is not None else 0.0,
            0 if is_preferred(table.name) else 1,
            min((file.modified_ns for file in table.files), default=0) // DAY_NS,
            table.name.count("/"),
            1 if passing_word(table.name) else 0,
            table.name,
        )
    ordered = tuple(tuple(sorted(group, key=standing.__getitem__)) for group in groups)
    return Preferences(scan.tables, ordered, standing)


def edges_from_preferred(scan: Scan, preferences: Preferences) -> set[Pair]:
    """The edges that a plan needs recipes for so that the preferred of equal tables can serve the others' children."""
    first = {table: group[0] for group in preferences.groups for table in group}
    edges = set(zip(scan.graph.standing.parents, scan.graph.standing.children, strict=True))
    wanted = {(first[parent], child) for parent, child in edges if parent in first}
    return wanted & edges


def passing_word(name: str) -> str:
    """The first word of a name that says that a table is not meant to last; '' if there is none.

    >>> passing_word("raw/ordersCopy2"), passing_word("TMP/x"), passing_word("gold/threshold")
    ('copy', 'tmp', '')
    """
    return next((word.lower() for word in _WORD.findall(name) if word.lower() in PASSING), "")


def _equal(scan: Scan) -> Iterator[list[int]]:
    """The tables that hold one another with every copy of every row, by comparison of all rows."""
    edges, count = scan.graph.standing, len(scan.tables)
    proven = (ints(edges.check) >= Check.COMPARED) & (np.asarray(edges.missing_copies, np.int64) == 0)
    parents, children = ints(edges.parents)[proven], ints(edges.children)[proven]
    mutual = np.isin(parents * count + children, children * count + parents)
    lowest: Ints = weak_components(count, parents[mutual], children[mutual])
    members: defaultdict[int, list[int]] = defaultdict(list)
    for table in np.unique(parents[mutual]).tolist():
        members[int(lowest[table])].append(table)
    yield from members.values()


def _sentence(rule: Rule, kept: str, gone: str, mine: float | str, its: float | str) -> str:
    match rule, mine, its:
        case Rule.READS, float(), float():
            return f"{kept} is read {-mine:,.1f} times a month, {gone} {-its:,.1f} times"
        case Rule.PREFER, _, _:
            return f"{kept} matches --prefer, {gone} does not"
        case Rule.AGE, int(), int():
            return f"{kept} is older: its first file is of {_day(mine)}, that of {gone} of {_day(its)}"
        case Rule.DEPTH, _, _:
            return f"{kept} lies in fewer folders than {gone}"
        case Rule.NAME, _, _:
            return f"the name {gone} says {passing_word(gone)}"
    return f"{kept} comes before {gone} in the alphabet, and nothing else tells them apart"


def _day(number: int) -> str:
    try:
        return str(date(1970, 1, 1) + timedelta(days=number))
    except OverflowError:  # a file may state any time
        return f"day {number:,}"
