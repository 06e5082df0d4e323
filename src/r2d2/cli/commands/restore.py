"""`r2d2 restore`: bring deleted tables back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from r2d2.cli.options import AS_JSON, LAKE, QUIET, settings_from, with_settings


@click.command(short_help="Bring deleted tables back, exactly.")
@click.argument("table", nargs=-1, metavar="[TABLE...]")
@click.option("--all", "everything", is_flag=True, help="every deleted table")
@click.option("--to", metavar="DIR", help="put copies there; the tables stay deleted")
@LAKE
@with_settings("restore")
@AS_JSON
@QUIET
def restore(
    table: Sequence[str], everything: bool, to: str | None, lake: str, as_json: bool, quiet: bool, **given: Any
) -> int:
    """Bring deleted tables back, from quarantine or by their recipes: exactly, or not at all.

    Exit code 1 if one of several could not be restored.
    """
    from r2d2.app.restore import restore_tables
    from r2d2.app.workspace import Workspace
    from r2d2.cli.confirm import interruptible
    from r2d2.cli.progress import shown
    from r2d2.cli.show_delete import show_restored
    from r2d2.errors import UserError

    if everything == bool(table):
        raise UserError("say which tables to restore, or --all", hint="`r2d2 status` lists them")
    if to == "":
        raise UserError("--to names no folder", hint="give one, or leave --to out: the tables then go to their places")
    settings = settings_from(given)
    with interruptible(), shown(quiet=quiet or as_json) as progress:
        workspace = Workspace(settings, lake=lake, progress=progress)
        recovered, done = restore_tables(workspace, table or None, to=to or "")
    show_restored(recovered, done, as_json=as_json)
    return int(not all(one.is_restored for one in done))
