"""`r2d2 forget`: give up deleted tables that are lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from r2d2.cli.options import APPROVED_BY, AS_JSON, LAKE, QUIET, settings_from, with_settings
from r2d2.model.counted import counted


@click.command(short_help="Give up deleted tables that are lost.")
@click.argument("table", nargs=-1, required=True, metavar="TABLE...")
@APPROVED_BY
@click.option(
    "--yes-forget", "typed", type=int, metavar="N", help="the number of tables, for a program that cannot type it"
)
@LAKE
@with_settings("forget")
@AS_JSON
@QUIET
def forget(
    table: Sequence[str],
    approved_by: str,
    typed: int | None,
    lake: str,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Give up deleted tables that are lost: purged, and their parents are no longer what they were.

    What can still be brought back is refused. The journal keeps who gave them up.
    """
    from r2d2.app.forget import forget_tables
    from r2d2.app.workspace import Workspace
    from r2d2.cli.confirm import ask_number, interruptible, user_name
    from r2d2.cli.show_delete import show_forgotten
    from r2d2.errors import UserError

    settings, number = settings_from(given), len(set(table))
    if typed is None:
        typed = ask_number(number, f"This gives up {counted(number, 'lost tables')} for good", "--yes-forget")
    if typed != number:
        raise UserError(
            f"{counted(number, 'tables')} {'is' if number == 1 else 'are'} named, not {typed:,}",
            hint=f"--yes-forget {number} confirms it",
        )
    with interruptible():
        workspace = Workspace(settings, lake=lake)
        recovered, done = forget_tables(workspace, table, approved_by=approved_by or user_name())
    show_forgotten(recovered, done, as_json=as_json)
    return 0
