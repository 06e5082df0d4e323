"""The commands that delete tables and bring them back: apply, drill, purge, restore, status, doctor."""

from __future__ import annotations

import getpass
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from r2d2.cli.options import settings_from, with_settings
from r2d2.model.counted import counted

Command = TypeVar("Command", bound=Callable[..., Any])

_JSON = click.option("--json", "as_json", is_flag=True, help="machine-readable output; the shapes are documented")
_QUIET = click.option("--quiet", "-q", is_flag=True, help="no progress, only the result")
_LAKE = click.option("--lake", default="", metavar="DIR", help="the lake's folder [default: that of the last scan]")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C leaves nothing lost, but perhaps something half-way."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("r2d2: interrupted; nothing is lost, and the next command puts right what was half-way", err=True)
        raise click.exceptions.Exit(130) from None


@click.command(short_help="Delete what a plan says, so that it can be brought back.")
@click.argument("plan", metavar="PLAN")
@click.option("--dry-run", is_flag=True, help="say what would be done, and what speaks against it; touch nothing")
@click.option("--approved-by", default="", metavar="NAME", help="who answers for it [default: the user's name]")
@click.option(
    "--yes-delete",
    "typed",
    type=int,
    metavar="N",
    help="the number of tables, for plans that take a large share of the lake and a program that cannot type it",
)
@click.option("--empty-too", is_flag=True, help="tables without rows may go, too")
@with_settings("apply")
@_JSON
@_QUIET
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
    from r2d2.app import deleting
    from r2d2.cli.progress import working
    from r2d2.cli.show_delete import show_applied, show_preview
    from r2d2.safety.apply import Approval

    approved_by = approved_by or _user()
    settings = settings_from(given)
    seen = deleting.preview(
        plan, settings, approved_by=approved_by, typed=typed, empty_too=empty_too, with_tables=dry_run
    )
    if dry_run:
        show_preview(seen, typed=typed, as_json=as_json)
        return int(seen.is_refused)
    if typed is None and seen.number_to_type is not None and not seen.refused:
        number, of_tables = seen.number_to_type, seen.lake_size.tables
        what = f"This deletes {number:,} of {counted(of_tables, 'tables')}, a large share of the lake"
        typed = _ask(number, what, "--yes-delete")
    with _interruptible(), working(quiet=quiet or as_json) as told:
        approval = Approval(approved_by, typed, empty_too)
        recovered, done = deleting.apply_plan(seen.plan, settings, approval=approval, told=told)
    show_applied(recovered, done, seen.plan, as_json=as_json)
    return int(not all(one.is_deleted for one in done))


