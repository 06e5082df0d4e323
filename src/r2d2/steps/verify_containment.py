"""Prove or refute every edge that is left, comparing as few pairs as transitivity allows (beyond the paper).

Tables that look equal (each might hold the other, as many rows) stand for one another; an order-free fingerprint,
taken while the others are compared, shows whether they are. All other edges are compared at once, so that each row
is read once. Only where that takes too many hashes, edges are left out that a chain of proven edges would prove: from
its first to its last table. Where a link of a chain turns out wrong, what hung on it is asked again.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from r2d2.model.containment import EXACT_SET, Containment, Missing
from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.profile import TableProfile
from r2d2.model.progress import News, Progress, silent
from r2d2.steps.edges.arrays import ordered, take
from r2d2.steps.edges.chains import Chains, needed_edges, strong_components

Pair = tuple[int, int]  # parent, child
MOST_ROUNDS = 4
FEWER = 0.9  # of the rows of tables that would be read; as few are worth another round
MOST_HASHES = 6  # of a row, under as many sets of columns, on the average; beyond, chains replace what they can
SMALL_ROWS = 20_000


class Content(Protocol):
    """Reader of the tables; those that cannot be read are left out of its answers."""

    def compare(
        self, pairs: Sequence[Pair], *, at_no_cost: Iterable[Pair] = (), fingerprint: Iterable[int] = ()
    ) -> tuple[Mapping[Pair, Missing], Mapping[int, str]]:
        """By (parent, child) what is missing, exactly, for *pairs* and those of *at_no_cost* that come along; by table
        a text that is the same for the same rows in any order, and only for them, for *fingerprint*."""


def verify_containment(
    graph: ContainmentGraph,
    *,
    profiles: Sequence[TableProfile],
    content: Content,
    containment: Containment = EXACT_SET,
    known: Mapping[Pair, Missing] | None = None,
    progress: Progress = silent,
) -> ContainmentGraph:
    """Every edge with its exact count of missing rows: proven ones stand, the others are ruled out.

    Before each round *progress* is told how many edges are decided, of how many between different tables.
    An edge whose tables could not be read is neither; it is dropped as unread, and the reader reports the table.
    *known* are other edges, proven as sets before, that may be built on.
    """
    pairs = list(graph.standing.pairs())
    ledger = _Ledger(pairs, profiles, known or {})
    most_rounds = MOST_ROUNDS if containment.is_transitive else 0
    _settle(ledger, content, progress, most_rounds)
    answers = [_answer(pair, ledger) for pair in pairs]
    return _graph(graph, list(zip(pairs, answers, strict=True)), profiles, containment)


def _lookalikes(pairs: Iterable[Pair], profiles: Sequence[TableProfile], familiar: Collection[int]) -> list[list[int]]:
    """Groups of tables that may be equal: each might hold the others, with as many columns and rows.

    *familiar* tables come first: they stand for the others. Unknown row counts make a group of their own.
    """
    groups: defaultdict[tuple[int, int | None, int], list[int]] = defaultdict(list)
    for number, component in enumerate(strong_components(pairs)):
        for table in sorted(component, key=lambda table: (table not in familiar, table)):
            if profiles[table].rows != 0:
                groups[number, profiles[table].rows, len(profiles[table].schema)].append(table)
    return [tables for tables in groups.values() if len(tables) > 1]


class _Ledger:
    """Counts so far, and the table that each table stands for."""

    def __init__(self, pairs: Sequence[Pair], profiles: Sequence[TableProfile], known: Mapping[Pair, Missing]) -> None:
        self._pairs = pairs
        self._profiles = profiles
        self._equal = _known_equal(known, profiles)
        asked = {(self._first(parent), self._first(child)) for parent, child in pairs}
        known = {(self._first(parent), self._first(child)): missing for (parent, child), missing in known.items()}
        familiar = {table for pair in known for table in pair}
        self.lookalikes = _lookalikes(asked, profiles, familiar)
        self.alike = {table: group[0] for group in self.lookalikes for table in group}  # who may hold the same rows
        self.counted = {pair: missing for pair, missing in known.items() if pair[0] != pair[1]}
        self.failed: set[Pair] = set()
        self._link()

    def _first(self, table: int) -> int:
        """The table that is known to hold the same rows, and stands for this one."""
        return self._equal.get(table, table)

    def _link(self) -> None:
        """The chains over what is counted: edges proven as a set, and as a bag."""
        proven = [
            pair
            for pair, missing in self.counted.items()
            if missing.rows == 0 and pair == self.between(pair) and pair[0] != pair[1]
        ]
        self.chains = Chains(proven)
        self.bag_chains = Chains(pair for pair in proven if self.counted[pair].copies == 0)

    def between(self, pair: Pair) -> Pair:
        """The two tables that stand for those of a pair."""
        parent, child = self._first(pair[0]), self._first(pair[1])
        return self.alike.get(parent, parent), self.alike.get(child, child)

    def is_empty(self, pair: Pair) -> bool:
        """Whether there is no row to look for."""
        return self._profiles[pair[1]].rows == 0

    def is_small(self, pair: Pair) -> bool:
        """Whether comparing the two takes less than thinking about how to avoid it."""
        rows = self._profiles[pair[0]].rows
        return rows is not None and rows <= SMALL_ROWS

    def open_pairs(self) -> set[Pair]:
        """Pairs to count: those that do not follow from earlier counts."""
        asked = {self.between(pair) for pair in self._pairs if not self.is_empty(pair)}
        return {
            pair
            for pair in asked - self.failed
            if pair[0] != pair[1] and pair not in self.counted and not self.bag_chains.lead(*pair)
        }

    def is_much_less(self, some: Collection[Pair], pairs: Collection[Pair]) -> bool:
        """Whether comparing *some* of the pairs reads fewer tables, or all pairs take too many hashes of each row."""
        less, all_rows = self._rows_read(some), self._rows_read(pairs)
        hashed = {(table, self._profiles[child].schema) for parent, child in pairs for table in (parent, child)}
        return less < FEWER * all_rows or sum(self._rows(table) for table, _ in hashed) > MOST_HASHES * all_rows

    def _rows_read(self, pairs: Iterable[Pair]) -> int:
        return sum(self._rows(table) for table in {table for pair in pairs for table in pair})

    def _rows(self, table: int) -> int:
        return self._profiles[table].rows or 1

    def count(self, chosen: set[Pair], content: Content) -> None:
        """Compare *chosen*, whatever comes along, and the fingerprints that were not taken yet."""
        suspects = [table for group in self.lookalikes for table in group]
        counted, prints = content.compare(
            sorted(chosen), at_no_cost=sorted(self.open_pairs() - chosen), fingerprint=suspects
        )
        self.counted.update(counted)
        self.failed |= chosen - counted.keys()
        for group in self.lookalikes:
            first: dict[str, int] = {}
            self.alike |= {t: first.setdefault(prints[t], t) if t in prints else t for t in group}
        self.lookalikes = []
        # What is counted of a table holds for those that have proved to be equal to it.
        for pair, missing in list(self.counted.items()):
            self.counted.setdefault(self.between(pair), missing)
        self._link()


def _known_equal(known: Mapping[Pair, Missing], profiles: Sequence[TableProfile]) -> dict[int, int]:
    """Tables that hold one another, copies and all, are equal: the first of them stands for the others."""
    exact = [pair for pair, missing in known.items() if missing.copies == 0 and profiles[pair[1]].rows]
    groups = [sorted(component) for component in strong_components(exact)]
    return {table: tables[0] for tables in groups for table in tables}


def _settle(ledger: _Ledger, content: Content, progress: Progress, most_rounds: int) -> None:
    """Compare until every edge is counted or follows from those that are."""
    turn = total = 0
    while (asked := ledger.open_pairs()) or ledger.lookalikes:
        total = max(total, len(asked))
        progress(News("verify_containment", total - len(asked), total, "edges"))
        proven = [pair for pair, missing in ledger.counted.items() if missing.rows == 0]
        # What a chain proves as a set, but not as a bag, has to be counted for itself; so may what is small.
        direct = {pair for pair in asked if ledger.is_small(pair) or ledger.chains.lead(*pair)}
        undecided = asked - direct
        needed = needed_edges(undecided, proven) if turn < most_rounds else undecided
        chosen = needed if ledger.is_much_less(needed, undecided) else undecided
        ledger.count(chosen | direct, content)
        turn += 1


class Answer(NamedTuple):
    """The finding about one edge."""

    check: Check
    missing: Missing
    via: int


def _answer(pair: Pair, ledger: _Ledger) -> Answer | None:
    """The answer for an edge between two tables, from the counts of tables that they equal."""
    parent, child = pair
    between = ledger.between(pair)
    if between[0] == between[1]:
        return Answer(Check.EQUAL, Missing(), child)
    if ledger.is_empty(pair):
        return Answer(Check.COMPARED, Missing(), child)
    missing = ledger.counted.get(between)
    if missing is None:
        if not ledger.bag_chains.lead(*between):
            return None
        return Answer(Check.IMPLIED, Missing(), ledger.bag_chains.stop_between(*between))
    if between == pair or missing.rows:
        return Answer(Check.COMPARED, missing, child)
    return Answer(Check.IMPLIED, missing, between[0] if between[0] != parent else between[1])


def _graph(
    graph: ContainmentGraph,
    answers: Sequence[tuple[Pair, Answer | None]],
    profiles: Sequence[TableProfile],
    containment: Containment,
) -> ContainmentGraph:
    standing: list[tuple[Pair, Answer]] = []
    refuted: list[tuple[Pair, Answer]] = []
    for pair, answer in answers:
        if answer:
            holds = containment.holds(answer.missing, rows=profiles[pair[1]].rows)
            (standing if holds else refuted).append((pair, answer))
    dropped = {"rows": len(refuted), "unreadable": len(answers) - len(standing) - len(refuted)}
    return ContainmentGraph(
        tables=graph.tables,
        standing=_edges(standing),
        step="verify_containment",
        dropped={reason: count for reason, count in dropped.items() if count},
        ruled_out=ordered(graph.ruled_out.concat(_edges(refuted))),
    )


def drop_unreadable(graph: ContainmentGraph, unreadable: Collection[str]) -> ContainmentGraph:
    """The graph without edges of tables that cannot be read, also where no row had to be read: no rows are in any.

    Nor is anything said about why such an edge is none, by a sample that happened to be taken where it can be read.
    """
    damaged = {number for number, name in enumerate(graph.tables) if name in unreadable}
    if not damaged:
        return graph
    standing, ruled_out = (_undamaged(edges, damaged) for edges in (graph.standing, graph.ruled_out))
    lost = len(graph.standing) - len(standing)
    dropped = {**graph.dropped, "unreadable": graph.dropped.get("unreadable", 0) + lost} if lost else graph.dropped
    return replace(graph, standing=standing, ruled_out=ruled_out, dropped=dropped)


def _undamaged(edges: Edges, damaged: set[int]) -> Edges:
    return take(edges, [place for place, pair in enumerate(edges.pairs()) if damaged.isdisjoint(pair)])


def _edges(answered: Sequence[tuple[Pair, Answer]]) -> Edges:
    return Edges(
        parents=array("I", [pair[0] for pair, _ in answered]),
        children=array("I", [pair[1] for pair, _ in answered]),
        check=array("B", [answer.check for _, answer in answered]),
        missing_rows=array("q", [answer.missing.rows for _, answer in answered]),
        missing_copies=array("q", [answer.missing.copies for _, answer in answered]),
        via=array("I", [answer.via for _, answer in answered]),
    )
