"""`r2d2 edges`: list the containment edges of the last scan."""

from __future__ import annotations

from itertools import chain
from typing import Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings


@click.command()
@with_settings("edges")
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", help="how to print them"
)
@click.option("--all", "everything", is_flag=True, help="the pairs that were dropped too, and why")
@AS_JSON
@QUIET
def edges(form: str, everything: bool, as_json: bool, quiet: bool, **given: Any) -> int:
    """List the containment edges of the last scan."""
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show import show_edges
    from r2d2.report.edges import dropped_edges, standing_edges

    found = Workspace(settings_from(given)).scan()
    rows = chain(standing_edges(found), dropped_edges(found)) if everything else standing_edges(found)
    show_edges(rows, "json" if as_json else form)
    return 0
