"""Keep the stored answers that hold after some tables changed; ask the other pairs again (section 7.1).

Of a pair `parent -> child` with its counts of missing rows and copies,

- everything holds if neither table changed, or only its name did;
- "no row and no copy is missing" also holds if the parent has only grown and the child has only shrunk;
- anything else is asked again. So is an edge that follows from a third table, unless a chain of edges that still
  hold leads through it, or through another one.

What a sample said holds only if a scan of today would draw the same one.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from r2d2.model.containment import Missing
from r2d2.model.graph import Check, ContainmentGraph, Edges, SchemaGraph
from r2d2.model.profile import TableProfile
from r2d2.model.scan import Scan
from r2d2.model.schema import Schema, Token
from r2d2.steps.edges.arrays import Flags, Ints, among, as_array, ints, keys, order, ordered, take
from r2d2.steps.edges.support import founded
from r2d2.steps.find_changes import Change, Changes
from r2d2.steps.prune_by_content import probe_columns, rank_columns


@dataclass(frozen=True)
class Kept:
    """The answers that still hold, by today's table numbers, and pairs of unchanged tables that need a new one."""

    standing: Edges
    since: array[int]  # for each standing edge, its place in since_runs
    since_runs: tuple[str, ...]
    ruled_out: Edges
    unfounded: Edges  # edges that are true, but the table that they were proven by is between the two no more
    resampled: Edges  # pairs that were settled by samples which would be others today


def update_graph(
    old: Scan, *, profiles: Sequence[TableProfile], changes: Changes, unasked: Collection[int] = ()
) -> Kept:
    """Everything of the old graph that is still true, renumbered; *profiles* are today's.

    Edges of the tables *unasked*, which are not there to be asked, stay whatever they were proven by.
    """
    away = set(unasked)
    ranked = [profile for number, profile in enumerate(profiles) if number not in away]
    fate = _Fate.of(old, ranked, changes)
    standing, since = _standing(old, fate)
    standing, since, unfounded = founded(standing, since, len(profiles), unasked)
    ruled_out = _renumbered(take(old.graph.ruled_out, _still_ruled_out(old.graph.ruled_out, fate)), fate)
    runs = (*old.since_runs, old.run)
    return Kept(standing, since, runs, ordered(ruled_out), unfounded, ordered(_resampled(old.graph, fate)))


def pairs_with(graph: SchemaGraph, tables: Collection[int]) -> SchemaGraph:
    """The part of a schema graph that has a pair with one of *tables*: every family is cut in two, those and the
    others, and pairs of two others are left out. Nothing is spread out."""
    wanted = set(tables)
    halves = [
        [array("I", (table for table in family if (table in wanted) is side)) for side in (True, False)]
        for family in graph.families
    ]
    sizes = [[len(half) for half in pair] for pair in halves]
    parents, children = array("I"), array("I")
    for parent, child in graph.family_edges():
        for one, other in ((0, 0), (0, 1), (1, 0)):
            if sizes[parent][one] and sizes[child][other]:
                parents.append(2 * parent + one)
                children.append(2 * child + other)
    families = tuple(half for pair in halves for half in pair)
    return SchemaGraph(graph.tables, families, parents, children, graph.operations)


def to_be_asked(candidates: ContainmentGraph, kept: Kept) -> ContainmentGraph:
    """The candidate pairs to which no answer was kept, and those that are to be sampled anew."""
    wanted = keys(candidates.standing, len(candidates.tables))
    answers = (kept.standing, kept.ruled_out, kept.unfounded)
    known = [among(wanted, keys(ordered(edges), len(candidates.tables))) for edges in answers]
    open_places = np.flatnonzero(~np.logical_or.reduce(known))
    standing = take(candidates.standing, open_places)
    return with_edges(replace(candidates, standing=standing), kept.resampled)


