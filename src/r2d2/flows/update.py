"""Steps of an update: ask again about what changed, take over the rest (section 7.1).

The steps are those of a scan, on the pairs that a changed table has a part in. The result is that of a scan from
scratch.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from r2d2.flows import scan as scanning
from r2d2.flows.step import Step
from r2d2.flows.tools import Tools
from r2d2.model.graph import Edges
from r2d2.model.profile import TableProfile
from r2d2.model.progress import News, Progress, silent
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.table import Absent, Discovery, Table
from r2d2.settings import Settings
from r2d2.steps import find_changes as changing
from r2d2.steps import update_graph as graphs
from r2d2.steps.edges.arrays import NO_EDGES
from r2d2.steps.find_changes import Change, Changes, touched_tables, unchanged_tables
from r2d2.steps.mark_deleted import keep_deleted
from r2d2.steps.prune_by_minmax import prune_by_minmax
from r2d2.steps.settle_tables import once_alone, still_apart
from r2d2.steps.update_graph import Kept


@dataclass(frozen=True)
class Update:
    """The lake as it is now, and how much an update had to ask."""

    old: Scan
    scan: Scan
    changes: Changes
    kept_edges: int  # edges that were taken over
    asked_pairs: int  # pairs that were asked again and that metadata could not settle

    @property
    def gained(self) -> list[tuple[str, str]]:
        """Edges that were not there before, parent first."""
        return sorted(set(_edges(self.scan)) - set(_edges(self.old)))

    @property
    def lost(self) -> list[tuple[str, str]]:
        """Edges that are no longer there."""
        return sorted(set(_edges(self.old)) - set(_edges(self.scan)))

    @property
    def is_news(self) -> bool:
        """Whether the state has to be written again."""
        then, now = self.old, self.scan
        return bool(self.changes) or any(
            getattr(then, name) != getattr(now, name) for name in ("tables", "problems", "overlaps", "absent")
        )


def _edges(scan: Scan) -> Iterator[tuple[str, str]]:
    return scan.graph.edges()


@dataclass(frozen=True)
class Updating:
    """An update on its way: the last scan, the new one so far, and the edges that are taken over."""

    old: Scan
    scan: Scan
    rebuildable: Mapping[str, Absent] = field(default_factory=dict)  # deleted tables that stay in the graph
    broken: Mapping[str, str] = field(default_factory=dict)  # tables that turned out to be unreadable, and why
    changes: Changes = field(default_factory=lambda: Changes((), (), ()))
    kept: Kept | None = None
    kept_edges: int = 0
    unfounded: Edges = NO_EDGES  # edges whose proof led through a table that changed
    asked: int = 0
    skipped: frozenset[str] = frozenset()  # steps that have nothing to do
    is_done: bool = False  # nothing changed: no further step is needed

    @property
    def gone(self) -> list[int]:
        """Numbers of the deleted tables: their rows cannot be asked."""
        return [number for number, table in enumerate(self.scan.tables) if table.name in self.scan.absent]

    @property
    def result(self) -> Update:
        """The update, when all steps are taken."""
        return Update(self.old, self.scan, self.changes, self.kept_edges, self.asked)

    @property
    def newly_broken(self) -> dict[str, str]:
        """Unreadable tables that edges were taken over from; their edges go as well."""
        unread = {problem.where: problem.because for problem in self.scan.problems if problem.needs_a_look}
        return {
            table.name: unread[table.name]
            for table, kind in zip(self.scan.tables, self.changes.kinds, strict=True)
            if table.name in unread and kind not in (Change.NEW, Change.REPLACED)
        }


UpdateStep = Step[Updating, Tools]


def take(step: UpdateStep, known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Run one step, unless it has nothing to do; a step that is announced gets a line in the funnel."""
    if known.is_done or step.name in known.skipped:
        return known
    if not step.doing:
        return step.run(known, tools, settings, progress)
    progress(News(step.name))
    started = time.perf_counter()
    known = step.run(known, tools, settings, progress)
    return replace(known, scan=scanning.with_line(step.name, known.scan, started, progress))


