"""Print proposals, plans and savings curves, as JSON or drawn for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from r2d2.cli.output import console, plain, print_json, print_json_list, print_table
from r2d2.cli.show import show_deleted
from r2d2.model.counted import counted
from r2d2.model.proposal import CurvePoint, Deletion, LogMatch, Proposal
from r2d2.report.plan import curve_json, plan_json
from r2d2.report.scan import deleted_tables
from r2d2.report.words import bytes_for_people, money
from r2d2.steps.price_edges import in_seconds

if TYPE_CHECKING:
    from r2d2.app.draft_plan import Draft
    from r2d2.app.proposal import Planned

_MOST_LINES = 30
_WIDE = 140  # terminal columns from which all columns of a deletion are readable side by side
_ONLY_WIDE = ("one rebuild", "takes")
_RIGHT = ("size", "saved a month", "one rebuild", "takes")


def show_plan(
    planned: Planned,
    *,
    as_json: bool,
    draft: Draft | None = None,
    out: str = "",
    most: int = _MOST_LINES,
    verbose: bool = False,
) -> None:
    """Print what may go, what that saves, and what stays; and the plan that was written, if one was asked for."""
    most = sys.maxsize if verbose else most
    if as_json:
        print_json(plan_json(planned, draft, out))
        return
    _show_proposal(planned, most, verbose)
    if draft is not None:
        _show_draft(draft, out, most)


def _show_draft(draft: Draft, out: str, most: int) -> None:
    if draft.left_out:
        rows = [(one.table, one.because) for one in draft.left_out[:most]]
        print_table("Left out of the plan", ("table", "because"), rows)
        if len(draft.left_out) > most:
            console().print(_more(len(draft.left_out) - most))
    if draft.plan is None:
        console().print("[bold]No plan was written[/]: there is no table that it could delete")
        return
    console().print(
        f"[bold]Plan written to {plain(out)}[/]: {counted(len(draft.plan.entries), 'tables')}, "
        f"{bytes_for_people(draft.plan.size_bytes)}. Nothing is deleted yet: `r2d2 apply --dry-run {plain(out)}` shows "
        "what would be done"
    )


def _show_proposal(planned: Planned, most: int, verbose: bool) -> None:
    out, proposal = console(), planned.proposal
    for note in planned.notes:
        out.print(f"[yellow]note:[/] {plain(note)}")
    show_deleted(deleted_tables(planned.absent))
    if planned.access is not None:
        _show_access(planned.access)
    if proposal.deletions:
        _show_deletions(proposal, most, width=out.width)
        _show_equal(proposal.deletions, most)
    _show_totals(proposal, planned.left_out)
    _show_kept(planned, most, verbose)


def _show_deletions(proposal: Proposal, most: int, *, width: int) -> None:
    """The tables that go. A narrow terminal leaves out what one rebuild costs, so that names and risk can be read."""
    rows = [_row(line, proposal.currency) for line in proposal.deletions[:most]]
    shown = [name for name in rows[0] if width >= _WIDE or name not in _ONLY_WIDE]
    print_table("What may go", shown, [[row[name] for name in shown] for row in rows], _RIGHT)
    if len(proposal.deletions) > most:
        console().print(_more(len(proposal.deletions) - most))
    if width < _WIDE:
        console().print(f"Cost and time of one rebuild are shown from {_WIDE} columns on, and by --json")


def _show_kept(planned: Planned, most: int, verbose: bool) -> None:
    """The contained tables that stay; those that --min-age holds back in one line."""
    kept = [one for one in planned.proposal.kept if verbose or one.table not in planned.young]
    rows = [(one.table, "; ".join(one.reasons) if verbose else one.because) for one in kept[:most]]
    if rows:
        print_table("Contained in another, and kept", ("table", "because"), rows)
    if len(kept) > most:
        console().print(_more(len(kept) - most))
    young = len(planned.proposal.kept) - len(kept)
    if young:
        console().print(
            f"{counted(young, 'contained tables')} held back by --min-age {planned.min_age:g} days; --verbose lists "
            f"{'them' if young > 1 else 'it'}, --min-age 0 plans with {'them' if young > 1 else 'it'}"
        )


def _more(number: int) -> str:
    return f"… and {number:,} more; `r2d2 plan --verbose` and --json have them all"


def _show_access(access: LogMatch) -> None:
    other = f"; {counted(access.not_scanned, 'lines')} on what was not scanned" if access.not_scanned else ""
    console().print(
        f"Access log {plain(access.file)}: {access.matched:,} of "
        f"{counted(access.lines - access.not_scanned, 'lines')} ({access.share:.1%}) on tables of this lake{other}"
    )


def _show_equal(deletions: Sequence[Deletion], most: int) -> None:
    """Of equal tables, which stays and by which rule."""
    rows = [(one.table, kept.table, f"{kept.rule}: {kept.because}") for one in deletions if (kept := one.equal_kept)]
    if rows:
        print_table("Equal tables", ("goes", "stays", "because"), rows[:most])
    if len(rows) > most:
        console().print(_more(len(rows) - most))


def _row(line: Deletion, currency: str) -> dict[str, str]:
    """The cells of a deletion by the heads of their columns."""
    seconds = in_seconds(line.rebuild_seconds)
    return {
        "table": line.table,
        "rebuilt from": line.parent,
        "by": f"{line.recipe}, given by a person" if line.given else line.recipe,
        "size": bytes_for_people(line.size_bytes),
        "saved a month": money(line.saved, currency),
        "one rebuild": money(line.rebuild_cost, currency),
        "takes": seconds if line.measured else f"about {seconds}",
        "risk": f"{line.risk}: {line.risk_because}",
    }


def _show_totals(proposal: Proposal, left_out: int) -> None:
    out, currency = console(), proposal.currency
    share = proposal.size_bytes / proposal.lake_bytes if proposal.lake_bytes else 0
    size = bytes_for_people(proposal.size_bytes)
    out.print(
        f"[bold]{len(proposal.deletions):,} of {counted(proposal.lake_tables, 'tables')} may go[/]: {size} of "
        f"{bytes_for_people(proposal.lake_bytes)} ({share:.0%})"
        + (
            f"; {left_out:,} more would pay and {'is' if left_out == 1 else 'are'} left out, see below"
            if left_out
            else ""
        )
    )
    rebuilds = sum(line.rebuild_cost * line.rebuilds_expected + line.listing_cost for line in proposal.deletions)
    out.print(
        f"A month: storage {money(proposal.total('storage_saved'), currency)} + maintenance "
        f"{money(proposal.total('maintenance_saved'), currency)} − expected rebuilds {money(rebuilds, currency)} = "
        f"[bold]{money(proposal.saved, currency)} saved[/] of {money(proposal.lake_cost, currency)}"
    )
    out.print(
        f"Privacy requests read {proposal.total('rows_not_scanned'):,.0f} rows and "
        f"{bytes_for_people(proposal.total('bytes_not_scanned'))} less in a month"
    )
    out.print(
        f"A GiB costs {money(proposal.storage_per_gib, currency)} a month to store, "
        f"{money(proposal.read_per_gib, currency)} to read and {money(proposal.write_per_gib, currency)} to write."
    )
    best = "no choice saves more" if proposal.proven else f"another choice might cost up to {proposal.gap:.2%} less"
    if proposal.given_up:
        share = proposal.given_up / (proposal.saved + proposal.given_up)
        best += f"; {money(proposal.given_up, currency)} a month ({share:.2%} of the savings) is given up so that "
        best += "preferred tables stay (--prefer-cost)"
    but = "but for what was left out, " if left_out else ""
    out.print(f"Prices: {plain(proposal.prices)}. Under these assumptions, {but}{best}.")


def show_curve(points: Sequence[CurvePoint], *, as_json: bool) -> None:
    """Savings month by month, a column for each frequency of privacy requests."""
    if as_json:
        print_json_list(curve_json(points))
        return
    weekly = sorted({point.maintenance_per_week for point in points})
    rows = [
        (
            str(month),
            *(money(point.saved, point.currency) for point in sorted(some, key=lambda p: p.maintenance_per_week)),
        )
        for month, some in groupby(sorted(points, key=lambda point: point.months), key=lambda point: point.months)
    ]
    heads = [f"{times:g} privacy request{'' if times == 1 else 's'} a week" for times in weekly]
    print_table("Saved after so many months", ("months", *heads), rows, ("months", *heads))
