"""How deletions, drills and restores look on a terminal, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from r2d2.cli.output import bytes_for_people, console, money, plain, print_json, print_table
from r2d2.deleting import Preview
from r2d2.safety.apply import Applied
from r2d2.safety.doctor import BAD, Finding
from r2d2.safety.drill import Drill
from r2d2.safety.forget import Forget
from r2d2.safety.plan import Plan
from r2d2.safety.purge import Purge
from r2d2.safety.recovery import Recovered
from r2d2.safety.restore import Restore
from r2d2.safety.status import Status, TableStatus
from r2d2.saved import Saved

_MOST_LINES = 30
Some = Sequence[Any]


def as_dict(recovered: Sequence[Recovered], done: Some, **more: Any) -> dict[str, Any]:
    """What every one of these commands prints as JSON."""
    return {"recovered": [asdict(one) for one in recovered], "tables": [asdict(one) for one in done], **more}


def preview_as_dict(seen: Preview) -> dict[str, Any]:
    """What a plan would do."""
    return {
        **plan_as_dict(seen.plan),
        "type_to_confirm": seen.number_to_type,
        "refused": seen.refused,
        "objections": [asdict(one) for one in seen.objections],
        "steps": list(seen.steps),
    }


def plan_as_dict(plan: Plan) -> dict[str, Any]:
    """A plan in a few figures."""
    return {
        "plan_id": plan.plan_id,
        "created": plan.created,
        "lake": plan.lake_root,
        "tables": len(plan.entries),
        "bytes": plan.size_bytes,
        "sha256": plan.sha256,
    }


def show_preview(seen: Preview, *, typed: int | None, as_json: bool) -> None:
    """What applying the plan would do, step by step."""
    if as_json:
        print_json(preview_as_dict(seen))
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
    """Which tables went, and which were put back."""
    if as_json:
        print_json(as_dict(recovered, done, plan_id=plan.plan_id))
        return
    _show_recovered(recovered)
    gone = [one for one in done if one.is_deleted]
    size = sum(entry.child.size_bytes for entry in plan.entries if entry.child.name in {one.table for one in gone})
    _show_failures("Not deleted", [(one.table, one.because) for one in done if not one.is_deleted])
    console().print(
        f"[bold]{len(gone):,} of {len(done):,} tables deleted[/], now in quarantine ({bytes_for_people(size)}); "
        "`r2d2 restore` brings them back, `r2d2 drill` and later `r2d2 purge` free the space"
    )


def show_drills(recovered: Sequence[Recovered], done: Sequence[Drill], *, as_json: bool) -> None:
    """Which tables were rebuilt exactly, and how long each took."""
    if as_json:
        print_json(as_dict(recovered, done))
        return
    _show_recovered(recovered)
    if not done:
        console().print("there is nothing to drill: no table is deleted here")
        return
    rows = [(one.table, "exact" if one.is_exact else one.because, f"{one.seconds:,.1f} s") for one in done]
    _show_rows("Rebuilt on trial", ("table", "result", "took"), rows, right=("took",))
    console().print(f"[bold]{sum(one.is_exact for one in done):,} of {len(done):,} came out exactly[/]")


def show_purges(recovered: Sequence[Recovered], done: Sequence[Purge], *, as_json: bool) -> None:
    """Which tables lost their copy in quarantine, and why others keep it."""
    if as_json:
        print_json(as_dict(recovered, done, freed_bytes=sum(one.freed_bytes for one in done)))
        return
    _show_recovered(recovered)
    if not done:
        console().print("there is nothing to purge: no table is in quarantine here")
        return
    _show_failures("Still in quarantine", [(one.table, one.because) for one in done if not one.is_purged])
    freed = bytes_for_people(sum(one.freed_bytes for one in done))
    console().print(f"[bold]{sum(one.is_purged for one in done):,} of {len(done):,} tables purged[/], {freed} freed")


def show_restored(recovered: Sequence[Recovered], done: Sequence[Restore], *, as_json: bool) -> None:
    """Where each table is now, and what brought it back."""
    if as_json:
        print_json(as_dict(recovered, done))
        return
    _show_recovered(recovered)
    back = [(one.table, _how(one), one.path) for one in done if one.is_restored]
    _show_rows("Restored", ("table", "how", "where"), back)
    _show_failures("Not restored", [(one.table, one.because) for one in done if not one.is_restored])
    console().print(f"[bold]{len(back):,} of {len(done):,} tables restored[/]")


def show_forgotten(recovered: Sequence[Recovered], done: Sequence[Forget], *, as_json: bool) -> None:
    """Which tables were given up, and why they were lost."""
    if as_json:
        print_json(as_dict(recovered, done))
        return
    _show_recovered(recovered)
    _show_failures("Given up", [(one.table, one.because) for one in done])


def _how(one: Restore) -> str:
    """What brought a table back; by its recipe, also why not from quarantine."""
    return f"by {one.by}: {one.because}" if one.because else f"from {one.by}"


def show_status(
    recovered: Sequence[Recovered], found: Status, saved: Saved, *, wrong: int, now: float, as_json: bool
) -> None:
    """The whole lake."""
    if as_json:
        pins = [{"table": table, "deleted_tables": count} for table, count in found.pins]
        rest = {name: value for name, value in asdict(found).items() if name not in ("tables", "pins")}
        money_saved = asdict(saved) | {"total": saved.total}
        print_json(as_dict(recovered, found.tables, pins=pins, saved=money_saved, wrong=wrong, **rest))
        return
    _show_recovered(recovered)
    if not found.tables:
        console().print("nothing was deleted here; `r2d2 plan --out plan.json` and `r2d2 apply plan.json` do that")
        return
    away = [table for table in found.tables if table.place != "lake"]
    columns = ("table", "where", "since", "size", "rebuilt from", "last drill")
    _show_rows("Deleted", columns, [_status_row(table, now) for table in away], right=("size",))
    if back := Counter(table.state for table in found.tables if table.place == "lake"):
        says = ", ".join(f"{count:,} {state}" for state, count in sorted(back.items()))
        console().print(f"in the lake again: {says}; --json names them")
    for table, count in found.pins[:_MOST_LINES]:
        console().print(f"{plain(table)} must stay as it is: {_tables(count)} rebuilt from it")
    held = f"; the lake is in use by {plain(found.held_by)}" if found.held_by else ""
    console().print(
        f"[bold]{bytes_for_people(found.quarantined_bytes)} in quarantine[/], {bytes_for_people(found.purged_bytes)} "
        f"purged, {found.plans:,} plan{'' if found.plans == 1 else 's'} applied{held}"
    )
    parts = (money(part, saved.currency) for part in (saved.storage, saved.maintenance, saved.rebuilds, saved.total))
    console().print(
        "So far: storage {} + maintenance {} − rebuilds {} = [bold]{} saved[/]; ".format(*parts)
        + f"privacy requests read {saved.rows_not_scanned:,} rows and {bytes_for_people(saved.bytes_not_scanned)} less"
    )
    if wrong:
        console().print(f"[red]{_things_wrong(wrong)}[/]: `r2d2 doctor` says what")


def _status_row(table: TableStatus, now: float) -> tuple[str, ...]:
    return (
        table.table,
        _where(table, now),
        _day(table.since),
        bytes_for_people(table.size_bytes),
        table.parent,
        _drilled(table),
    )


def _things_wrong(count: int) -> str:
    return "1 thing is wrong" if count == 1 else f"{count:,} things are wrong"


def _tables(count: int) -> str:
    return "1 deleted table is" if count == 1 else f"{count:,} deleted tables are"


def _drilled(table: TableStatus) -> str:
    """How the last drill went, for people."""
    if table.drill_seconds is not None:
        return f"exact, {table.drill_seconds:,.1f} s"
    return f"failed: {table.drill_failed}" if table.drills else "never"


def _where(table: TableStatus, now: float) -> str:
    """Where a table is, for people."""
    if table.purge_from is not None:
        left = (table.purge_from - now) / 86_400
        return f"quarantine, {left:,.1f} days left" if left > 0 else "quarantine, may be purged"
    if table.place == "recipe":
        return "purged; its recipe rebuilds it"
    if table.place == "nowhere":
        return "lost, and given up"
    return f"lake ({table.state})" if table.place == "lake" else f"on the way ({table.state})"


def show_findings(recovered: Sequence[Recovered], found: Sequence[Finding], *, as_json: bool) -> None:
    """What is wrong, and what is worth knowing."""
    bad = [one for one in found if one.severity == BAD]
    if as_json:
        print_json(
            {
                "healthy": not bad,
                "recovered": [asdict(one) for one in recovered],
                "findings": [asdict(one) for one in found],
            }
        )
        return
    _show_recovered(recovered)
    for one in [*bad, *(one for one in found if one.severity != BAD)]:
        mark = "[red]wrong[/]" if one.severity == BAD else "[yellow]note[/]"
        about = f"{plain(repr(one.table))}: " if one.table else ""
        console().print(f"{mark} {about}{plain(one.because)}" + (f" — {plain(one.hint)}" if one.hint else ""))
    console().print(f"[bold]{_things_wrong(len(bad)) if bad else 'nothing is wrong'}[/]")


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


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
