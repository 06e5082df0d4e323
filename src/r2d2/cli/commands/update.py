"""`r2d2 update`: bring the last scan up to date."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings


@click.command(short_help="Bring the last scan up to date.")
@with_settings("update")
@AS_JSON
@QUIET
def update(as_json: bool, quiet: bool, **given: Any) -> int:
    """Bring the last scan up to date: read only what changed, and what that may be contained in or contain.

    The lake and the settings are those of the last scan, and the result is that of a new one. Exit code 1 if a table
    could not be read, or if what happened endangers a table that was deleted and is to be rebuilt.
    """
    from r2d2.app.update import update_lake
    from r2d2.app.workspace import Workspace
    from r2d2.cli.progress import shown
    from r2d2.cli.show_update import show_update

    settings = settings_from(given)
    with shown(quiet=quiet or as_json) as progress:
        done = update_lake(Workspace(settings, progress=progress))
    show_update(done, state=settings.state, as_json=as_json, endangered=done.endangered)
    return int(done.scan.needs_a_look or bool(done.endangered))
