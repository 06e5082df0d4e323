"""Proposals and plans: the documents of `r2d2 plan`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from r2d2.model.proposal import CurvePoint, Deletion, LogMatch, Proposal
from r2d2.report.deletion import plan_figures
from r2d2.report.document import as_json
from r2d2.report.scan import deleted_tables

if TYPE_CHECKING:
    from r2d2.app.draft_plan import Draft
    from r2d2.app.proposal import Planned

_TOTALS = ("storage_saved", "maintenance_saved", "rows_not_scanned", "bytes_not_scanned")


def plan_json(planned: Planned, draft: Draft | None, out: str) -> dict[str, Any]:
    """The document of `r2d2 plan`; with a *draft*, that of `r2d2 plan --out`."""
    return (
        proposal_json(planned.proposal)
        | {
            "notes": planned.notes,
            "deleted": [one.to_json() for one in deleted_tables(planned.absent)],
            "access": access_json(planned.access) if planned.access else None,
        }
        | (_draft_json(draft, out) if draft else {})
    )


def _draft_json(draft: Draft, out: str) -> dict[str, Any]:
    """The plan in the file *out*, if one was written, and the tables left out of it."""
    plan = None
    if draft.plan is not None:
        plan = {"file": out, **plan_figures(draft.plan).to_json(), "type_to_confirm": draft.number_to_type}
    return {"plan": plan, "left_out": [as_json(one) for one in draft.left_out]}


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """A proposal in figures, with deleted and kept tables one by one."""
    return {
        "currency": proposal.currency,
        "prices": proposal.prices,
        "storage_per_gib": proposal.storage_per_gib,
        "read_per_gib": proposal.read_per_gib,
        "write_per_gib": proposal.write_per_gib,
        "lake_tables": proposal.lake_tables,
        "lake_bytes": proposal.lake_bytes,
        "lake_cost": proposal.lake_cost,
        "proven_optimal": proposal.proven,
        "gap": proposal.gap,
        "given_up": proposal.given_up,
        "tables": len(proposal.deletions),
        "bytes": proposal.size_bytes,
        "saved": proposal.saved,
        **{name: proposal.total(name) for name in _TOTALS},
        "deletions": [_deletion_json(line) for line in proposal.deletions],
        "kept": [as_json(line) for line in proposal.kept],
    }


def _deletion_json(line: Deletion) -> dict[str, Any]:
    """One deletion; money and scans are per month."""
    return as_json(line) | {
        "saved": line.saved,
        "rows_not_scanned": line.rows_not_scanned,
        "bytes_not_scanned": line.bytes_not_scanned,
    }


def access_json(access: LogMatch) -> dict[str, Any]:
    """Figures of how well an access log fits the lake."""
    return as_json(access) | {"share": access.share}


def curve_json(points: Sequence[CurvePoint]) -> list[dict[str, Any]]:
    """The savings curve, point by point."""
    return [as_json(point) for point in points]
