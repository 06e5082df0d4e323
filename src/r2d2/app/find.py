"""Find a table that need not be in the lake among the tables of the last scan."""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from r2d2.app.lake_tools import FILES_AT_HAND
from r2d2.app.update import as_scanned
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.flows.scan import sampled_rows
from r2d2.flows.tools import Tools
from r2d2.flows.update import list_again
from r2d2.lake.discover import discover
from r2d2.model.containment import Missing
from r2d2.model.counted import counted
from r2d2.model.graph import SchemaGraph
from r2d2.model.profile import TableProfile
from r2d2.model.progress import News, Progress, named, silent
from r2d2.model.scan import Scan
from r2d2.model.table import Discovery, Problem, Profiled, Table
from r2d2.report.find import Finding, Likeness
from r2d2.settings import Settings
from r2d2.steps.find_similar import Sampled, Similar, compatible_pairs, find_similar
from r2d2.steps.settle_tables import settle_tables
from r2d2.steps.update_graph import proven_edges


def find_in_lake(workspace: Workspace, path: str | Path) -> Finding:
    """Hold the table at *path* against the newest scan in the state folder, which stays as it is."""
    scan = workspace.scan_of_present()
    settings = as_scanned(workspace.settings, scan)
    with workspace.session() as session:
        tools = workspace.tools(session, at_hand=FILES_AT_HAND)
        finding = hold_against(scan, str(path), settings, tools, workspace.progress)
        return replace(finding, session_seconds=session.seconds)


def hold_against(scan: Scan, path: str, settings: Settings, tools: Tools, progress: Progress = silent) -> Finding:
    """Find the table at *path* among those of a scan."""
    table = _table_at(path, scan, settings)
    progress(News("profile"))
    profiled = tools.profile([table], settings, silent)
    if profiled.apart:
        hint = f"give one of them: {', '.join(os.path.basename(file.path) for file in table.files[:3])}"
        raise UserError(f"{path} holds {len(table.files):,} tables, whose columns do not fit one another", hint=hint)
    if not profiled.tables:
        raise UserError(f"cannot read {path}: {profiled.problems[0].because}", hint=profiled.problems[0].hint)
    (table,), (profile,) = profiled.tables, profiled.profiles
    overlapping = [other for other in scan.tables if _overlap(table, other)]
    same = next((other.name for other in overlapping if _is_same(table, other)), "")
    overlaps = scan.overlaps | {_ordered(table.name, other.name) for other in overlapping}
    both = replace(scan, tables=(*scan.tables, table), profiles=(*scan.profiles, profile), overlaps=overlaps)
    pairs = compatible_pairs(both.profiles, len(scan.tables), scan.containment)
    partners = {scan.tables[number].name for family in _partners(pairs, len(scan.tables)) for number in family}
    found, profiled = _lake_now(scan, settings, tools)
    now = [other for other in found.tables if not _overlap(table, other)]
    partners -= {other.name for other in overlapping}
    _must_be_as_scanned(scan, now, partners, profile, profiled.profiles)
    progress(News("verify_containment"))
    content = tools.content(both, settings, named(progress, "verify_containment"))
    similar = find_similar(
        pairs,
        len(scan.tables),
        profiles=both.profiles,
        content=content,
        sampled=Sampled(sampled_rows(settings), settings.columns),
        containment=scan.containment,
        overlaps=overlaps,
        known=proven_edges(scan),
        nearest=settings.nearest,
    )
    problems = (*content.problems(), *(_not_compared(other) for other in overlapping if other.name != same))
    if any(problem.where == table.name for problem in problems):
        because = next(problem for problem in problems if problem.where == table.name)
        raise UserError(f"cannot read {path}: {because.because}", hint=because.hint)
    return replace(
        _finding(path, both, similar, problems),
        is_table=same,
        bytes_read=content.bytes_read,
    )


