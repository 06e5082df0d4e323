"""`r2d2 purge`: free the space of deleted tables that can be rebuilt."""

from __future__ import annotations

import time
from typing import Any

import click

from r2d2.cli.options import AS_JSON, LAKE, QUIET, settings_from, with_settings


@click.command(short_help="Free the space of deleted tables that can be rebuilt.")
@LAKE
@with_settings("purge")
@AS_JSON
@QUIET
def purge(lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Free the space of deleted tables whose time in quarantine is over, that were drilled, and whose parent is whole.

    Exit code 1 if a table whose time is over could not be purged.
    """
    from r2d2.app.purge import overdue, purge_tables
    from r2d2.app.workspace import Workspace
    from r2d2.cli.confirm import interruptible
    from r2d2.cli.show_delete import show_purges

    workspace, now = Workspace(settings_from(given), lake=lake), time.time()
    with interruptible():
        recovered, done = purge_tables(workspace)
    show_purges(recovered, done, as_json=as_json)
    return int(overdue(workspace, done, now=now))
