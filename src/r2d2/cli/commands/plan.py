"""`r2d2 plan`: choose deletions, and write a plan that `r2d2 apply` takes."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings


@click.command(short_help="Choose which contained tables to delete.")
@with_settings("plan")
@click.option(
    "--out",
    metavar="FILE",
    default="",
    help="also write a plan that `r2d2 apply` takes: every file is read and hashed, every row counted",
)
@click.option("--curve", is_flag=True, help="what the best plan saves, month by month")
@AS_JSON
@click.option("--verbose", "-v", is_flag=True, help="every table and every reason, however many there are")
@QUIET
def plan(out: str, curve: bool, as_json: bool, verbose: bool, quiet: bool, **given: Any) -> int:
    """Choose which contained tables to delete so that storage, maintenance and expected rebuilds cost least.

    Nothing is deleted by planning. Exit code 1 if a plan was asked for and no table could be put into it.
    """
    from r2d2.app import plan as app
    from r2d2.app.workspace import Workspace
    from r2d2.cli.progress import shown
    from r2d2.cli.show_plan import show_curve, show_plan
    from r2d2.errors import UserError

    settings = settings_from(given)
    if curve and out:
        raise UserError("--curve is no plan that could be written", hint="give --out without --curve")
    with shown(quiet=quiet or as_json) as progress:
        workspace = Workspace(settings, progress=progress)
        if curve:
            points = app.curve(workspace)
        else:
            planned, draft = app.make_plan(workspace, out=out)
    if curve:
        show_curve(points, as_json=as_json)
        return 0
    show_plan(planned, draft=draft, out=out, as_json=as_json, verbose=verbose)
    return int(draft is not None and draft.plan is None)
