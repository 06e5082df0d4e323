"""How a proposal looks on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from r2d2.cli.output import bytes_for_people, console, money, plain, print_json, print_json_list, print_table
from r2d2.cli.show import absent_as_dicts, show_absent
from r2d2.cli.show_delete import plan_as_dict
from r2d2.model.plan import CurvePoint, Deletion, Proposal
from r2d2.plan_file import Draft
from r2d2.planning import Planned
from r2d2.report.plan import curve_as_dicts, proposal_as_dict
from r2d2.safety.guards import number_to_type

_MOST_LINES = 30
_RIGHT = ("size", "saved a month", "one rebuild", "takes")


def show_plan(
    planned: Planned, *, as_json: bool, draft: Draft | None = None, out: str = "", most: int = _MOST_LINES
) -> None:
    """What may go, what that saves, and what stays; and the plan that was written, if one was asked for."""
    if as_json:
        print_json(
            proposal_as_dict(planned.proposal)
            | {"notes": list(planned.notes), "deleted": absent_as_dicts(planned.absent)}
            | (_draft_as_dict(draft, out) or {})
        )
        return
    _show_proposal(planned, most)
    if draft is not None:
        _show_draft(draft, out, most)


def _draft_as_dict(draft: Draft | None, out: str) -> dict[str, Any] | None:
    if draft is None:
        return None
    left_out = [asdict(one) for one in draft.left_out]
    if draft.plan is None:
        return {"plan": None, "left_out": left_out}
    figures = {"file": out, **plan_as_dict(draft.plan), "type_to_confirm": number_to_type(draft.plan)}
    return {"plan": figures, "left_out": left_out}


def _show_draft(draft: Draft, out: str, most: int) -> None:
    if draft.left_out:
        rows = [(one.table, one.because) for one in draft.left_out[:most]]
        print_table("Left out of the plan", ("table", "because"), rows)
        if len(draft.left_out) > most:
            console().print(f"… and {len(draft.left_out) - most:,} more; --json has them all")
    if draft.plan is None:
        console().print("[bold]No plan was written[/]: there is no table that it could delete")
        return
    tables = f"{len(draft.plan.entries):,} table{'s' if len(draft.plan.entries) > 1 else ''}"
    console().print(
        f"[bold]Plan written to {plain(out)}[/]: {tables}, "
        f"{bytes_for_people(draft.plan.size_bytes)}. Nothing is deleted yet: `r2d2 apply --dry-run {plain(out)}` shows "
        "what would be done"
    )


def _show_proposal(planned: Planned, most: int) -> None:
    out, proposal = console(), planned.proposal
    for note in planned.notes:
        out.print(f"[yellow]note:[/] {plain(note)}")
    show_absent(planned.absent)
    if proposal.deletions:
        columns = ("table", "rebuilt from", "by", "size", "saved a month", "one rebuild", "takes", "risk")
        rows = [_row(line, proposal.currency) for line in proposal.deletions[:most]]
        print_table("What may go", columns, rows, _RIGHT)
        if len(proposal.deletions) > most:
            out.print(f"… and {len(proposal.deletions) - most:,} more; --json has them all")
    _show_totals(proposal)
    if proposal.kept:
        print_table(
            "Contained in another, and kept", ("table", "because"), [(k.table, k.because) for k in proposal.kept[:most]]
        )
        if len(proposal.kept) > most:
            out.print(f"… and {len(proposal.kept) - most:,} more; --json has them all")


def _row(line: Deletion, currency: str) -> tuple[str, ...]:
    seconds = f"{line.rebuild_seconds:,.0f} s" if line.rebuild_seconds >= 1 else "< 1 s"
    return (
        line.table,
        line.parent,
        line.recipe,
        bytes_for_people(line.size_bytes),
        money(line.saved, currency),
        money(line.rebuild_cost, currency),
        seconds if line.measured else f"about {seconds}",
        f"{line.risk}: {line.risk_because}",
    )


def _show_totals(proposal: Proposal) -> None:
    out, currency = console(), proposal.currency
    share = proposal.size_bytes / proposal.lake_bytes if proposal.lake_bytes else 0
    size = bytes_for_people(proposal.size_bytes)
    out.print(
        f"[bold]{len(proposal.deletions):,} of {proposal.lake_tables:,} tables may go[/]: {size} of "
        f"{bytes_for_people(proposal.lake_bytes)} ({share:.0%})"
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
    out.print(f"Prices: {plain(proposal.prices)}. Under these assumptions {best}.")


def show_curve(points: Sequence[CurvePoint], *, as_json: bool) -> None:
    """Savings month by month, a column for each frequency of privacy requests."""
    if as_json:
        print_json_list(curve_as_dicts(points))
        return
    weekly = sorted({point.maintenance_per_week for point in points})
    rows = [
        (
            str(month),
            *(money(point.saved, point.currency) for point in sorted(some, key=lambda p: p.maintenance_per_week)),
        )
        for month, some in groupby(sorted(points, key=lambda point: point.months), key=lambda point: point.months)
    ]
    heads = [f"{times:g} privacy requests a week" for times in weekly]
    print_table("Saved after so many months", ("months", *heads), rows, ("months", *heads))
