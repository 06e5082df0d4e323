"""Say what is deleted, where it is, when it can go for good, and what was saved so far."""

from __future__ import annotations

from dataclasses import dataclass

from r2d2.app.doctor import findings_in
from r2d2.app.workspace import DAY_SECONDS, Workspace
from r2d2.prices import load_prices
from r2d2.safety.doctor import BAD
from r2d2.safety.posix import PosixFiles
from r2d2.safety.recovery import Recovered
from r2d2.safety.status import Status, status
from r2d2.steps.sum_savings import Saved, sum_savings


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """The deleted tables of a lake, and the savings so far."""

    recovered: tuple[Recovered, ...]
    status: Status
    wrong: int  # how many findings of the doctor need a look
    saved: Saved


def lake_status(workspace: Workspace, *, now: float) -> LakeStatus:
    """Recover the lake, then read its status and ask the doctor, in one look."""
    with workspace.looking() as files:
        recovered = workspace.recovered(files)
        found = _status(workspace, files)
        wrong = sum(one.severity == BAD for one in findings_in(files, recovered, deep=False))
    settings = workspace.settings
    prices = load_prices(settings.prices)
    saved = sum_savings(found.tables, prices=prices, maintenance_per_week=settings.maintenance_per_week, now=now)
    return LakeStatus(recovered, found, wrong, saved)


def table_states(workspace: Workspace) -> Status:
    """Recover the lake, then read its status."""
    with workspace.looking() as files:
        workspace.recovered(files)
        return _status(workspace, files)


def _status(workspace: Workspace, files: PosixFiles) -> Status:
    return status(files, retention_seconds=workspace.settings.retention * DAY_SECONDS)