def still_candidates(kept: Kept, candidates: ContainmentGraph, tables: Collection[int]) -> Kept:
    """Without the answers about *tables* on pairs that the metadata rule out today."""
    possible = keys(candidates.standing, len(candidates.tables))
    touched = np.zeros(len(candidates.tables), dtype=bool)
    touched[list(tables)] = True

    def allowed(edges: Edges) -> Ints:
        concerned = touched[ints(edges.parents)] | touched[ints(edges.children)]
        return np.flatnonzero(~concerned | np.isin(keys(edges, len(touched)), possible))

    places = allowed(kept.standing)
    return Kept(
        take(kept.standing, places),
        as_array("I", ints(kept.since)[places]),
        kept.since_runs,
        take(kept.ruled_out, allowed(kept.ruled_out)),
        take(kept.unfounded, allowed(kept.unfounded)),
        kept.resampled,
    )


def put_together(kept: Kept, answered: ContainmentGraph) -> tuple[ContainmentGraph, array[int], tuple[str, ...]]:
    """One graph of the answers that were kept and the new ones; since when each edge stands, as places in a list of
    runs, where the place after the last one is the run that is being made."""
    standing = kept.standing.concat(answered.standing)
    in_order = order(standing)
    ruled_out = ordered(kept.ruled_out.concat(answered.ruled_out))
    graph = ContainmentGraph(answered.tables, take(standing, in_order), answered.step, answered.dropped, ruled_out)
    used, places = np.unique(ints(kept.since), return_inverse=True)
    since = np.concatenate([places, np.full(len(answered.standing), len(used))])
    return graph, as_array("I", since[in_order]), tuple(kept.since_runs[place] for place in used)


def with_edges(graph: ContainmentGraph, more: Edges) -> ContainmentGraph:
    """The same with more edges to be judged."""
    return replace(graph, standing=ordered(graph.standing.concat(more)))


def without_tables(graph: ContainmentGraph, tables: Sequence[int]) -> ContainmentGraph:
    """The same without the edges of some tables."""
    theirs = np.isin(ints(graph.standing.parents), tables) | np.isin(ints(graph.standing.children), tables)
    return replace(graph, standing=take(graph.standing, np.flatnonzero(~theirs)))


def known_edges(kept: Kept, asked: ContainmentGraph) -> dict[tuple[int, int], Missing]:
    """The kept edges, with their missing rows and copies, between tables that *asked* is about."""
    edges = kept.standing
    concerned = np.zeros(len(asked.tables), dtype=bool)
    concerned[ints(asked.standing.parents)] = concerned[ints(asked.standing.children)] = True
    return _proven(take(edges, np.flatnonzero(concerned[ints(edges.parents)] & concerned[ints(edges.children)])))


def proven_edges(scan: Scan) -> dict[tuple[int, int], Missing]:
    """All edges of a scan that every row was compared for, with their missing rows and copies."""
    return _proven(scan.graph.standing)


def _proven(edges: Edges) -> dict[tuple[int, int], Missing]:
    some = take(edges, np.flatnonzero(ints(edges.missing_rows) == 0))
    return dict(zip(some.pairs(), some.missing(), strict=True))


def columns_kept_of(kept: Kept, table: int, profiles: Sequence[TableProfile]) -> set[Token]:
    """The columns of a table that the kept edges with rows in their children speak of."""
    edges = kept.standing
    theirs = np.flatnonzero((ints(edges.parents) == table) | (ints(edges.children) == table))
    children = {edges.children[place] for place in theirs.tolist()}
    return {
        column.token for child in children if profiles[child].rows != 0 for column in profiles[child].schema.columns
    }


@dataclass(frozen=True)
class _Fate:
    """By old table number: today's number (-1: gone), and what became of its rows."""

    number: Ints
    steady: Flags  # the same rows
    grown: Flags
    shrunk: Flags
    resampled: Flags  # a sample of it would be another one today

    @staticmethod
    def of(old: Scan, ranked: Sequence[TableProfile], changes: Changes) -> _Fate:
        kinds = [Change.DELETED] * len(old.tables)
        number = np.full(len(old.tables), -1, dtype=np.int64)
        for now, (was, kind) in enumerate(zip(changes.old_numbers, changes.kinds, strict=True)):
            if was >= 0:
                kinds[was], number[was] = kind, now

        def which(*wanted: Change) -> Flags:
            return np.fromiter((kind in wanted for kind in kinds), dtype=bool, count=len(kinds))

        resampled = ~which(Change.SAME) | _other_probes(old, ranked)
        return _Fate(number, which(Change.SAME, Change.RENAMED), which(Change.GROWN), which(Change.SHRUNK), resampled)


