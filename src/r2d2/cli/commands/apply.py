"""`r2d2 apply`: delete what a plan says, so that it can be brought back."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import APPROVED_BY, AS_JSON, QUIET, settings_from, with_settings
from r2d2.model.counted import counted


@click.command(short_help="Delete what a plan says, so that it can be brought back.")
@click.argument("plan", metavar="PLAN")
@click.option("--dry-run", is_flag=True, help="say what would be done, and what speaks against it; touch nothing")
@APPROVED_BY
@click.option(
    "--yes-delete",
    "typed",
    type=int,
    metavar="N",
    help="the number of tables, for plans that take a large share of the lake and a program that cannot type it",
)
@click.option("--empty-too", is_flag=True, help="tables without rows may go, too")
@with_settings("apply")
@AS_JSON
@QUIET
def apply(
    plan: str,
    dry_run: bool,
    approved_by: str,
    typed: int | None,
    empty_too: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Delete what PLAN says: each table goes to quarantine, and stays there only if its recipe rebuilds it exactly.

    All tables are checked before the first is touched. Exit code 1 if a table was put back.
    """
    from r2d2.app.apply import apply_plan, preview
    from r2d2.app.workspace import Workspace
    from r2d2.cli.confirm import ask_number, interruptible, user_name
    from r2d2.cli.progress import shown
    from r2d2.cli.show_delete import show_applied, show_preview
    from r2d2.safety.apply import Approval

    approved_by = approved_by or user_name()
    settings = settings_from(given)
    seen = preview(
        Workspace(settings),
        plan,
        approved_by=approved_by,
        typed=typed,
        empty_too=empty_too,
        with_tables=dry_run,
    )
    if dry_run:
        show_preview(seen, typed=typed, as_json=as_json)
        return int(seen.is_refused)
    if typed is None and seen.number_to_type is not None and not seen.refused:
        number, of_tables = seen.number_to_type, seen.lake_size.tables
        what = f"This deletes {number:,} of {counted(of_tables, 'tables')}, a large share of the lake"
        typed = ask_number(number, what, "--yes-delete")
    with interruptible(), shown(quiet=quiet or as_json) as progress:
        approval = Approval(approved_by, typed, empty_too)
        recovered, done = apply_plan(Workspace(settings, progress=progress), seen.plan, approval=approval)
    show_applied(recovered, done, seen.plan, as_json=as_json)
    return int(not all(one.is_deleted for one in done))
