"""Give up a table that is lost: its parent was changed or removed after the purge, and no copy is left.

A table is refused if its rows can still be had: its parent is unchanged, or cannot be read at the moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from r2d2.safety.deleted import find_slot
from r2d2.safety.errors import Changed, Refused
from r2d2.safety.guards import refuse_nameless
from r2d2.safety.locked_lake import Lake
from r2d2.safety.ports import Quarantine
from r2d2.safety.rebuild_exactly import examine_parents, has_all_its_rows
from r2d2.safety.records import Forgotten
from r2d2.safety.registry import Slot, State
from r2d2.safety.snapshots import Examined


@dataclass(frozen=True, slots=True)
class Forget:
    """A table that was given up."""

    table: str
    slot: str
    parent: str
    because: str  # why it was lost


def forget(lake: Lake, *, tables: Iterable[str], approved_by: str) -> tuple[Forget, ...]:
    """Give up all these tables, or none: their parents are unpinned and warnings about them end.

    Their recipes stay in the journal: `restore` can rebuild them if a parent comes back unchanged.
    """
    refuse_nameless(approved_by)
    parents = Examined(lake.quarantine, alone=False)
    slots = {slot.slot: slot for slot in (find_slot(lake.registry, table) for table in tables)}.values()
    found = [(slot, refuse_recoverable(lake.quarantine, slot, parents)) for slot in slots]
    return tuple(_forget(lake, slot, because, approved_by) for slot, because in found)


def refuse_recoverable(quarantine: Quarantine, slot: Slot, parents: Examined) -> str:
    """Return why a table is lost; refuse one that can still be restored or rebuilt (HAZARDS 20)."""
    name = slot.entry.child.name
    if slot.state not in (State.PURGED, State.PURGING):
        raise Refused(f"{name!r} is not lost: it is {slot.state}", hint="`r2d2 restore` brings it back")
    if has_all_its_rows(quarantine, slot):
        raise Refused(f"{name!r} is not lost: its rows are in quarantine", hint="`r2d2 restore` brings it back")
    try:
        examine_parents(parents, slot.entry)
    except Changed as error:
        return str(error.args[0])
    raise Refused(f"{name!r} is not lost: its parent can rebuild it", hint="`r2d2 restore` brings it back")


def _forget(lake: Lake, slot: Slot, because: str, approved_by: str) -> Forget:
    lake.write(Forgotten(slot.slot, approved_by, because, lake.now()))
    return Forget(slot.entry.child.name, slot.slot, slot.entry.parent_names, because)
