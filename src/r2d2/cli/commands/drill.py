"""`r2d2 drill`: rebuild deleted tables on trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from r2d2.cli.options import AS_JSON, LAKE, QUIET, settings_from, with_settings


@click.command(short_help="Rebuild deleted tables on trial, and compare.")
@click.argument("table", nargs=-1, metavar="[TABLE...]")
@LAKE
@with_settings("drill")
@AS_JSON
@QUIET
def drill(table: Sequence[str], lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Rebuild deleted tables on trial, all or some, and compare: exit code 1 if one does not come out exactly.

    How long it took is recorded, and the next plan reckons with it. Only what was drilled can be purged.
    """
    from r2d2.app.drill import drill_tables
    from r2d2.app.workspace import Workspace
    from r2d2.cli.confirm import interruptible
    from r2d2.cli.progress import shown
    from r2d2.cli.show_delete import show_drills

    settings = settings_from(given)
    with interruptible(), shown(quiet=quiet or as_json) as progress:
        recovered, done = drill_tables(Workspace(settings, lake=lake, progress=progress), table)
    show_drills(recovered, done, as_json=as_json)
    return int(not all(one.is_exact for one in done))
