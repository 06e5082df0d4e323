"""Prove or refute every edge that is left, comparing as few pairs as transitivity allows (beyond the paper).

Of tables with the same files, byte by byte, one stands for the others. All edges between the others are compared at
once, so that each row is read once. Only where that takes too many hashes, edges are left out that a chain of proven
edges would prove: from its first to its last table. Where a link of a chain turns out wrong, what hung on it is asked
again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from r2d2.model.containment import EXACT_SET, Containment, Missing
from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.profile import TableProfile
from r2d2.model.progress import News, Progress, silent
from r2d2.steps.edges.arrays import NO_EDGES, Flags, Ints, among, ordered, take
from r2d2.steps.edges.chains import needed_edges
from r2d2.steps.edges.ledger import Content, Ledger, Pair, pairs_of, without

MOST_ROUNDS = 4
FEWER = 0.9  # of the rows of tables that would be read; as few are worth another round
MOST_HASHES = 24  # of a row, under as many sets of columns, on the average; beyond, chains replace what they can
SMALL_ROWS = 20_000


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
    ledger = Ledger(graph.standing, profiles, known or {}, content)
    _settle(ledger, profiles, progress, most_rounds=MOST_ROUNDS if containment.is_transitive else 0)
    return _graph(graph, ledger, containment)


def _settle(ledger: Ledger, profiles: Sequence[TableProfile], progress: Progress, *, most_rounds: int) -> None:
    """Compare until every edge is counted or follows from those that are."""
    turn = total = 0
    while len(asked := ledger.open_pairs()):
        total = max(total, len(asked))
        progress(News("verify_containment", total - len(asked), total, "edges"))
        undecided = _may_wait(asked, ledger) if turn < most_rounds else np.zeros(len(asked), np.bool_)
        chosen = ~undecided | among(asked, _needed(asked[undecided], profiles, ledger))
        ledger.count(asked[chosen], asked[~chosen])
        turn += 1


def _may_wait(asked: Ints, ledger: Ledger) -> Flags:
    """Flags of the pairs that a chain may come to prove.

    What a chain proves as a set, but not as a bag, has to be counted for itself. What is small may as well: comparing
    it takes less than thinking about how to avoid it.
    """
    rows = ledger.rows[asked // ledger.tables]
    return without(ledger.chains, (rows < 0) | (rows > SMALL_ROWS), asked, ledger.tables)


def _needed(undecided: Ints, profiles: Sequence[TableProfile], ledger: Ledger) -> Ints:
    """The undecided pairs to compare: all, or those that prove the others if they hold."""
    if not len(undecided):
        return undecided
    proven = pairs_of(ledger.proven().pairs, ledger.tables)
    needed = needed_edges(pairs_of(undecided, ledger.tables), proven)
    some = np.array(sorted(parent * ledger.tables + child for parent, child in needed), np.int64)
    return some if _is_much_less(some, undecided, profiles, ledger.tables) else undecided


def _is_much_less(some: Ints, pairs: Ints, profiles: Sequence[TableProfile], tables: int) -> bool:
    """Whether comparing *some* of the pairs reads fewer tables, or all pairs take too many hashes of each row."""

    def rows_of(numbers: Ints) -> int:
        return sum(profiles[table].rows or 1 for table in numbers.tolist())

    def both(numbers: Ints) -> Ints:
        return np.union1d(numbers // tables, numbers % tables)

    all_rows = rows_of(both(pairs))
    each = pairs_of(pairs, tables)
    hashed = {(table, profiles[child].schema) for parent, child in each for table in (parent, child)}
    hashed_rows = sum(profiles[table].rows or 1 for table, _ in hashed)
    return rows_of(both(some)) < FEWER * all_rows or hashed_rows > MOST_HASHES * all_rows


class _Answers(NamedTuple):
    """The findings about some edges, as columns; `known` flags those about which there is one."""

    known: Flags
    check: Ints
    rows: Ints
    copies: Ints
    via: Ints


def _answers(parents: Ints, children: Ints, between: Ints, ledger: Ledger) -> _Answers:
    """The answers for edges, from the counts of the tables that stand for theirs."""
    first, last = np.divmod(between, ledger.tables)
    is_equal = first == last
    is_free = is_equal | (ledger.rows[children] == 0)
    places = np.minimum(np.searchsorted(ledger.counted.pairs, between), max(0, len(ledger.counted.pairs) - 1))
    is_counted = among(between, ledger.counted.pairs) & ~is_free
    places = places[is_counted]
    rows, copies = np.zeros(len(between), np.int64), np.zeros(len(between), np.int64)
    rows[is_counted], copies[is_counted] = ledger.counted.rows[places], ledger.counted.copies[places]
    is_own = (first == parents) & (last == children)
    follows = is_counted & ~is_own & (rows == 0)
    via = np.where(follows, np.where(first != parents, first, last), children)
    known = is_free | is_counted
    linked = ~known & ~without(ledger.bag_chains, ~known, between, ledger.tables)
    for place in np.flatnonzero(linked).tolist():
        via[place] = ledger.bag_chains.stop_between(int(first[place]), int(last[place]))
    check = np.where(is_equal, Check.EQUAL, np.where(follows | linked, Check.IMPLIED, Check.COMPARED))
    return _Answers(known | linked, check, rows, copies, via)


def _graph(graph: ContainmentGraph, ledger: Ledger, containment: Containment) -> ContainmentGraph:
    standing, refuted = _empty(), _empty()
    for some, between in ledger.asked():
        parents, children = (np.asarray(column)[some].astype(np.int64) for column in graph.standing.columns[:2])
        answers = _answers(parents, children, between, ledger)
        holds = _holds(answers, ledger.rows[children], containment)
        for edges, flags in ((standing, answers.known & holds), (refuted, answers.known & ~holds)):
            _append(edges, [column[flags] for column in (parents, children, *answers[1:])])
    dropped = {"rows": len(refuted), "unreadable": len(graph.standing) - len(standing) - len(refuted)}
    return ContainmentGraph(
        tables=graph.tables,
        standing=standing,
        step="verify_containment",
        dropped={reason: count for reason, count in dropped.items() if count},
        ruled_out=ordered(graph.ruled_out.concat(refuted)) if len(graph.ruled_out) else refuted,
    )


def _holds(answers: _Answers, rows: Ints, containment: Containment) -> Flags:
    """Flags of the edges that hold; a policy that forgives some missing rows is asked about each."""
    if containment.one_witness_refutes:
        holds: Flags = (answers.copies if containment.counts_copies else answers.rows) == 0
        return holds
    each = zip(answers.rows.tolist(), answers.copies.tolist(), rows.tolist(), strict=True)
    held = [containment.holds(Missing(*missing), rows=None if rows < 0 else rows) for *missing, rows in each]
    return np.array(held, np.bool_)


def _empty() -> Edges:
    return Edges(*(array(column.typecode) for column in NO_EDGES.columns))


def _append(edges: Edges, columns: Sequence[Ints]) -> None:
    for column, more in zip(edges.columns, columns, strict=True):
        column.frombytes(more.astype(np.dtype(column.typecode)).tobytes())


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
    parents, children = (np.isin(np.asarray(column), list(damaged)) for column in (edges.parents, edges.children))
    return take(edges, np.flatnonzero(~(parents | children)))
