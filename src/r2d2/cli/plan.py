"""`r2d2 plan`: what is best deleted, and a plan in a file that `r2d2 apply` takes."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import settings_from, with_settings


@click.command(short_help="Choose which contained tables to delete.")
@with_settings("plan")
@click.option(
    "--out",
    metavar="FILE",
    default="",
    help="also write a plan that `r2d2 apply` takes: every file is read and hashed, every row counted",
)
@click.option("--curve", is_flag=True, help="what the best plan saves, month by month")
@click.option("--json", "as_json", is_flag=True, help="machine-readable output; the shapes are documented")
@click.option("--verbose", "-v", is_flag=True, help="every table and every reason, however many there are")
@click.option("--quiet", "-q", is_flag=True, help="no progress, only the result")
def plan(out: str, curve: bool, as_json: bool, verbose: bool, quiet: bool, **given: Any) -> int:
    """Choose which contained tables to delete so that storage, maintenance and expected rebuilds cost least.

    Nothing is deleted by planning. Exit code 1 if a plan was asked for and no table could be put into it.
    """
    from dataclasses import replace

    from r2d2.app.absent import with_absent
    from r2d2.app.deleting import make_plan
    from r2d2.app.planning import read_assumptions, savings_curve
    from r2d2.app.recipe_book import recipes_for
    from r2d2.cli.progress import working
    from r2d2.cli.show_plan import show_curve, show_plan
    from r2d2.errors import UserError
    from r2d2.state.store import StateStore
    from r2d2.steps.leave_out_absent import leave_out_absent

    settings = settings_from(given)
    if curve and out:
        raise UserError("--curve is no plan that could be written", hint="give --out without --curve")
    with working(quiet=quiet or as_json) as told:
        if curve:
            found = leave_out_absent(with_absent(StateStore(settings.state).load()))
            read_assumptions(found, replace(settings, access="", access_names=""))  # errors before Spark starts
            told("looking for recipes", 0, 0)
            book = recipes_for(found, settings)
            points = savings_curve(found, book.recipes, settings, given=book.given)
        else:
            planned, draft = make_plan(settings, out=out, told=told)
    if curve:
        show_curve(points, as_json=as_json)
        return 0
    show_plan(planned, draft=draft, out=out, as_json=as_json, verbose=verbose)
    return int(draft is not None and draft.plan is None)