def _finding(path: str, scan: Scan, similar: Similar, problems: tuple[Problem, ...]) -> Finding:
    profile = scan.profiles[-1]
    equal = set(similar.equal)

    def likenesses(found: Mapping[int, Missing], *, child: int | None, among: bool | None = None) -> list[Likeness]:
        return [
            _likeness(scan, other, missing, scan.profiles[other if child is None else child].rows)
            for other, missing in found.items()
            if among is None or (other in equal) is among
        ]

    mine = len(scan.profiles) - 1
    return Finding(
        path=path,
        rows=profile.rows,
        size_bytes=profile.size_bytes,
        equal=tuple(likenesses(similar.parents, child=mine, among=True)),
        contained_in=tuple(likenesses(similar.parents, child=mine, among=False)),
        contains=tuple(likenesses(similar.children, child=None, among=False)),
        nearest=tuple(likenesses(similar.nearest, child=mine)),
        run=scan.run,
        problems=problems,
    )


def _likeness(scan: Scan, other: int, missing: Missing, child_rows: int | None) -> Likeness:
    share = 1.0 if not missing.rows else 1 - missing.rows / child_rows if child_rows else None
    return Likeness(scan.tables[other].name, scan.profiles[other].rows, share, missing.copies == 0, missing.rows)


def _table_at(path: str, scan: Scan, settings: Settings) -> Table:
    """The one table at a path, under a name that no table of the lake has."""
    found = discover([path], folder_tables=settings.folder_table, split=settings.split)
    if len(found.tables) != 1:
        names = ", ".join(table.name for table in found.tables[:3])
        raise UserError(f"{path} holds {counted(len(found.tables), 'tables')}", hint=f"give one of them: {names}")
    broken = [problem for problem in found.problems if problem.needs_a_look]
    if broken:
        raise UserError(f"{path} cannot be used: {broken[0].because}", hint=broken[0].hint)
    name = path
    while name in scan.number_of:
        name = f"./{name}"
    return replace(found.tables[0], name=name, aliases=())


def _overlap(one: Table, other: Table) -> bool:
    """Whether two tables share files, or one lies in the other."""
    mine = {file.version.identity for file in one.files}
    nested = os.path.commonpath([one.location, other.location]) in (one.location, other.location)
    return nested or any(file.version.identity in mine for file in other.files)


def _is_same(one: Table, other: Table) -> bool:
    return {file.version.identity for file in one.files} == {file.version.identity for file in other.files}


def _not_compared(table: Table) -> Problem:
    return Problem(table.name, "it shares files or folders with this table, and was not compared", kind="notice")


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _partners(pairs: SchemaGraph, table: int) -> Iterator[array[int]]:
    """The families of tables that the table has a pair with."""
    for parent, child in pairs.family_edges():
        yield from (pairs.families[family] for family in (parent, child) if table not in pairs.families[family])


def _lake_now(scan: Scan, settings: Settings, tools: Tools) -> tuple[Discovery, Profiled]:
    """The lake as a scan would find it today; profiles of unchanged tables are taken over."""
    then = {table.name: (table, profile) for table, profile in zip(scan.tables, scan.profiles, strict=True)}
    return settle_tables(
        list_again(scan, settings, tools, silent),
        profile=lambda tables: tools.profile(tables, settings, silent),
        discover_again=lambda apart: tools.discover(scan.roots, settings, silent, apart=apart),
        known=lambda tables: {
            t.name: then[t.name] for t in tables if t.name in then and then[t.name][0].states == t.states
        },
    )


def _must_be_as_scanned(
    scan: Scan,
    now: Sequence[Table],
    partners: Collection[str],
    profile: TableProfile,
    profiles_now: Sequence[TableProfile],
) -> None:
    """No table that could have to do with this one may have come, gone or changed since the scan."""
    then = {table.name: table.states for table in scan.tables}
    news = {table.name for table in now if then.get(table.name) != table.states}
    same = {table.name for table in now} - news
    changed = set(partners) - same
    profiles = [one for one in profiles_now if one.table in news - changed]
    pairs = compatible_pairs((*profiles, profile), len(profiles), scan.containment)
    changed |= {profiles[number].table for family in _partners(pairs, len(profiles)) for number in family}
    if changed:
        first, *others = sorted(changed)
        more = f", and {len(others):,} more" if others else ""
        what = "has changed since the scan" if first in then else "is new since the scan"
        raise UserError(f"{first} {what}{more}", hint="run `r2d2 update` first")
