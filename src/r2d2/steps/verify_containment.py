"""Prove or refute every edge that is left, comparing as few pairs as transitivity allows (beyond the paper).

Equal tables are found by an order-free fingerprint and stand for one another. Among the rest a chain of proven
edges proves the edge from its first to its last table, so only the edges that no chain could replace are compared;
where a link of a chain turns out wrong, what hung on it is asked again.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.profile import TableProfile
from r2d2.steps.chains import Chains, needed_edges, strong_components

Pair = tuple[int, int]  # parent, child
MOST_ROUNDS = 4


Missing = tuple[int, int]
"""What the child of an edge has and the parent lacks, copies counted: rows that are nowhere in the parent, and rows
beyond what the parent has of each."""


class Content(Protocol):
    """Whoever can read the tables. What cannot be read is left out of the answers."""

    def fingerprint(self, tables: Sequence[int]) -> Mapping[int, str]:
        """By table, the same text for the same rows in any order, and only for them."""

    def compare(self, pairs: Sequence[Pair]) -> Mapping[Pair, Missing]:
        """By (parent, child), what is missing, exactly."""


def verify_containment(
    graph: ContainmentGraph,
    *,
    profiles: Sequence[TableProfile],
    content: Content,
    bag: bool = False,
) -> ContainmentGraph:
    """Every edge with its exact count of missing rows: proven ones stand, the others are ruled out.

    An edge whose tables could not be read is neither; it is dropped as unread, and the reader reports the table.
    """
    pairs = list(zip(graph.standing.parents, graph.standing.children, strict=True))
    alike = _equal_tables(pairs, profiles, content)
    ledger = _Ledger()
    asked = {(alike[p], alike[c]) for p, c in pairs if alike[p] != alike[c]}
    ledger.empty = {pair for pair in asked if profiles[pair[1]].rows == 0}
    _settle(asked - ledger.empty, ledger, content)
    answers = [_answer(pair, alike, ledger) for pair in pairs]
    return _graph(graph, pairs, answers, bag)


def _equal_tables(pairs: Sequence[Pair], profiles: Sequence[TableProfile], content: Content) -> dict[int, int]:
    """For each table the first of those that hold the same rows."""
    alike = {table: table for pair in pairs for table in pair}
    groups: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for number, component in enumerate(strong_components(pairs)):
        for table in component:
            groups[number, profiles[table].rows, len(profiles[table].schema)].append(table)
    wanted = [table for tables in groups.values() if len(tables) > 1 for table in tables]
    if not wanted:
        return alike
    prints = content.fingerprint(wanted)
    first: dict[tuple[object, str], int] = {}
    for group, tables in groups.items():
        for table in sorted(tables):
            if table in prints:
                alike[table] = first.setdefault((group, prints[table]), table)
    return alike


@dataclass
class _Ledger:
    """What has been counted so far."""

    counted: dict[Pair, Missing] = field(default_factory=dict)
    empty: set[Pair] = field(default_factory=set)
    chains: Chains = field(default_factory=lambda: Chains([]))  # over edges proven as a set …
    bag_chains: Chains = field(default_factory=lambda: Chains([]))  # … and as a bag

    def count(self, pairs: Iterable[Pair], content: Content) -> None:
        """Compare *pairs* and work out what follows."""
        self.counted.update(content.compare(sorted(pairs)))
        self.chains = Chains(pair for pair, missing in self.counted.items() if missing[0] == 0)
        self.bag_chains = Chains(pair for pair, missing in self.counted.items() if missing[1] == 0)

    def settled(self, pair: Pair) -> bool:
        """Whether both counts of an edge are known."""
        return pair in self.counted or self.bag_chains.lead(*pair)


def _settle(asked: set[Pair], ledger: _Ledger, content: Content) -> None:
    """Compare until every edge is counted or follows from those that are."""
    failed: set[Pair] = set()
    for turn in range(MOST_ROUNDS + 1):
        open_pairs = {pair for pair in asked - failed if not ledger.settled(pair)}
        if not open_pairs:
            return
        proven = [pair for pair, missing in ledger.counted.items() if missing[0] == 0]
        # What a chain proves as a set, but not as a bag, has to be counted for itself.
        as_set = {pair for pair in open_pairs if ledger.chains.lead(*pair)}
        undecided = open_pairs - as_set
        chosen = needed_edges(undecided, proven) if turn < MOST_ROUNDS else undecided
        ledger.count(chosen | as_set, content)
        failed |= {pair for pair in chosen | as_set if pair not in ledger.counted}


Answer = tuple[Check, int, int, int]  # check, missing rows, missing copies, via


def _answer(pair: Pair, alike: Mapping[int, int], ledger: _Ledger) -> Answer | None:
    """What is known of an edge between two tables, by what is known of those they equal."""
    parent, child = pair
    between = alike[parent], alike[child]
    if between[0] == between[1]:
        return Check.EQUAL, 0, 0, child
    if between in ledger.empty:
        return Check.COMPARED, 0, 0, child
    missing = ledger.counted.get(between)
    if missing is None:
        if not ledger.bag_chains.lead(*between):
            return None
        return Check.IMPLIED, 0, 0, ledger.bag_chains.stop_between(*between)
    if between == pair or missing[0]:
        return Check.COMPARED, *missing, child
    return Check.IMPLIED, *missing, between[0] if between[0] != parent else between[1]


def _graph(
    graph: ContainmentGraph, pairs: Sequence[Pair], answers: Sequence[Answer | None], bag: bool
) -> ContainmentGraph:
    def holds(answer: Answer | None) -> bool:
        return answer is not None and (answer[2] if bag else answer[1]) == 0

    standing = [(pair, answer) for pair, answer in zip(pairs, answers, strict=True) if answer and holds(answer)]
    refuted = [(pair, answer) for pair, answer in zip(pairs, answers, strict=True) if answer and not holds(answer)]
    unread = sum(answer is None for answer in answers)
    dropped = {"rows": len(refuted), "unreadable": unread}
    return ContainmentGraph(
        tables=graph.tables,
        standing=_edges(standing),
        step="verify_containment",
        dropped={reason: count for reason, count in dropped.items() if count},
        ruled_out=_joined(graph.ruled_out, _edges(refuted)),
    )


def _edges(answered: Sequence[tuple[Pair, Answer]]) -> Edges:
    return Edges(
        parents=array("I", [pair[0] for pair, _ in answered]),
        children=array("I", [pair[1] for pair, _ in answered]),
        check=array("B", [answer[0] for _, answer in answered]),
        missing_rows=array("q", [answer[1] for _, answer in answered]),
        missing_copies=array("q", [answer[2] for _, answer in answered]),
        via=array("I", [answer[3] for _, answer in answered]),
    )


def _joined(one: Edges, other: Edges) -> Edges:
    """Both, in order of parent and child."""
    rows = [*_rows(one), *_rows(other)]
    rows.sort()
    columns = list(zip(*rows, strict=True)) or [()] * 6
    return Edges(*(array(code, column) for code, column in zip("IIBqqI", columns, strict=True)))


def _rows(edges: Edges) -> Iterable[tuple[int, ...]]:
    return zip(
        edges.parents, edges.children, edges.check, edges.missing_rows, edges.missing_copies, edges.via, strict=True
    )
