"""Finish or undo interrupted work at the start of every command; name unknown files and leave them alone.

Each branch can itself be killed anywhere and run again: it checks the disk, acts, syncs, and records last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from r2d2.safety.errors import Changed, DiskError, JournalStopped, Refused, in_one_line
from r2d2.safety.files import Files
from r2d2.safety.locked_lake import Clock, Lake, hold
from r2d2.safety.parents_on_disk import ParentsOnDisk
from r2d2.safety.paths import WORK, is_slot
from r2d2.safety.per_table import own_errors
from r2d2.safety.ports import Where
from r2d2.safety.quarantine import scrap_or_say
from r2d2.safety.records import MoveUndone, Purged, PurgeUndone, Restored, RestoreUndone
from r2d2.safety.registry import Slot, State


@dataclass(frozen=True, slots=True)
class Recovered:
    """Action of recovery on one table, or the reason that it did nothing."""

    table: str  # '' if it is about no single table
    did: str  # '' if the table was left alone
    because: str


@contextmanager
def open_lake(files: Files, clock: Clock | None = None) -> Iterator[tuple[Lake, tuple[Recovered, ...]]]:
    """Lock a lake, recover it, and yield it. Every command begins so."""
    with hold(files, clock) as lake:
        yield lake, recover(lake)


def recover(lake: Lake) -> tuple[Recovered, ...]:
    """Settle every interrupted table. Idempotent."""
    parents = ParentsOnDisk(lake.quarantine)
    done = [settle(lake, slot, parents) for slot in lake.registry.active]
    return (*(one for one in done if one is not None), *clear_work(lake.files))


def settle(lake: Lake, slot: Slot, parents: ParentsOnDisk) -> Recovered | None:
    """Settle one table; None if nothing needs it. A table that cannot be settled does not stop the others."""
    try:
        with own_errors():
            did, because = _settle(lake, slot, parents)
    except (Refused, DiskError) as error:
        did, because = "", in_one_line(error)
    return Recovered(slot.entry.child.name, did, because) if because else None


def _settle(lake: Lake, slot: Slot, parents: ParentsOnDisk) -> tuple[str, str]:
    if slot.state is State.MOVING:
        left = undo_move(lake, slot, "it was interrupted")
        return ("", left) if left else ("the deletion was undone", "it was interrupted")
    if slot.state is State.RESTORING:
        return settle_restore(lake, slot)
    if slot.state is State.PURGING:
        return settle_purge(lake, slot, parents)
    return "", ""


def undo_move(lake: Lake, slot: Slot, because: str) -> str:
    """Move a table back from quarantine to its place; return the obstacle, or '' if done."""
    if lake.journal.is_stopped:
        raise JournalStopped("the journal cannot be written", hint="run any command, which recovers first")
    home, where = slot.entry.child.location, lake.quarantine.settle(slot)
    if where is Where.NOWHERE:
        return f"it is neither at {home!r} nor in quarantine: someone else moved it"
    if where is Where.ASIDE:
        return f"something else is at {home!r} by now; the table is whole in quarantine"
    lake.write(MoveUndone(slot.slot, because, lake.now()))
    return ""


def settle_restore(lake: Lake, slot: Slot) -> tuple[str, str]:
    """Finish a restore whose move happened, undo one whose move did not."""
    where = lake.quarantine.settle(slot)
    if where is Where.HOME:
        lake.write(Restored(slot.slot, lake.now()))
        return "the restore was finished", "it was interrupted"
    if where is Where.NOWHERE:  # no record yet: somebody may still put it back unchanged
        because = "it is neither at its old place nor in quarantine: someone else moved or replaced it"
        return "", f"{because} — `r2d2 restore` rebuilds it by its recipe"
    lake.write(RestoreUndone(slot.slot, "it was interrupted", lake.now()))
    return "the restore was undone", "it was interrupted"


def settle_purge(lake: Lake, slot: Slot, parents: ParentsOnDisk) -> tuple[str, str]:
    """Settle a purge after a crash: undo it if the table is whole, finish it if its parents are, else leave it."""
    if lake.quarantine.settle(slot) is Where.ASIDE:
        lake.write(PurgeUndone(slot.slot, lake.now()))
        return "the purge was undone", "it was interrupted before it began"
    try:
        for parent in slot.entry.parents:
            parents.look(parent.rows)
    except Changed as error:
        return "", f"its purge was interrupted, and its parent has changed: {error}"
    lake.quarantine.purge(slot.entry.child, slot.slot, None)
    lake.write(Purged(slot.slot, lake.now()))
    return "the purge was finished", "it was interrupted"


def clear_work(files: Files) -> Iterator[Recovered]:
    """Remove half-rebuilt tables: everything in the work folder is derived."""
    for name in files.names(WORK):
        left = scrap_or_say(files, f"{WORK}/{name}") if is_slot(name) else ""
        if left:
            yield Recovered("", "", f"{WORK}/{name} cannot be removed: {left}")
