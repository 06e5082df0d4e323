"""A lake that is scanned already: what changed in it is asked again, the rest is taken over (section 7.1).

The steps are those of the pipeline, on the pairs that a changed table has a part in. The result is that of a scan
from scratch.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import MappingProxyType

from r2d2.errors import UserError
from r2d2.model.containment import Missing
from r2d2.model.profile import TableProfile
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.scan_settings import ScanSettings
from r2d2.model.table import Absent, Discovery, Table
from r2d2.pipeline import (
    STEPS,
    Meter,
    Progress,
    Step,
    Tools,
    listed,
    noted,
    profile_knowing,
    silent,
    steps_for,
    take,
    verify_knowing,
)
from r2d2.settings import Settings
from r2d2.steps.edges.arrays import NO_EDGES
from r2d2.steps.find_changes import Change, Changes, find_changes, in_doubt, touched_tables, unchanged_tables
from r2d2.steps.prune_by_minmax import prune_by_minmax
from r2d2.steps.settle_tables import still_apart
from r2d2.steps.update_graph import (
    Kept,
    columns_kept_of,
    known_edges,
    pairs_with,
    put_together,
    still_candidates,
    to_be_asked,
    update_graph,
    with_edges,
    without_tables,
)
from r2d2.steps.verify_containment import Pair

_, _, _SCHEMAS, _, _SAMPLES, _ = STEPS


@dataclass(frozen=True)
class Update:
    """The lake as it is now, and what an update had to do for it."""

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
    return scan.graph.edges() if scan.graph else iter(())


def as_scanned(settings: Settings, old: Scan) -> Settings:
    """The settings with those of the last scan where they shape the result; an error if others were asked for."""
    usual, shaping = ScanSettings(), vars(old.settings)
    for name, then in shaping.items():
        now = getattr(settings, name)
        if now not in (then, getattr(usual, name)):
            raise UserError(
                f"the setting {name} is {now} and was {then} in the last scan: nothing of that scan can be taken over",
                hint="leave the setting as it was, or run `r2d2 scan LAKE` with the new one",
            )
    return replace(settings, **shaping)


def update(
    old: Scan,
    *,
    settings: Settings,
    tools: Tools,
    progress: Progress,
    rebuildable: Mapping[str, Absent] = MappingProxyType({}),
) -> Update:
    """Bring the last scan up to date. `tools.profile` is given only the tables that changed.

    *rebuildable* are tables that were deleted and can be had back: they stay in the graph as they were, with the
    edges that the changes of others leave true. Their rows are not there to be asked.
    """
    scan = Scan(roots=old.roots, settings=settings.scan, in_force=asdict(settings))
    scan = take(Step("discover", partial(_discover_as_before, old)), scan, tools, settings, progress)
    scan = take(Step("profile", partial(_profile_changed, old)), scan, tools, settings, progress)
    scan = _with_absent(scan, old, rebuildable)
    broken: dict[str, str] = {}
    while True:
        changes = find_changes(old, scan, broken=broken)
        if not changes:
            return _unchanged(old, scan)
        done = _ask_again(old, scan, changes, tools, settings, progress)
        # A table that turns out to be unreadable has no edges, old or new: what was taken over of it goes as well.
        unread = {problem.where: problem.because for problem in done.scan.problems if problem.needs_a_look}
        still_trusted = {
            table.name: unread[table.name]
            for table, kind in zip(scan.tables, changes.kinds, strict=True)
            if table.name in unread and kind not in (Change.NEW, Change.REPLACED)
        }
        if not still_trusted:
            return done
        broken = broken | still_trusted


def _unchanged(old: Scan, scan: Scan) -> Update:
    """What a lake gives in which no table changed; the tables' order is that of their names, and so the same."""
    assert old.graph is not None
    known = replace(scan, schema_graph=old.schema_graph, graph=old.graph, since=old.since, since_runs=old.since_runs)
    if not old.since:
        known = replace(known, since=array("I", bytes(4 * len(old.graph))), since_runs=(old.run,))
    return Update(old, known, Changes((), (), ()), len(old.graph), 0)


def _with_absent(scan: Scan, old: Scan, rebuildable: Mapping[str, Absent]) -> Scan:
    """The lake together with the rebuildable tables that are not in it, as they were.

    Left out is what nothing is certain of: a table that was in doubt when it was last listed, and all of them where
    edges stand on samples, which cannot be drawn again.
    """
    if not rebuildable or not scan.settings.verify:
        return scan
    here = {table.name for table in scan.tables} | {problem.where for problem in scan.problems}
    wanted = rebuildable.keys() - here - in_doubt(old)
    away = [(t, p) for t, p in zip(old.tables, old.profiles, strict=True) if t.name in wanted]
    all_of_them = sorted([*zip(scan.tables, scan.profiles, strict=True), *away], key=lambda known: known[0].name)
    absent = {table.name: rebuildable[table.name] for table, _ in away}
    return replace(
        scan,
        tables=tuple(table for table, _ in all_of_them),
        profiles=tuple(profile for _, profile in all_of_them),
        overlaps=scan.overlaps | {pair for pair in old.overlaps if not absent.keys().isdisjoint(pair)},
        absent=absent,
        unsampled=frozenset(absent),
    )