def _other_probes(old: Scan, ranked: Sequence[TableProfile]) -> Flags:
    """Children that were sampled, and whose most selective columns are others today, by the *ranked* profiles."""
    other = np.zeros(len(old.tables), dtype=bool)
    sampled = {
        child
        for edges in (old.graph.standing, old.graph.ruled_out)
        for child in np.unique(ints(edges.children)[ints(edges.check) == Check.SAMPLED]).tolist()
    }
    if sampled and old.probe_width is not None:
        before, now = rank_columns(old.ranked_profiles), rank_columns(ranked)
        differs: dict[Schema, bool] = {}
        for child in sampled:
            schema = old.profiles[child].schema
            if schema not in differs:
                one, two = (probe_columns(schema, ranking, old.probe_width) for ranking in (before, now))
                differs[schema] = one != two
            other[child] = differs[schema]
    return other


def _standing(old: Scan, fate: _Fate) -> tuple[Edges, array[int]]:
    """The standing edges that still hold, and since when."""
    edges = old.graph.standing
    parent, child, check = ints(edges.parents), ints(edges.children), ints(edges.check)
    steady = fate.steady[parent] & fate.steady[child]
    whole = (ints(edges.missing_rows) == 0) & (ints(edges.missing_copies) == 0)
    monotone = (fate.steady | fate.grown)[parent] & (fate.steady | fate.shrunk)[child]
    holds = np.where(check == Check.SAMPLED, False, steady | (whole & monotone))
    holds |= (check == Check.SAMPLED) & steady & ~fate.resampled[child]
    places = np.flatnonzero(holds)
    since = old.since or array("I", [len(old.since_runs)]) * len(edges)
    kept = _renumbered(take(edges, places), fate)
    # Two tables that held the same rows need not do so if one of them changed; the one still holds the other.
    no_longer_equal = (check[places] == Check.EQUAL) & ~steady[places]
    kept_check = np.where(no_longer_equal, int(Check.COMPARED), check[places])
    checked = replace(kept, check=as_array("B", kept_check))
    in_order = order(checked)
    return take(checked, in_order), as_array("I", ints(since)[places[in_order]])


def _still_ruled_out(edges: Edges, fate: _Fate) -> Ints:
    """The pairs that are as impossible as they were, by the same count or the same sample."""
    parent, child, check = ints(edges.parents), ints(edges.children), ints(edges.check)
    steady = fate.steady[parent] & fate.steady[child]
    return np.flatnonzero(steady & ((check != Check.SAMPLED) | ~fate.resampled[child]))


def _resampled(graph: ContainmentGraph, fate: _Fate) -> Edges:
    """Pairs of tables that are the same, settled by samples that would be others today."""
    found = []
    for edges in (graph.standing, graph.ruled_out):
        parent, child = ints(edges.parents), ints(edges.children)
        sampled = ints(edges.check) == Check.SAMPLED
        places = np.flatnonzero(sampled & fate.steady[parent] & fate.steady[child] & fate.resampled[child])
        found.append(_renumbered(take(edges, places), fate))
    both = found[0].concat(found[1])
    return Edges.of(both.parents, both.children)


def _renumbered(edges: Edges, fate: _Fate) -> Edges:
    """By today's numbers. A table between two that is gone becomes the edge's own child: between nothing."""
    parents, children = fate.number[ints(edges.parents)], fate.number[ints(edges.children)]
    via = fate.number[ints(edges.via)]
    via = np.where(via < 0, children, via)
    return replace(edges, parents=as_array("I", parents), children=as_array("I", children), via=as_array("I", via))
