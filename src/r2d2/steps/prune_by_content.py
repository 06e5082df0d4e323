"""Drop the pairs where a sampled row of the child is not in the parent (CLP, section 4.3).

A sample with a guarantee is drawn uniformly and compared in all columns of the child (Theorem 4.2). A cheap sample is
drawn from few places and compared in the most selective columns of the child: a row that is missing there is missing
altogether, and few columns of the parent have to be read, but a child may lack every row and not be noticed.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from r2d2.model.containment import EXACT_SET, Containment
from r2d2.model.graph import Check, ContainmentGraph
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema, Token
from r2d2.model.work import Ordered
from r2d2.steps.edges.arrays import take

WITHIN = 1 / 8  # the share of a parent that may be read to look for a sample where every row is compared anyway
LEAST_BYTES = 256 << 20  # smaller parents are compared before a sample is drawn and looked for

Pair = tuple[int, int]  # parent, child
Rows = Sequence[tuple[str, int, tuple[Ordered, ...]]]  # what is needed to find a row again; the text is its hash


@dataclass(frozen=True, slots=True)
class Probe:
    """Rows of a child to look for: how many, drawn how, in which of its columns."""

    child: int
    columns: tuple[Column, ...]
    rows: int
    uniform: bool  # drawn from all rows alike; else from a few places, which is cheaper and guarantees nothing


class Found(Protocol):
    """Sampled rows of a child, by their hashes."""

    @property
    def looked_for(self) -> Set[str]:
        """All that were looked for."""

    @property
    def there(self) -> Set[str]:
        """Those of them that the parent has."""


class Content(Protocol):
    """Reader of the tables; those that cannot be read are left out of its answers, and rule nothing out."""

    def parts(self, table: int) -> int:
        """In how many parts a table is read: what may be left out of a look-up."""

    def take_samples(self, probes: Sequence[Probe]) -> Mapping[int, Rows]:
        """By child, sampled rows."""

    def look_for_rows(
        self,
        parents_of: Mapping[int, Sequence[int]],
        probes: Mapping[int, Probe],
        samples: Mapping[int, Rows],
        *,
        within: float = 1.0,
    ) -> Mapping[tuple[int, int], Found]:
        """By (parent, child), the sampled rows of the child that were looked for, and those that are in the parent.

        Pairs for which more than the share *within* of the parent would have to be read are left out.
        """


def rows_to_sample(*, missing_share: float, risk: float) -> int:
    """Rows to draw so that a child lacking *missing_share* of its rows is caught (Theorem 4.2).

    Holds for rows drawn uniformly and independently; a sample picked by a filter does not earn it.

    >>> rows_to_sample(missing_share=0.1, risk=0.05)
    29
    """
    return math.ceil(math.log(risk) / math.log1p(-missing_share))


def caught_share(*, rows: int, risk: float) -> float:
    """The smallest share of missing rows that so many uniform draws catch but for *risk*: the theorem read backwards.

    >>> round(caught_share(rows=10, risk=0.05), 2)
    0.26
    """
    return -math.expm1(math.log(risk) / rows)


def prune_by_content(
    graph: ContainmentGraph,
    *,
    profiles: Sequence[TableProfile],
    width: int,
    rows: int,
    guaranteed: bool,
    content: Content,
    containment: Containment = EXACT_SET,
    proof_follows: bool = False,
    ranked: Sequence[TableProfile] | None = None,
) -> ContainmentGraph:
    """The edges for whose children every sampled row was found in the parent; never drops a true one.

    If *guaranteed*, the sample keeps the promise of Theorem 4.2: rows are drawn uniformly and looked for in all
    columns. Else they are drawn from few places and looked for in the *width* most selective columns.
    If a *proof_follows*, which reads every row once, no more than a small share of a parent is read here: where that
    is not enough to look for a row, the edge is left as it is. Which columns tell rows apart is judged by *ranked*, or
    by all profiles.
    """
    within = WITHIN if proof_follows else 1.0
    has_rows = np.array([profile.rows != 0 for profile in profiles], np.bool_)
    is_worth_it = np.array(
        [
            within >= 1 or (profile.size_bytes >= LEAST_BYTES and within * content.parts(table) >= 1)
            for table, profile in enumerate(profiles)
        ],
        np.bool_,
    )
    worth_asking = is_worth_it[np.asarray(graph.standing.parents)] & has_rows[np.asarray(graph.standing.children)]
    if not (containment.one_witness_refutes and worth_asking.any()):
        return replace(graph, step="prune_by_content", dropped={})
    asked = list(take(graph.standing, np.flatnonzero(worth_asking)).pairs())
    children = sorted({child for _, child in asked})
    ranking = rank_columns(profiles if ranked is None else ranked)
    widest = None if guaranteed else width
    probes = {
        child: Probe(child, probe_columns(profiles[child].schema, ranking, widest), rows, uniform=guaranteed)
        for child in children
    }
    samples = content.take_samples(list(probes.values()))
    parents_of: defaultdict[int, list[int]] = defaultdict(list)
    for parent, child in asked:
        if samples.get(child):
            parents_of[child].append(parent)
    found = content.look_for_rows(parents_of, probes, samples, within=within)
    missing = {pair for pair, rows in found.items() if rows.looked_for > rows.there}
    return _split(graph, sampled=found.keys(), missing=missing)


Ranking = Mapping[Token, float]


def rank_columns(profiles: Iterable[TableProfile]) -> Ranking:
    """How well a column tells rows apart where it does so best, as far as the metadata says.

    One ranking for the lake: tables cut from one another then ask for the same columns, and a parent's rows are
    hashed once for all of them.
    """
    best: defaultdict[Token, float] = defaultdict(float)
    for profile in profiles:
        for column, stats in zip(profile.schema.columns, profile.stats, strict=True):
            best[column.token] = max(best[column.token], _selectivity(column, stats, profile.rows))
    return best


def probe_columns(schema: Schema, ranking: Ranking, width: int | None) -> tuple[Column, ...]:
    """The *width* most selective columns of a table (None: all of them), the best first."""
    return tuple(sorted(schema.columns, key=lambda c: (-ranking[c.token], c.token))[:width])


def _selectivity(column: Column, stats: ColumnStats, rows: int | None) -> float:
    """About how many different values a column can have, by orders of magnitude."""
    if rows is not None and stats.nulls == rows:
        return 0
    low, high = stats.low, stats.high
    if column.kind == "bool":
        return 1
    if column.type.is_whole_number or column.kind == "date":
        spread = int(high) - int(low) + 1 if isinstance(low, int) and isinstance(high, int) else rows
        return round(math.log10(max(1, min(10**6 if spread is None else spread, 10**6))))
    if low is not None and low == high:
        return 0
    return 4 if column.kind in ("number", "timestamp", "timestamp with zone") else 3


def _split(graph: ContainmentGraph, *, sampled: Collection[Pair], missing: Collection[Pair]) -> ContainmentGraph:
    """Standing and ruled-out edges; those that were sampled are marked so."""
    pairs = list(graph.standing.pairs())
    check = array("B", [Check.SAMPLED if pair in sampled else Check.NONE for pair in pairs])
    marked = replace(graph.standing, check=check)
    return ContainmentGraph(
        tables=graph.tables,
        standing=take(marked, [place for place, pair in enumerate(pairs) if pair not in missing]),
        step="prune_by_content",
        dropped={"sample": len(missing)} if missing else {},
        ruled_out=take(marked, [place for place, pair in enumerate(pairs) if pair in missing]),
    )
