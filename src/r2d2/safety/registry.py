"""State of each table, derived from the journal alone: states, pins, drills, used plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from r2d2.safety.errors import JournalDamaged
from r2d2.safety.plan import Entry
from r2d2.safety.records import (
    Committed,
    CommitWithdrawn,
    Drilled,
    Forgotten,
    Later,
    MoveIntended,
    MoveUndone,
    Opened,
    PlanStarted,
    Purged,
    PurgeIntended,
    PurgeUndone,
    Record,
    Restored,
    RestoreIntended,
    RestoreUndone,
)


class State(StrEnum):
    """State of a table after a plan named it."""

    MOVING = "moving"  # intent written; in the lake or in quarantine
    UNDONE = "undone"  # in the lake, as before
    QUARANTINED = "quarantined"  # out of the lake, whole in quarantine
    PURGING = "purging"  # some of its files in quarantine may be unlinked
    PURGED = "purged"  # rebuildable from its parent
    RESTORING = "restoring"  # intent written; at its old place, or still where it came from
    RESTORED = "restored"  # in the lake again
    FORGOTTEN = "forgotten"  # lost, and given up by somebody


PINNING = frozenset((State.MOVING, State.QUARANTINED, State.PURGING, State.PURGED, State.RESTORING))

SETTLED = frozenset((State.QUARANTINED, State.PURGED))  # of these, the states without unfinished work

# States in which each record may be written. Any other combination is damage and stops everything (HAZARDS 22).
_SOURCES: dict[type[Later], tuple[State, ...]] = {
    Committed: (State.MOVING,),
    CommitWithdrawn: (State.QUARANTINED,),
    MoveUndone: (State.MOVING,),
    Drilled: (State.QUARANTINED, State.PURGED),
    PurgeIntended: (State.QUARANTINED,),
    PurgeUndone: (State.PURGING,),
    Purged: (State.PURGING,),
    RestoreIntended: (State.QUARANTINED, State.PURGED, State.FORGOTTEN),
    RestoreUndone: (State.RESTORING,),
    Restored: (State.RESTORING,),
    Forgotten: (State.PURGED, State.PURGING),
}
_TARGETS: dict[type[Later], State] = {
    Committed: State.QUARANTINED,
    CommitWithdrawn: State.MOVING,
    MoveUndone: State.UNDONE,
    PurgeIntended: State.PURGING,
    PurgeUndone: State.QUARANTINED,
    Purged: State.PURGED,
    RestoreIntended: State.RESTORING,
    Restored: State.RESTORED,
    Forgotten: State.FORGOTTEN,
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One table that a plan moved or intended to move."""

    slot: str
    plan_id: str
    entry: Entry
    state: State
    since: int  # when it was committed; before that, when the move was intended
    drills: tuple[Drilled, ...] = ()
    committed: Committed | None = None
    restore: RestoreIntended | None = None  # while it is being restored
    before: State = State.MOVING  # the state to return to if the restore is undone
    purged_at: int | None = None
    restored_at: int | None = None

    @property
    def is_drilled(self) -> bool:
        """Whether the last drill came out exact."""
        return bool(self.drills) and not self.drills[-1].because


class Registry:
    """All tables and plans of a journal. It changes only by learning the journal's next record."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._slots: dict[str, Slot] = {}
        self._plans: dict[str, PlanStarted] = {}
        for record in records:
            self.learn(record)

    @property
    def slots(self) -> Mapping[str, Slot]:
        """Every table that a plan ever moved or intended to move, in that order."""
        return self._slots

    @property
    def plans(self) -> Mapping[str, PlanStarted]:
        """Every plan that was used, by its id."""
        return self._plans

    @property
    def active(self) -> tuple[Slot, ...]:
        """The tables that are out of the lake or being moved, the newest last."""
        return tuple(slot for slot in self._slots.values() if slot.state in PINNING)

    def refuse_impossible(self, record: Record) -> None:
        """Refuse a record that cannot follow the earlier ones: a journal with it would be unreadable."""
        if not isinstance(record, Opened | PlanStarted):
            _next(self._slots.get(record.slot), record)

    def learn(self, record: Record) -> None:
        """Add one record; raise without a change if it cannot follow the earlier ones."""
        if isinstance(record, PlanStarted):
            self._plans[record.plan_id] = record
        elif not isinstance(record, Opened):
            self._slots[record.slot] = _next(self._slots.get(record.slot), record)


def _next(old: Slot | None, record: MoveIntended | Later) -> Slot:
    if isinstance(record, MoveIntended):
        if old is not None:
            raise _impossible(record, old.state)
        return Slot(record.slot, record.plan_id, record.entry, State.MOVING, record.at)
    if old is None or old.state not in _SOURCES[type(record)]:
        raise _impossible(record, old.state if old else None)
    if isinstance(record, Drilled):
        return replace(old, drills=(*old.drills, record))
    if isinstance(record, RestoreUndone):
        return replace(old, state=old.before, restore=None)
    target = _TARGETS[type(record)]
    if isinstance(record, Committed):
        return replace(old, state=target, committed=record, since=record.at)
    if isinstance(record, RestoreIntended):
        return replace(old, state=target, restore=record, before=old.state)
    if isinstance(record, CommitWithdrawn):
        return replace(old, state=target, committed=None)
    if isinstance(record, Purged):
        return replace(old, state=target, purged_at=record.at)
    if isinstance(record, Restored):
        return replace(old, state=target, restored_at=record.at)
    return replace(old, state=target)


def _impossible(record: Record, state: State | None) -> JournalDamaged:
    return JournalDamaged(
        f"the journal says {type(record).__name__} of a table that is {state or 'unknown'}: that cannot be",
        hint="nothing was touched; bring the journal back from a backup",
    )
