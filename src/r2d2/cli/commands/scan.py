"""`r2d2 scan`: find which tables of a lake are contained in which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings


@click.command(short_help="Find which tables of a lake are contained in which.")
@click.argument("lake", nargs=-1, required=True, metavar="LAKE...")
@with_settings("scan")
@AS_JSON
@QUIET
def scan(lake: Sequence[str], as_json: bool, quiet: bool, **given: Any) -> int:
    """Find the tables under LAKE and which may be contained in which."""
    from r2d2.app.scan import scan_lake
    from r2d2.app.workspace import Workspace
    from r2d2.cli.progress import shown
    from r2d2.cli.show import show_scan

    settings = settings_from(given)
    with shown(quiet=quiet or as_json) as progress:
        found = scan_lake(Workspace(settings, progress=progress), lake)
    show_scan(found, state=settings.state, as_json=as_json)
    return int(found.needs_a_look)