def discover(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """List the tables that are there now."""
    listed_ns = time.time_ns()
    found = list_again(known.old, settings, tools, progress)
    return replace(known, scan=scanning.listed(known.scan, found, listed_ns))


def list_again(old: Scan, settings: Settings, tools: Tools, progress: Progress) -> Discovery:
    """List the lake as a scan does, and again where unchanged files prove that a folder is no table."""
    found = tools.discover(old.roots, settings, progress)
    files = once_alone(old.tables, found.tables)
    same = {} if settings.ignore_case else unchanged_tables(old, files)  # profiles fold the names of columns
    proven = still_apart(files, {name: old.profiles[number] for name, number in same.items()})
    return tools.discover(old.roots, settings, progress, apart=proven) if proven else found


def profile(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Take over the profiles of unchanged tables and read the metadata of the others."""
    old = known.old

    def unchanged(tables: Sequence[Table]) -> dict[str, tuple[Table, TableProfile]]:
        same = unchanged_tables(old, tables)
        return {
            table.name: (_with_row_groups(table, old.tables[same[table.name]]), old.profiles[same[table.name]])
            for table in tables
            if table.name in same
        }

    return replace(known, scan=scanning.profile_knowing(unchanged, known.scan, tools, settings, progress))


def _with_row_groups(table: Table, known: Table) -> Table:
    """The table with its files as they are known, which are the same."""
    if (table.aliases, table.unexplained) == (known.aliases, known.unexplained):
        return known
    return replace(table, files=known.files)


def mark_deleted(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Keep the deleted tables that can be rebuilt in the graph."""
    return replace(known, scan=keep_deleted(known.scan, known.old, known.rebuildable))


def find_changes(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Compare the tables with those of the last scan; the update is done if none changed."""
    changes = changing.find_changes(known.old, known.scan, broken=known.broken)
    if changes:
        return replace(known, changes=changes)
    return replace(
        known, scan=_unchanged(known.old, known.scan), changes=changes, kept_edges=len(known.old.graph), is_done=True
    )


def _unchanged(old: Scan, scan: Scan) -> Scan:
    """The new scan with the old graph. Tables are ordered by name, so their numbers are the same."""
    known = replace(scan, schema_graph=old.schema_graph, graph=old.graph, since=old.since, since_runs=old.since_runs)
    if old.since:
        return known
    return replace(known, since=array("I", bytes(4 * len(old.graph))), since_runs=(old.run,))


def update_graph(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Take over the edges that the changes leave true."""
    kept = graphs.update_graph(known.old, profiles=known.scan.profiles, changes=known.changes, unasked=known.gone)
    return replace(known, kept=kept)


def build_schema_graph(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Pair the tables whose columns hold those of others."""
    return replace(known, scan=scanning.build_schema_graph(known.scan, tools, settings, progress))


def prune_changed(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Drop the pairs with a changed table that ranges, nulls and counts rule out."""
    scan = known.scan
    pairs = graphs.pairs_with(scan.schema_graph, touched_tables(known.changes))
    pruned = prune_by_minmax(pairs, profiles=scan.profiles, overlaps=scan.overlaps, containment=scan.containment)
    return replace(known, scan=replace(scan, graph=pruned))


def leave_out_known(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Leave the pairs whose rows have to be compared, and note which further steps that takes."""
    assert known.kept is not None
    kept = graphs.still_candidates(known.kept, known.scan.graph, touched_tables(known.changes))
    graph = graphs.without_tables(graphs.to_be_asked(known.scan.graph, kept), known.gone)
    unfounded = graphs.with_edges(replace(graph, standing=NO_EDGES), kept.unfounded)
    unfounded_edges = graphs.without_tables(unfounded, known.gone).standing
    asked = len(graph) + len(unfounded_edges)
    skipped = set()
    if not len(graph):
        skipped.add("prune_by_content")
    if not asked:
        skipped.add("verify_containment")
        graph = replace(graph, step="verify_containment" if settings.verify else "prune_by_content", dropped={})
    return replace(
        known,
        scan=replace(known.scan, graph=graph),
        kept=kept,
        kept_edges=len(kept.standing),
        unfounded=unfounded_edges,
        asked=asked,
        skipped=frozenset(skipped),
    )


def read_new_files(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Read the new files of tables that have grown: such tables keep edges without being compared."""
    assert known.kept is not None
    scan, old, kept, changes = known.scan, known.old, known.kept, known.changes
    grown = [number for number, kind in enumerate(changes.kinds) if kind is Change.GROWN]
    tokens = {number: graphs.columns_kept_of(kept, number, scan.profiles) for number in grown}
    before = {n: {file.path for file in old.tables[changes.old_numbers[n]].files} for n in grown}
    files = {n: {file.path for file in scan.tables[n].files} - before[n] for n in grown if tokens[n]}
    if not files:
        return known
    content = tools.content(scan, settings, silent)
    content.read_through(files, tokens)
    return replace(known, scan=scanning.noted(scan, content))


def prune_by_content(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Drop the pairs where a sampled row of the child is missing in the parent."""
    return replace(known, scan=scanning.prune_by_content(known.scan, tools, settings, progress))


def verify_containment(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Keep the pairs that hold row by row, those among them whose proof was lost."""
    assert known.kept is not None
    graph = graphs.with_edges(known.scan.graph, known.unfounded)
    proven = graphs.known_edges(known.kept, graph)
    scan = replace(known.scan, graph=graph)
    return replace(known, scan=scanning.verify_knowing(proven, scan, tools, settings, progress))


def put_together(known: Updating, tools: Tools, settings: Settings, progress: Progress) -> Updating:
    """Join the edges that were taken over with those that were found now."""
    assert known.kept is not None
    begun = time.perf_counter()
    graph, since, runs = graphs.put_together(known.kept, known.scan.graph)
    line = FunnelLine("update_graph", len(graph), "edges", time.perf_counter() - begun)
    scan = replace(known.scan, graph=graph, since=since, since_runs=runs, funnel=(*known.scan.funnel, line))
    return replace(known, scan=scan)
