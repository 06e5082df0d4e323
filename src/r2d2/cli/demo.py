"""`r2d2 demo`: a small lake, the whole job on it, and where the results are."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import click

from r2d2.app.api import scan_lake
from r2d2.app.planning import plan_lake
from r2d2.app.recipe_book import recipes_for
from r2d2.cli.output import console, printable
from r2d2.cli.progress import counted, shown
from r2d2.cli.show import show_edges, show_scan
from r2d2.cli.show_plan import show_plan
from r2d2.errors import UserError
from r2d2.model.scan import Scan
from r2d2.report.edges import standing_edges
from r2d2.settings import Settings
from r2d2.synthetic import generate_lake

TABLES, ROWS, SEED = 60, 20_000, 7
_OURS = {"lake", "lineage.json", "truth.json", "state"}
_MOST_EDGES = 15


def run_demo(folder: Path, settings: Settings, *, as_json: bool, quiet: bool) -> int:
    """Generate, scan, plan, show."""
    _clear(folder)
    with counted("making a small lake of 60 tables", quiet=quiet or as_json) as progress:
        lake = generate_lake(folder, tables=TABLES, rows=ROWS, seed=SEED, progress=progress)
    with shown(quiet=quiet or as_json) as steps:
        found = scan_lake([str(lake.path)], settings, progress=steps)
    show_scan(found, state=settings.state, as_json=as_json)
    if as_json:
        return 0
    show_edges(standing_edges(found), "table", most=_MOST_EDGES)
    if settings.verify:
        _plan(found, settings, quiet=quiet)
    _show_next(folder, settings.state)
    return 0


def _plan(found: Scan, settings: Settings, *, quiet: bool) -> None:
    """What may go. The lake has only just been made, so no table has to be of any age."""
    if not quiet:
        click.echo("r2d2: looking for recipes", err=True)
    book = recipes_for(found, settings)
    planned = plan_lake(found, book.recipes, replace(settings, min_age=0.0), given=book.given)
    show_plan(planned, as_json=False, most=_MOST_EDGES)


def _clear(folder: Path) -> None:
    """Remove an earlier demo; a folder with anything else in it is left alone."""
    if not folder.exists():
        return
    foreign = {path.name for path in folder.iterdir()} - _OURS
    if foreign:
        hint = "give a new one with --folder DIR"
        raise UserError(f"{folder} holds more than a demo: {min(foreign)}", hint=hint)
    shutil.rmtree(folder)


def _show_next(folder: Path, state: str) -> None:
    out = console()
    for what, where in (
        ("the lake", folder / "lake"),
        ("how each table was made", folder / "lineage.json"),
        ("what was found", Path(state)),
        ("the whole plan", f"r2d2 plan --state {state} --min-age 0 --verbose"),
    ):
        out.print(printable(f"{what:>24}: {where}"), markup=False)
