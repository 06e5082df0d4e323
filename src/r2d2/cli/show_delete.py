"""Print deletions, drills, restores, status and check-ups, as JSON or drawn for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from r2d2.cli.output import console, plain, print_json, print_table
from r2d2.model.counted import counted
from r2d2.report.deletion import (
    StatusReport,
    apply_report,
    doctor_report,
    drill_in_words,
    place_in_words,
    preview_report,
    purge_report,
    restore_in_words,
    status_report,
    tables_report,
    wrong_in_words,
)
from r2d2.report.words import bytes_for_people, day, money

if TYPE_CHECKING:
    from r2d2.app.apply import Preview
    from r2d2.safety.apply import Applied
    from r2d2.safety.doctor import Finding
    from r2d2.safety.drill import Drill
    from r2d2.safety.forget import Forget
    from r2d2.safety.plan import Plan
    from r2d2.safety.purge import Purge
    from r2d2.safety.recovery import Recovered
    from r2d2.safety.restore import Restore
    from r2d2.safety.status import Status, TableStatus
    from r2d2.steps.sum_savings import Saved

_MOST_LINES = 30


def show_preview(seen: Preview, *, typed: int | None, as_json: bool) -> None:
    """Print what applying the plan would do, step by step."""
    if as_json:
        print_json(preview_report(seen).to_json())
        return
    out = console()
    for step in seen.steps:
        out.print(plain(step))
    if seen.refused:
        out.print(f"[red]it would be refused:[/] {plain(seen.refused)}")
    elif seen.number_to_type is not None and typed is None:
        number = seen.number_to_type
        out.print(
            f"It takes a large share of the lake: {number:,} has to be typed back, or given as --yes-delete {number}."
        )
    against = [(one.table, one.because, one.hint) for one in seen.objections]
    _show_rows("It would be refused now, as a whole", ("table", "because", "what helps"), against)
    out.print("Nothing was touched.")


def show_applied(recovered: Sequence[Recovered], done: Sequence[Applied], plan: Plan, *, as_json: bool) -> None:
    """Print which tables went, and which were put back."""
    if as_json:
        print_json(apply_report(recovered, done, plan).to_json())
        return
    _show_recovered(recovered)
    gone = [one for one in done if one.is_deleted]
    size = sum(entry.child.size_bytes for entry in plan.entries if entry.child.name in {one.table for one in gone})
    _show_failures("Not deleted", [(one.table, one.because) for one in done if not one.is_deleted])
    console().print(
        f"[bold]{len(gone):,} of {counted(len(done), 'tables')} deleted[/], "
        f"now in quarantine ({bytes_for_people(size)}); "
        "`r2d2 restore` brings them back, `r2d2 drill` and later `r2d2 purge` free the space"
    )


def show_drills(recovered: Sequence[Recovered], done: Sequence[Drill], *, as_json: bool) -> None:
    """Print which tables were rebuilt exactly, and how long each took."""
    if as_json:
        print_json(tables_report(recovered, done).to_json())
        return
    _show_recovered(recovered)
    if not done:
        console().print("there is nothing to drill: no table is deleted here")
        return
    rows = [(one.table, "exact" if one.is_exact else one.because, f"{one.seconds:,.1f} s") for one in done]
    _show_rows("Rebuilt on trial", ("table", "result", "took"), rows, right=("took",))
    console().print(f"[bold]{sum(one.is_exact for one in done):,} of {len(done):,} came out exactly[/]")


def show_purges(recovered: Sequence[Recovered], done: Sequence[Purge], *, as_json: bool) -> None:
    """Print which tables lost their copy in quarantine, and why others keep it."""
    report = purge_report(recovered, done)
    if as_json:
        print_json(report.to_json())
        return
    _show_recovered(recovered)
    if not done:
        console().print("there is nothing to purge: no table is in quarantine here")
        return
    _show_failures("Still in quarantine", [(one.table, one.because) for one in done if not one.is_purged])
    freed = bytes_for_people(report.freed_bytes)
    console().print(
        f"[bold]{sum(one.is_purged for one in done):,} of {counted(len(done), 'tables')} purged[/], {freed} freed"
    )


def show_restored(recovered: Sequence[Recovered], done: Sequence[Restore], *, as_json: bool) -> None:
    """Print where each table is now, and what brought it back."""
    if as_json:
        print_json(tables_report(recovered, done).to_json())
        return
    _show_recovered(recovered)
    if not done:
        console().print("there is nothing to restore: no table is deleted here")
        return
    back = [(one.table, restore_in_words(one), one.path) for one in done if one.is_restored]
    _show_rows("Restored", ("table", "how", "where"), back)
    _show_failures("Not restored", [(one.table, one.because) for one in done if not one.is_restored])
    console().print(f"[bold]{len(back):,} of {counted(len(done), 'tables')} restored[/]")


def show_forgotten(recovered: Sequence[Recovered], done: Sequence[Forget], *, as_json: bool) -> None:
    """Print which tables were given up, and why they were lost."""
    if as_json:
        print_json(tables_report(recovered, done).to_json())
        return
    _show_recovered(recovered)
    _show_failures("Given up", [(one.table, one.because) for one in done])


def show_status(
    recovered: Sequence[Recovered], found: Status, saved: Saved, *, wrong: int, now: float, as_json: bool
) -> None:
    """Print what is deleted, where it is, what must stay for it, and what was saved."""
    report = status_report(recovered, found, saved, wrong=wrong)
    if as_json:
        print_json(report.to_json())
        return
    _show_recovered(recovered)
    if not report.tables:
        console().print("nothing was deleted here; `r2d2 plan --out plan.json` and `r2d2 apply plan.json` do that")
        return
    _draw_status(report, now)


def _draw_status(report: StatusReport, now: float) -> None:
    away = [table for table in report.tables if table.place != "lake"]
    columns = ("table", "where", "since", "size", "rebuilt from", "last drill")
    _show_rows("Deleted", columns, [_status_row(table, now) for table in away], right=("size",))
    if back := Counter(table.state for table in report.tables if table.place == "lake"):
        says = ", ".join(f"{count:,} {state}" for state, count in sorted(back.items()))
        console().print(f"in the lake again: {says}; --json names them")
    for pin in report.pins[:_MOST_LINES]:
        console().print(f"{plain(pin.table)} must stay as it is: {_tables(pin.deleted_tables)} rebuilt from it")
    held = f"; the lake is in use by {plain(report.held_by)}" if report.held_by else ""
    console().print(
        f"[bold]{bytes_for_people(report.quarantined_bytes)} in quarantine[/], {bytes_for_people(report.purged_bytes)} "
        f"purged, {counted(report.plans, 'plans')} applied{held}"
    )
    saved = report.saved
    parts = (money(part, saved.currency) for part in (saved.storage, saved.maintenance, saved.rebuilds, saved.total))
    console().print(
        "So far: storage {} + maintenance {} − rebuilds {} = [bold]{} saved[/]; ".format(*parts)
        + f"privacy requests read {counted(saved.rows_not_scanned, 'rows')} "
        + f"and {bytes_for_people(saved.bytes_not_scanned)} less"
    )
    if report.wrong:
        console().print(f"[red]{wrong_in_words(report.wrong)}[/]: `r2d2 doctor` says what")


def _status_row(table: TableStatus, now: float) -> tuple[str, ...]:
    return (
        table.table,
        place_in_words(table, now),
        day(table.since),
        bytes_for_people(table.size_bytes),
        table.parent,
        drill_in_words(table),
    )


def _tables(count: int) -> str:
    return f"{counted(count, 'deleted tables')} {'is' if count == 1 else 'are'}"


def show_findings(recovered: Sequence[Recovered], found: Sequence[Finding], *, as_json: bool) -> None:
    """Print what is wrong, and what is worth knowing."""
    report = doctor_report(recovered, found)
    if as_json:
        print_json(report.to_json())
        return
    _show_recovered(recovered)
    for mark, findings in (("[red]wrong[/]", report.wrong), ("[yellow]note[/]", report.notes)):
        for one in findings:
            about = f"{plain(repr(one.table))}: " if one.table else ""
            console().print(f"{mark} {about}{plain(one.because)}" + (f" — {plain(one.hint)}" if one.hint else ""))
    console().print(f"[bold]{wrong_in_words(len(report.wrong))}[/]")


def _show_recovered(recovered: Sequence[Recovered]) -> None:
    for one in recovered:
        what = f"{one.did}: {one.because}" if one.did else f"left as it is: {one.because}"
        about = f"{plain(one.table)}: " if one.table else ""
        console(stderr=True).print(f"[yellow]recovered[/] {about}{plain(what)}")


def _show_failures(title: str, rows: Sequence[tuple[str, str]]) -> None:
    _show_rows(title, ("table", "because"), rows)


def _show_rows(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    if rows:
        print_table(title, columns, rows[:_MOST_LINES], right)
    if len(rows) > _MOST_LINES:
        console().print(f"… and {len(rows) - _MOST_LINES:,} more; --json has them all")
