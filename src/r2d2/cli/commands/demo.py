"""`r2d2 demo`: a small lake, the whole job on it, and where the results are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings

if TYPE_CHECKING:
    from r2d2.app.workspace import Workspace
    from r2d2.model.scan import Scan

_MOST_EDGES = 15


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("r2d2-demo"),
    show_default=True,
    help="where the demo's lake and results go; what an earlier demo left there is replaced",
)
@with_settings("demo")
@AS_JSON
@QUIET
def demo(folder: Path, as_json: bool, quiet: bool, **given: Any) -> int:
    """Make a small lake, find what is contained in what, and show it."""
    from r2d2.app.demo import clear_demo, make_lake
    from r2d2.app.scan import scan_lake
    from r2d2.app.workspace import Workspace
    from r2d2.cli.progress import shown
    from r2d2.cli.show import show_edges, show_scan
    from r2d2.report.edges import standing_edges

    given["state"] = given["state"] or str(folder / "state")
    settings = settings_from(given)
    clear_demo(folder)
    with shown(quiet=quiet or as_json) as progress:
        lake = make_lake(folder, progress)
    with shown(quiet=quiet or as_json) as progress:
        workspace = Workspace(settings, progress=progress)
        found = scan_lake(workspace, [str(lake)])
    show_scan(found, state=settings.state, as_json=as_json)
    if as_json:
        return 0
    show_edges(standing_edges(found), "table", most=_MOST_EDGES)
    if settings.verify:
        _show_plan(workspace, found, quiet=quiet)
    _show_next(folder, settings.state)
    return 0


def _show_plan(workspace: Workspace, found: Scan, *, quiet: bool) -> None:
    from r2d2.app.demo import plan_demo
    from r2d2.cli.show_plan import show_plan

    if not quiet:
        click.echo("r2d2: looking for recipes", err=True)
    show_plan(plan_demo(workspace, found), as_json=False, most=_MOST_EDGES)


def _show_next(folder: Path, state: str) -> None:
    from r2d2.cli.output import console, printable

    out = console()
    for what, where in (
        ("the lake", folder / "lake"),
        ("how each table was made", folder / "lineage.json"),
        ("what was found", Path(state)),
        ("the whole plan", f"r2d2 plan --state {state} --min-age 0 --verbose"),
    ):
        out.print(printable(f"{what:>24}: {where}"), markup=False)
