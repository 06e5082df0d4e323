"""Bring the last scan of a lake up to date."""

from __future__ import annotations

from dataclasses import dataclass, replace

from r2d2.app.deletions import Deletions
from r2d2.app.lake_tools import FILES_AT_HAND
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.flows.update import Update
from r2d2.model.scan import Scan
from r2d2.model.scan_settings import ScanSettings
from r2d2.pipeline import update
from r2d2.safety.doctor import BAD, Finding
from r2d2.settings import Settings


@dataclass(frozen=True)
class Updated(Update):
    """An update, and the dangers to deleted tables that it met."""

    endangered: tuple[Finding, ...] = ()


def update_lake(workspace: Workspace) -> Updated:
    """Bring the newest scan in the state folder up to date and save the result, if anything changed.

    Tables that were deleted here and can be rebuilt stay in the graph.
    """
    store = workspace.store
    store.newest  # noqa: B018 - an error if there is no scan, before anything is written
    with store.locked(), workspace.session() as session:
        old = store.load()
        with workspace.deletions(old) as deletions:
            settings = as_scanned(workspace.settings, old)
            tools = workspace.tools(session, at_hand=FILES_AT_HAND)
            away = old.absent if deletions is None else deletions.absent(old)
            found = update(old, settings=settings, tools=tools, progress=workspace.progress, rebuildable=away)
            done = _examined(Updated(**vars(found)), deletions)
        if not done.is_news:
            return replace(done, scan=replace(old, session_seconds=session.seconds, bytes_read=0))
        scan = replace(done.scan, session_seconds=session.seconds)
        scan = replace(scan, run=store.save(scan, keep=settings.keep_runs, known=old))
        return replace(done, scan=scan)


def _examined(done: Updated, deletions: Deletions | None) -> Updated:
    """Ask the doctor about the deleted tables; every byte is read if a parent of one has changed."""
    if deletions is None:
        return done
    changed = {one.table for one in done.changes.changed}
    deep = not deletions.past(done.scan).parents_of_deleted.keys().isdisjoint(changed)
    findings = deletions.findings(deep=deep)
    marks = deletions.absent(done.old, findings)
    absent = {name: marks[name] for name in done.scan.absent}
    bad = tuple(one for one in findings if one.severity == BAD)
    return replace(done, scan=replace(done.scan, absent=absent), endangered=bad)


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