@click.command(short_help="Rebuild deleted tables on trial, and compare.")
@click.argument("table", nargs=-1, metavar="[TABLE...]")
@_LAKE
@with_settings("drill")
@_JSON
@_QUIET
def drill(table: Sequence[str], lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Rebuild deleted tables on trial, all or some, and compare: exit code 1 if one does not come out exactly.

    How long it took is recorded, and the next plan reckons with it. Only what was drilled can be purged.
    """
    from r2d2.app import deleting
    from r2d2.cli.progress import working
    from r2d2.cli.show_delete import show_drills

    settings = settings_from(given)
    with _interruptible(), working(quiet=quiet or as_json) as told:
        recovered, done = deleting.drill_tables(deleting.root_of(settings, lake), settings, table, told=told)
    show_drills(recovered, done, as_json=as_json)
    return int(not all(one.is_exact for one in done))


@click.command(short_help="Free the space of deleted tables that can be rebuilt.")
@_LAKE
@with_settings("purge")
@_JSON
@_QUIET
def purge(lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Free the space of deleted tables whose time in quarantine is over, that were drilled, and whose parent is whole.

    Exit code 1 if a table whose time is over could not be purged.
    """
    from r2d2.app import deleting
    from r2d2.cli.show_delete import show_purges

    settings = settings_from(given)
    root, now = deleting.root_of(settings, lake), time.time()
    with _interruptible():
        recovered, done = deleting.purge_tables(root, settings)
    show_purges(recovered, done, as_json=as_json)
    left = deleting.status_of(root, settings)[1].tables
    due = {t.slot for t in left if t.state == "purging" or (t.purge_from and t.purge_from <= now)}
    return int(any(one.slot in due for one in done if not one.is_purged))


@click.command(short_help="Bring deleted tables back, exactly.")
@click.argument("table", nargs=-1, metavar="[TABLE...]")
@click.option("--all", "everything", is_flag=True, help="every deleted table")
@click.option("--to", metavar="DIR", help="put copies there; the tables stay deleted")
@_LAKE
@with_settings("restore")
@_JSON
@_QUIET
def restore(
    table: Sequence[str], everything: bool, to: str | None, lake: str, as_json: bool, quiet: bool, **given: Any
) -> int:
    """Bring deleted tables back, from quarantine or by their recipes: exactly, or not at all.

    Exit code 1 if one of several could not be restored.
    """
    from r2d2.app import deleting
    from r2d2.cli.progress import working
    from r2d2.cli.show_delete import show_restored
    from r2d2.errors import UserError

    if everything == bool(table):
        raise UserError("say which tables to restore, or --all", hint="`r2d2 status` lists them")
    if to == "":
        raise UserError("--to names no folder", hint="give one, or leave --to out: the tables then go to their places")
    settings = settings_from(given)
    with _interruptible(), working(quiet=quiet or as_json) as told:
        root = deleting.root_of(settings, lake)
        recovered, done = deleting.restore_tables(root, settings, table or None, to=to or "", told=told)
    show_restored(recovered, done, as_json=as_json)
    return int(not all(one.is_restored for one in done))


@click.command(short_help="Give up deleted tables that are lost.")
@click.argument("table", nargs=-1, required=True, metavar="TABLE...")
@click.option("--approved-by", default="", metavar="NAME", help="who answers for it [default: the user's name]")
@click.option(
    "--yes-forget", "typed", type=int, metavar="N", help="the number of tables, for a program that cannot type it"
)
@_LAKE
@with_settings("forget")
@_JSON
@_QUIET
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
    from r2d2.app import deleting
    from r2d2.cli.show_delete import show_forgotten
    from r2d2.errors import UserError

    settings, number = settings_from(given), len(set(table))
    if typed is None:
        typed = _ask(number, f"This gives up {counted(number, 'lost tables')} for good", "--yes-forget")
    if typed != number:
        raise UserError(
            f"{counted(number, 'tables')} {'is' if number == 1 else 'are'} named, not {typed:,}",
            hint=f"--yes-forget {number} confirms it",
        )
    with _interruptible():
        root = deleting.root_of(settings, lake)
        recovered, done = deleting.forget_tables(root, settings, table, approved_by=approved_by or _user())
    show_forgotten(recovered, done, as_json=as_json)
    return 0


@click.command(short_help="Say what is deleted, where it is, and what was saved.")
@_LAKE
@with_settings("status")
@_JSON
@_QUIET
def status(lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Say what is deleted, where it is, what it hangs on, when it can go for good, and what was saved so far."""
    from r2d2.app import deleting
    from r2d2.app.saved import saved_so_far
    from r2d2.cli.show_delete import show_status
    from r2d2.prices import load_prices
    from r2d2.safety.doctor import BAD

    settings, now = settings_from(given), time.time()
    root = deleting.root_of(settings, lake)
    recovered, found = deleting.status_of(root, settings)
    wrong = sum(finding.severity == BAD for finding in deleting.doctor_of(root, deep=False)[1])
    prices = load_prices(settings.prices)
    saved = saved_so_far(found.tables, prices=prices, maintenance_per_week=settings.maintenance_per_week, now=now)
    show_status(recovered, found, saved, wrong=wrong, now=now, as_json=as_json)
    return 0


@click.command(short_help="Check all that deleted tables hang on.")
@click.option("--fast", is_flag=True, help="read only what has another size or time; without, every byte is read")
@_LAKE
@with_settings("doctor")
@_JSON
@_QUIET
def doctor(fast: bool, lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Check quarantine, parents, drills and journal; exit code 1 if anything is wrong."""
    from r2d2.app import deleting
    from r2d2.cli.show_delete import show_findings
    from r2d2.safety.doctor import BAD

    recovered, found = deleting.doctor_of(deleting.root_of(settings_from(given), lake), deep=not fast)
    show_findings(recovered, found, as_json=as_json)
    return int(any(finding.severity == BAD for finding in found))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no name is known
        return ""


def _ask(number: int, what: str, option: str) -> int:
    """The number that the person types; a program has to give it as an option (HAZARDS 30)."""
    if not sys.stdin.isatty():
        from r2d2.errors import UserError

        raise UserError(what, hint=f"{option} {number} confirms it")
    answer: int = click.prompt(f"{what}. Type {number} to go on", type=int, err=True)
    return answer
