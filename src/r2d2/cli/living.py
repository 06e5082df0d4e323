"""`r2d2 update` and `r2d2 find`: a lake that changes, and a table that may become part of it."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import settings_from, with_settings

_JSON = click.option("--json", "as_json", is_flag=True, help="machine-readable output; the shapes are documented")
_QUIET = click.option("--quiet", "-q", is_flag=True, help="no progress, only the result")


@click.command(short_help="Bring the last scan up to date.")
@with_settings("update")
@_JSON
@_QUIET
def update(as_json: bool, quiet: bool, **given: Any) -> int:
    """Bring the last scan up to date: read only what changed, and what that may be contained in or contain.

    The lake and the settings are those of the last scan, and the result is that of a new one. Exit code 1 if a table
    could not be read, or if what happened endangers a table that was deleted and is to be rebuilt.
    """
    from r2d2.app.api import update_lake
    from r2d2.app.deleting import endangered
    from r2d2.cli.progress import shown
    from r2d2.cli.show_update import show_update

    settings = settings_from(given)
    with shown(quiet=quiet or as_json) as progress:
        done = update_lake(settings, progress=progress)
    wrong = endangered(done.scan, [one.table for one in done.changes.changed])
    show_update(done, state=settings.state, as_json=as_json, endangered=wrong)
    return int(done.scan.needs_a_look or bool(wrong))


@click.command(short_help="Say what the lake has of a table that is not in it.")
@click.argument("path")
@with_settings("find")
@_JSON
@_QUIET
def find(path: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Say what the lake of the last scan has of the table at PATH, which need not be part of it.

    Exit code 0: no table of the lake has all its rows. Exit code 1: one has, or one that might could not be read.
    Nothing is written.
    """
    from r2d2.app.finding import find_in_lake
    from r2d2.cli.progress import shown
    from r2d2.cli.show_update import show_finding

    settings = settings_from(given)
    with shown(quiet=quiet or as_json) as progress:
        finding = find_in_lake(path, settings, progress=progress)
    show_finding(finding, as_json=as_json)
    return int(finding.is_there or finding.needs_a_look)
