"""Status of deleted tables: their place, the parents they depend on, and when they may be purged. Data only."""

from __future__ import annotations

from dataclasses import dataclass

from r2d2.safety.files import Files
from r2d2.safety.locked_lake import read_registry
from r2d2.safety.paths import LOCK
from r2d2.safety.purge import RETENTION_SECONDS
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.registry import Registry, Slot, State


@dataclass(frozen=True, slots=True)
class TableStatus:
    """One table that a plan moved."""

    table: str
    location: str
    state: str
    place: str  # lake, quarantine, recipe (it can be rebuilt), nowhere (it was given up), or "on the way"
    slot: str
    plan_id: str
    approved_by: str
    since: int  # seconds since 1970
    rows: int
    size_bytes: int
    parent: str
    parent_bytes: int
    drills: int
    is_drilled: bool  # the last drill was exact
    drill_seconds: float | None  # how long that took
    drill_failed: str  # the reason that the last drill failed; '' if it was exact, or without a drill
    purge_from: int | None  # when purging is allowed; None if it is not in quarantine
    committed_at: int | None  # when it was deleted, if it was
    purged_at: int | None
    restored_at: int | None
    rebuilds: int  # exact runs of its recipe since the deletion: drills, and a restore by recipe


@dataclass(frozen=True, slots=True)
class Status:
    """Status of the whole lake."""

    tables: tuple[TableStatus, ...]
    pins: tuple[tuple[str, int], ...]  # parents, and the number of deleted tables rebuilt from each
    quarantined_bytes: int
    purged_bytes: int
    plans: int
    held_by: str | None  # who holds the lock now


def status(files: Files, *, retention_seconds: float = RETENTION_SECONDS) -> Status:
    """Read the status from the journal. Read-only; needs no lock."""
    registry = read_registry(files)
    tables = tuple(_status(slot, registry, retention_seconds) for slot in registry.slots.values())
    return Status(
        tables,
        _pins(registry),
        _bytes(registry, State.QUARANTINED),
        _bytes(registry, State.PURGED),
        len(registry.plans),
        files.lock_holder(LOCK),
    )


_PLACES = {
    State.UNDONE: "lake",
    State.RESTORED: "lake",
    State.QUARANTINED: "quarantine",
    State.PURGED: "recipe",
    State.FORGOTTEN: "nowhere",
}


def _status(slot: Slot, registry: Registry, retention_seconds: float) -> TableStatus:
    entry, plan = slot.entry, registry.plans.get(slot.plan_id)
    last = slot.drills[-1] if slot.is_drilled else None
    return TableStatus(
        table=entry.child.name,
        location=entry.child.location,
        state=str(slot.state),
        place=_PLACES.get(slot.state, "on the way"),
        slot=slot.slot,
        plan_id=slot.plan_id,
        approved_by=plan.approved_by if plan else "",
        since=slot.since,
        rows=entry.expected.rows,
        size_bytes=entry.child.size_bytes,
        parent=entry.parent_names,
        parent_bytes=entry.parent_bytes,
        drills=len(slot.drills),
        is_drilled=slot.is_drilled,
        drill_seconds=last.seconds if last else None,
        drill_failed=slot.drills[-1].because if slot.drills else "",
        purge_from=int(slot.since + retention_seconds) if slot.state is State.QUARANTINED else None,
        committed_at=slot.committed.at if slot.committed else None,
        purged_at=slot.purged_at,
        restored_at=slot.restored_at,
        rebuilds=sum(not drill.because for drill in slot.drills) + _is_restored_by_recipe(slot),
    )


def _is_restored_by_recipe(slot: Slot) -> bool:
    source = slot.restore.source if slot.restore else None
    return slot.state is State.RESTORED and source != in_quarantine(slot.slot)


def _pins(registry: Registry) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for slot in registry.active:
        for parent in slot.entry.parents:
            counts[parent.name] = counts.get(parent.name, 0) + 1
    return tuple(sorted(counts.items()))


def _bytes(registry: Registry, state: State) -> int:
    return sum(slot.entry.child.size_bytes for slot in registry.active if slot.state is state)
