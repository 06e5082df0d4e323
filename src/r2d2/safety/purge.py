"""Free the space: unlink tables in quarantine that nobody missed and that can be rebuilt. Separate from apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from r2d2.safety.errors import DiskError, Refused
from r2d2.safety.locked_lake import Lake
from r2d2.safety.parents_on_disk import ParentsOnDisk
from r2d2.safety.per_table import own_errors
from r2d2.safety.preflight import NeededBytes, refuse_last_copy
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.rebuild_exactly import examine_parents
from r2d2.safety.records import Purged, PurgeIntended, PurgeUndone
from r2d2.safety.registry import Slot, State
from r2d2.safety.snapshots import Look, examine, refuse_moving_target

RETENTION_SECONDS = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Purge:
    """Outcome of a purge for one table in quarantine."""

    table: str
    slot: str
    is_purged: bool
    freed_bytes: int
    because: str  # the reason if it was not purged, else ''


def purge(lake: Lake, *, retention_seconds: float = RETENTION_SECONDS) -> tuple[Purge, ...]:
    """Purge every table whose retention is over, that was drilled, and whose parent is unchanged; keep the others."""
    slots = [slot for slot in lake.registry.active if slot.state is State.QUARANTINED]
    parents = ParentsOnDisk(lake.quarantine)
    needed = NeededBytes(lake.files, lake.registry)
    return tuple(_purge(lake, slot, parents, needed, retention_seconds) for slot in slots)


def _purge(lake: Lake, slot: Slot, parents: ParentsOnDisk, needed: NeededBytes, retention_seconds: float) -> Purge:
    child, quarantine = slot.entry.child, lake.quarantine
    try:
        with own_errors():
            refuse_early(slot, now=lake.clock.now(), retention_seconds=retention_seconds)
            refuse_undrilled(slot)
            look = examine(quarantine, child, in_quarantine(slot.slot), alone=True)
            parent_looks = refuse_drifted_parent(parents, slot)
            refuse_last_copy(child, needed)
            lake.write(PurgeIntended(slot.slot, lake.now()))
            _look_again(lake, slot, look, parent_looks)
            quarantine.purge(child, slot.slot, look)
    except (Refused, DiskError) as error:  # if it had begun, the next command finishes it or says why not
        return Purge(child.name, slot.slot, False, 0, str(error.args[0]))
    lake.write(Purged(slot.slot, lake.now()))
    return Purge(child.name, slot.slot, True, child.size_bytes, "")


def _look_again(lake: Lake, slot: Slot, look: Look, parent_looks: Sequence[Look]) -> None:
    """Check once more between the record and the first unlink: a write to either table is noticed now at the latest."""
    try:
        with own_errors():
            refuse_moving_target(lake.quarantine, slot.entry.child, in_quarantine(slot.slot), look)
            for parent, before in zip(slot.entry.parents, parent_looks, strict=True):
                refuse_moving_target(lake.quarantine, parent.rows, parent.location, before)
    except (Refused, DiskError):
        lake.write(PurgeUndone(slot.slot, lake.now()))
        raise


def refuse_early(slot: Slot, *, now: float, retention_seconds: float) -> None:
    """Refuse to purge before the retention time is over, so that somebody can miss the table first."""
    left = slot.since + retention_seconds - now
    if left > 0:
        raise Refused(f"{slot.entry.child.name!r} stays in quarantine for {left / 86400:.1f} more days")


def refuse_undrilled(slot: Slot) -> None:
    """Refuse to purge a table unless its last drill was exact (HAZARDS 20)."""
    if not slot.is_drilled:
        because = f": {slot.drills[-1].because}" if slot.drills else " yet"
        raise Refused(f"no drill has rebuilt {slot.entry.child.name!r} exactly{because}")


def refuse_drifted_parent(parents: ParentsOnDisk, slot: Slot) -> tuple[Look, ...]:
    """Refuse parents that changed or are not on disk: they will hold the only copy of the rows (HAZARDS 13, 15)."""
    return examine_parents(parents, slot.entry)
