"""`r2d2 find`: say what the lake has of a table that is not in it."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings


@click.command(short_help="Say what the lake has of a table that is not in it.")
@click.argument("path")
@with_settings("find")
@AS_JSON
@QUIET
def find(path: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Say what the lake of the last scan has of the table at PATH, which need not be part of it.

    Exit code 0: no table of the lake has all its rows. Exit code 1: one has, or one that might could not be read.
    Nothing is written.
    """
    from r2d2.app.find import find_in_lake
    from r2d2.app.workspace import Workspace
    from r2d2.cli.progress import shown
    from r2d2.cli.show_update import show_finding

    settings = settings_from(given)
    with shown(quiet=quiet or as_json) as progress:
        finding = find_in_lake(Workspace(settings, progress=progress), path)
    show_finding(finding, as_json=as_json)
    return int(finding.is_there or finding.needs_a_look)
