"""Where one table stands among the others: who holds it, whom it holds, and who comes nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from r2d2.model.containment import Containment, Missing
from r2d2.model.graph import Edges, SchemaGraph
from r2d2.model.profile import TableProfile
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.edges.ledger import Content as Comparing
from r2d2.steps.edges.ledger import Pair
from r2d2.steps.prune_by_content import Content as Sampling
from r2d2.steps.prune_by_content import Probe, probe_columns, prune_by_content, rank_columns
from r2d2.steps.prune_by_minmax import prune_by_minmax
from r2d2.steps.update_graph import pairs_with
from r2d2.steps.verify_containment import verify_containment

LEAST_SAMPLED = 1_000  # rows, to tell who comes nearest
CANDIDATES = 3  # so many for each that is wanted are counted exactly


class Content(Sampling, Comparing, Protocol):
    """Reader of the tables' rows."""


@dataclass(frozen=True)
class Similar:
    """Missing rows and copies over the pairs of one table, by the other table."""

    parents: Mapping[int, Missing]  # those that hold it
    children: Mapping[int, Missing]  # those that it holds
    nearest: Mapping[int, Missing]  # those that hold some of its rows, the most first

    @property
    def equal(self) -> list[int]:
        """Tables of the same rows, each as often."""
        return [
            t for t in self.parents if self.parents[t].copies == 0 and self.children.get(t, Missing(1, 1)).copies == 0
        ]


@dataclass(frozen=True)
class Sampled:
    """How rows are sampled."""

    rows: int
    width: int


def compatible_pairs(profiles: Sequence[TableProfile], table: int, containment: Containment) -> SchemaGraph:
    """The pairs of the table that schemas allow."""
    return pairs_with(build_schema_graph(profiles, containment), [table])


def find_similar(
    pairs: SchemaGraph,
    table: int,
    *,
    profiles: Sequence[TableProfile],
    content: Content,
    sampled: Sampled,
    containment: Containment,
    overlaps: frozenset[tuple[str, str]],
    known: Mapping[Pair, Missing],
    nearest: int,
) -> Similar:
    """Prove or refute every one of the *pairs*; then count what the *nearest* others lack.

    *known* are edges between the others, proven before.
    """
    possible = prune_by_minmax(pairs, profiles=profiles, overlaps=overlaps, containment=containment)
    likely = prune_by_content(
        possible,
        profiles=profiles,
        width=sampled.width,
        rows=sampled.rows,
        guaranteed=False,  # every pair that is left is compared row by row
        content=content,
        containment=containment,
        proof_follows=True,
    )
    concerned = {*likely.standing.parents, *likely.standing.children}
    mine = {pair: missing for pair, missing in known.items() if concerned.issuperset(pair)}
    judged = verify_containment(likely, profiles=profiles, content=content, containment=containment, known=mine)
    held = {p: missing for (p, c), missing in _counted(judged.standing) if c == table}
    holds = {c: missing for (p, c), missing in _counted(judged.standing) if p == table}
    lacking = {p: missing for (p, c), missing in _counted(judged.ruled_out) if c == table and missing.rows >= 0}
    settled = held.keys() | lacking.keys()
    others = [p for p in _parents(pairs, table) if p not in settled and not _overlap(p, pairs, overlaps, table)]
    rows = profiles[table].rows
    if nearest and rows != 0:
        lacking |= _count_nearest(table, others, profiles, content, sampled, nearest)
    order = sorted(lacking, key=lambda p: (lacking[p], p))
    some = [p for p in order if rows is None or lacking[p].rows < rows][:nearest]
    return Similar(held, holds, {p: lacking[p] for p in some})


def _counted(edges: Edges) -> Iterable[tuple[Pair, Missing]]:
    return zip(edges.pairs(), edges.missing(), strict=True)


def _parents(pairs: SchemaGraph, table: int) -> list[int]:
    """The tables whose schema holds the table's."""
    mine = pairs.family_of[table]
    families = [parent for parent, child in pairs.family_edges() if child == mine]
    return sorted(other for family in families for other in pairs.families[family] if other != table)


def _overlap(other: int, pairs: SchemaGraph, overlaps: frozenset[tuple[str, str]], table: int) -> bool:
    return tuple(sorted((pairs.tables[other], pairs.tables[table]))) in overlaps


def _count_nearest(
    table: int,
    others: Sequence[int],
    profiles: Sequence[TableProfile],
    content: Content,
    sampled: Sampled,
    most: int,
) -> dict[int, Missing]:
    """Count exactly the missing rows in those of *others* that have the most sampled rows of the table.

    More are counted than are wanted: a sample tells who has a tenth from who has half, not the fine order. Its rows
    are compared in all columns: versions of one table often differ only in columns that are not selective.
    """
    columns = probe_columns(profiles[table].schema, rank_columns(profiles), None)
    probe = Probe(table, columns, max(sampled.rows, LEAST_SAMPLED), uniform=True)
    samples = content.take_samples([probe])
    if not samples.get(table) or not others:
        return {}
    found = content.look_for_rows({table: others}, {table: probe}, samples)
    shares = {parent: len(rows.there) for (parent, _), rows in found.items() if rows.there}
    chosen = sorted(shares, key=lambda parent: (-shares[parent], parent))[: CANDIDATES * most]
    counted = content.compare(np.array(sorted(parent * len(profiles) + table for parent in chosen), np.int64))
    parents = (counted.pairs // len(profiles)).tolist()
    return dict(zip(parents, map(Missing, counted.rows.tolist(), counted.copies.tolist()), strict=True))
