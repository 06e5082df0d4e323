"""Plan deletions: choose them, and write a plan that can be applied."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

from r2d2.app.assumptions import read_assumptions
from r2d2.app.draft_plan import Draft, draft_plan
from r2d2.app.freshness import changed_tables
from r2d2.app.known_recipes import recipes_for
from r2d2.app.proposal import Planned, guards_of, planned, savings_curve, without_left_out
from r2d2.app.workspace import Workspace, lake_root, refuse_gone
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.errors import UserError
from r2d2.flows.plan import Planning, PlanTools
from r2d2.flows.step import step_named
from r2d2.model.progress import News
from r2d2.model.proposal import CurvePoint
from r2d2.model.scan import Scan
from r2d2.pipeline import PLAN, plan
from r2d2.safety.locked_lake import posix_files
from r2d2.safety.plan import write_plan
from r2d2.safety.preflight import refuse_lake_above


def make_plan(workspace: Workspace, *, out: str = "") -> tuple[Planned, Draft | None]:
    """The best deletions; with *out*, also as a plan in a file that can be applied."""
    settings = workspace.settings
    if out:
        _refuse_unwritable(out)
    newest = workspace.newest()
    for root in newest.roots:
        refuse_gone(root)
    known = plan(Planning(newest), settings=settings, tools=_tools(workspace), progress=workspace.progress)
    found = planned(known, settings)
    found = replace(found, notes=(*found.notes, *_stale(known.scan)))
    if not out:
        return found, None
    draft = _draft(workspace, known, found)
    if draft.plan is not None:
        write_plan(draft.plan, out)
    return without_left_out(found, {one.table for one in draft.left_out}), draft


def curve(workspace: Workspace) -> list[CurvePoint]:
    """The savings of the best plan, month by month."""
    scan, settings = workspace.scan_of_present(), workspace.settings
    read_assumptions(scan, replace(settings, access="", access_names=""))  # errors before Spark starts
    workspace.progress(News(step_named(PLAN, "infer_recipes").doing))
    book = recipes_for(workspace, scan)
    return savings_curve(scan, book.recipes, settings, given=book.given)


def _tools(workspace: Workspace) -> PlanTools:
    settings = workspace.settings
    return PlanTools(
        mark_deleted=workspace.marked,
        assume=lambda scan, deleted: read_assumptions(scan, settings, deleted=deleted),
        recipes=lambda scan, also, deleted: recipes_for(workspace, scan, also=also, deleted=deleted),
        past=workspace.past_deletions,
        guards=lambda scan, past: guards_of(scan, settings, past),
    )


def _draft(workspace: Workspace, known: Planning, found: Planned) -> Draft:
    scan = known.scan
    with posix_files(lake_root(scan)) as files, workspace.session(works=True) as session:
        refuse_lake_above(files)
        draft = partial(draft_plan, scan, known.known.recipes, found, files=files, progress=workspace.progress)
        return draft(rebuilder=SparkRebuilder(session))


def _refuse_unwritable(out: str) -> None:
    """Refuse a name that no plan can be written to, before the hours of planning."""
    if os.path.exists(out):
        raise UserError(f"{out} exists already", hint="a plan is never replaced: give another name, or remove it")
    folder = os.path.dirname(os.path.abspath(out))
    if not os.path.isdir(folder):
        raise UserError(f"there is no folder {folder}", hint="make it, or give another name with --out")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"nothing may be written to {folder}", hint="give another name with --out")


def _stale(scan: Scan) -> list[str]:
    """A note for a person who plans with an old scan."""
    changed = changed_tables(scan.tables)
    if not changed:
        return []
    more = f" and {len(changed) - 1:,} more have" if changed[1:] else " has"
    return [f"{changed[0]}{more} changed since the scan, and cannot go as planned: run `r2d2 update` first"]
