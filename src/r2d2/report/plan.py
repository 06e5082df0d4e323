"""A proposal as plain data for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from r2d2.model.plan import CurvePoint, Deletion, Proposal

_TOTALS = ("storage_saved", "maintenance_saved", "rows_not_scanned", "bytes_not_scanned")


def deletion_as_dict(line: Deletion) -> dict[str, Any]:
    """One deletion; money and scans are per month."""
    return asdict(line) | {
        "risk": str(line.risk),
        "saved": line.saved,
        "rows_not_scanned": line.rows_not_scanned,
        "bytes_not_scanned": line.bytes_not_scanned,
    }


def proposal_as_dict(proposal: Proposal) -> dict[str, Any]:
    """The whole proposal."""
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
        "tables": len(proposal.deletions),
        "bytes": proposal.size_bytes,
        "saved": proposal.saved,
        **{name: proposal.total(name) for name in _TOTALS},
        "deletions": [deletion_as_dict(line) for line in proposal.deletions],
        "kept": [asdict(line) for line in proposal.kept],
    }


def curve_as_dicts(points: Sequence[CurvePoint]) -> list[dict[str, Any]]:
    """The savings curve, point by point."""
    return [asdict(point) for point in points]
