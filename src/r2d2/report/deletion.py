"""Deleted tables: the documents of apply, drill, purge, restore, forget, status and doctor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from r2d2.model.counted import counted
from r2d2.report.document import Document, as_json

if TYPE_CHECKING:
    from r2d2.app.apply import Preview
    from r2d2.safety.apply import Applied
    from r2d2.safety.doctor import Finding
    from r2d2.safety.plan import Plan
    from r2d2.safety.preflight import Objection
    from r2d2.safety.purge import Purge
    from r2d2.safety.recovery import Recovered
    from r2d2.safety.restore import Restore
    from r2d2.safety.status import Status, TableStatus
    from r2d2.steps.sum_savings import Saved

BAD = "bad"  # severity of a finding that something must be done about
One = TypeVar("One")


@dataclass(frozen=True)
class TablesReport(Document, Generic[One]):
    """Outcome of each table, and the actions of recovery after an earlier crash."""

    recovered: tuple[Recovered, ...]
    tables: tuple[One, ...]


@dataclass(frozen=True)
class ApplyReport(TablesReport["Applied"]):
    """The tables that were deleted, and those that were put back."""

    plan_id: str


@dataclass(frozen=True)
class PurgeReport(TablesReport["Purge"]):
    """The tables that lost their copy in quarantine, and those that keep it."""

    freed_bytes: int


@dataclass(frozen=True)
class PlanFigures(Document):
    """A plan in a few figures."""

    plan_id: str
    created: str
    lake: str
    tables: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class PreviewReport(PlanFigures):
    """Effect of applying a plan: the document of `r2d2 apply --dry-run`."""

    type_to_confirm: int | None
    refused: str
    objections: tuple[Objection, ...]
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Pin(Document):
    """A table that must stay, and how many deleted tables are rebuilt from it."""

    table: str
    deleted_tables: int


@dataclass(frozen=True)
class StatusReport(TablesReport["TableStatus"]):
    """Every table that was ever deleted, the pinned parents, and the savings."""

    pins: tuple[Pin, ...]
    saved: Saved
    wrong: int  # findings of the doctor
    quarantined_bytes: int
    purged_bytes: int
    plans: int
    held_by: str | None

    def to_json(self) -> dict[str, Any]:
        """The document of `r2d2 status`, with the sum of the savings."""
        return as_json(self) | {"saved": as_json(self.saved) | {"total": self.saved.total}}


@dataclass(frozen=True)
class DoctorReport(Document):
    """Findings about quarantine, parents, drills and journal."""

    healthy: bool
    recovered: tuple[Recovered, ...]
    findings: tuple[Finding, ...]

    @property
    def wrong(self) -> list[Finding]:
        """The findings that something must be done about."""
        return [one for one in self.findings if one.severity == BAD]

    @property
    def notes(self) -> list[Finding]:
        """The findings that are only worth knowing."""
        return [one for one in self.findings if one.severity != BAD]


def tables_report(recovered: Sequence[Recovered], done: Sequence[One]) -> TablesReport[One]:
    """The report of a drill, a restore or a forget."""
    return TablesReport(tuple(recovered), tuple(done))


def apply_report(recovered: Sequence[Recovered], done: Sequence[Applied], plan: Plan) -> ApplyReport:
    """The report of an applied plan."""
    return ApplyReport(tuple(recovered), tuple(done), plan.plan_id)


def purge_report(recovered: Sequence[Recovered], done: Sequence[Purge]) -> PurgeReport:
    """The report of a purge."""
    return PurgeReport(tuple(recovered), tuple(done), sum(one.freed_bytes for one in done))


def plan_figures(plan: Plan) -> PlanFigures:
    """The figures of a plan."""
    return PlanFigures(plan.plan_id, plan.created, plan.lake_root, len(plan.entries), plan.size_bytes, plan.sha256)


def preview_report(seen: Preview) -> PreviewReport:
    """The report of a plan that was previewed and not applied."""
    return PreviewReport(
        **vars(plan_figures(seen.plan)),
        type_to_confirm=seen.number_to_type,
        refused=seen.refused,
        objections=seen.objections,
        steps=seen.steps,
    )


def status_report(recovered: Sequence[Recovered], found: Status, saved: Saved, *, wrong: int) -> StatusReport:
    """The report of a lake's deleted tables."""
    return StatusReport(
        tuple(recovered),
        found.tables,
        pins=tuple(Pin(table, count) for table, count in found.pins),
        saved=saved,
        wrong=wrong,
        quarantined_bytes=found.quarantined_bytes,
        purged_bytes=found.purged_bytes,
        plans=found.plans,
        held_by=found.held_by,
    )


def doctor_report(recovered: Sequence[Recovered], found: Sequence[Finding]) -> DoctorReport:
    """The report of a check-up."""
    return DoctorReport(all(one.severity != BAD for one in found), tuple(recovered), tuple(found))


def place_in_words(table: TableStatus, now: float) -> str:
    """The place of a deleted table, and how long it must stay there."""
    if table.purge_from is not None:
        left = (table.purge_from - now) / 86_400
        return f"quarantine, {left:,.1f} days left" if left > 0 else "quarantine, may be purged"
    if table.place == "recipe":
        return "purged; its recipe rebuilds it"
    if table.place == "nowhere":
        return "lost, and given up"
    return f"lake ({table.state})" if table.place == "lake" else f"on the way ({table.state})"


def drill_in_words(table: TableStatus) -> str:
    """The result of a table's last drill."""
    if table.drill_seconds is not None:
        return f"exact, {table.drill_seconds:,.1f} s"
    return f"failed: {table.drill_failed}" if table.drills else "never"


def restore_in_words(one: Restore) -> str:
    """The source of a restored table, with the reason if it was its recipe."""
    return f"by {one.by}: {one.because}" if one.because else f"from {one.by}"


def wrong_in_words(count: int) -> str:
    """The number of things that are wrong.

    >>> wrong_in_words(0), wrong_in_words(1), wrong_in_words(2)
    ('nothing is wrong', '1 thing is wrong', '2 things are wrong')
    """
    return f"{counted(count, 'things')} {'is' if count == 1 else 'are'} wrong" if count else "nothing is wrong"