def _discover_as_before(old: Scan, scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Which tables are there now?"""
    listed_ns = time.time_ns()
    return listed(scan, list_again(old, settings, tools, progress), listed_ns)


def list_again(old: Scan, settings: Settings, tools: Tools, progress: Progress) -> Discovery:
    """List the lake as a scan does, and again where files that are as they were prove that a folder is no table."""
    found = tools.discover(old.roots, settings, progress)
    files = _once_alone(old, found.tables)
    same = {} if settings.ignore_case else unchanged_tables(old, files)  # profiles fold the names of columns
    proven = still_apart(files, {name: old.profiles[number] for name, number in same.items()})
    return tools.discover(old.roots, settings, progress, apart=proven) if proven else found


def _once_alone(old: Scan, tables: Sequence[Table]) -> list[Table]:
    """Files, in folders that only their names make tables, that were tables of their own; as such."""
    alone = {table.location: table for table in old.tables if table.is_file}
    return [
        replace(alone[file.path], files=(file,))
        for table in tables
        if table.by_names
        for file in table.files
        if file.path in alone
    ]


def _profile_changed(old: Scan, scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """The profiles of the last scan where nothing changed, new ones elsewhere."""

    def known(tables: Sequence[Table]) -> dict[str, tuple[Table, TableProfile]]:
        same = unchanged_tables(old, tables)
        return {
            table.name: (_with_row_groups(table, old.tables[same[table.name]]), old.profiles[same[table.name]])
            for table in tables
            if table.name in same
        }

    return profile_knowing(known, scan, tools, settings, progress)


def _with_row_groups(table: Table, known: Table) -> Table:
    """The table with the files as they are known, which are the same."""
    if (table.aliases, table.unexplained) == (known.aliases, known.unexplained):
        return known
    return replace(table, files=known.files)


def _ask_again(
    old: Scan,
    scan: Scan,
    changes: Changes,
    tools: Tools,
    settings: Settings,
    progress: Progress,
) -> Update:
    """The steps from the schema graph on, for the pairs that have to be asked again."""
    scan = take(_SCHEMAS, scan, tools, settings, progress)
    gone = [number for number, table in enumerate(scan.tables) if table.name in scan.absent]
    kept = update_graph(old, profiles=scan.profiles, changes=changes, unasked=gone)
    again = touched_tables(changes)
    scan = take(Step("prune_by_minmax", partial(_prune_pairs_with, again)), scan, tools, settings, progress)
    assert scan.graph is not None
    kept = still_candidates(kept, scan.graph, again)
    scan = replace(scan, graph=without_tables(to_be_asked(scan.graph, kept), gone))
    scan = _read_what_grew(scan, old, kept, changes, tools, settings)
    scan, asked = _settled(scan, kept, gone, tools, settings, progress)
    assert scan.graph is not None
    begun = time.perf_counter()
    graph, since, runs = put_together(kept, scan.graph)
    line = FunnelLine("update_graph", len(graph), "edges", time.perf_counter() - begun)
    scan = replace(scan, graph=graph, since=since, since_runs=runs, funnel=(*scan.funnel, line))
    return Update(old, scan, changes, len(kept.standing), asked)


def _prune_pairs_with(tables: Sequence[int], scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Which pairs that one of *tables* has a part in do ranges, nulls and counts leave?"""
    assert scan.schema_graph is not None
    pairs = pairs_with(scan.schema_graph, tables)
    pruned = prune_by_minmax(pairs, profiles=scan.profiles, overlaps=scan.overlaps, containment=scan.containment)
    return replace(scan, graph=pruned)


def _read_what_grew(scan: Scan, old: Scan, kept: Kept, changes: Changes, tools: Tools, settings: Settings) -> Scan:
    """A table that has grown keeps edges without being compared: see that its new files can be read at all."""
    grown = [number for number, kind in enumerate(changes.kinds) if kind is Change.GROWN]
    tokens = {number: columns_kept_of(kept, number, scan.profiles) for number in grown}
    before = {n: {file.path for file in old.tables[changes.old_numbers[n]].files} for n in grown}
    files = {n: {file.path for file in scan.tables[n].files} - before[n] for n in grown if tokens[n]}
    if not files:
        return scan
    content = tools.content(scan, settings, Meter("prune_by_minmax", silent).read)
    content.read_through(files, tokens)
    return noted(scan, content)


def _settled(
    scan: Scan, kept: Kept, gone: Sequence[int], tools: Tools, settings: Settings, progress: Progress
) -> tuple[Scan, int]:
    """The scan with its graph's edges judged by their content, and how many had to be."""
    assert scan.graph is not None
    unfounded = without_tables(with_edges(replace(scan.graph, standing=NO_EDGES), kept.unfounded), gone).standing
    asked = len(scan.graph) + len(unfounded)
    if not asked:
        return replace(scan, graph=replace(scan.graph, step=steps_for(settings)[-1].name, dropped={})), 0
    if len(scan.graph):
        scan = take(_SAMPLES, scan, tools, settings, progress)
    if settings.verify:
        assert scan.graph is not None
        graph = with_edges(scan.graph, unfounded)
        known = known_edges(kept, graph)
        scan = replace(scan, graph=graph)
        scan = take(Step("verify_containment", partial(_verify, known)), scan, tools, settings, progress)
    return scan, asked


def _verify(known: Mapping[Pair, Missing], scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    return verify_knowing(known, scan, tools, settings, progress)
