"""Find deleted tables by name, place or slot."""

from __future__ import annotations

from r2d2.safety.errors import Refused
from r2d2.safety.registry import SETTLED, Registry, Slot, State

_SHORTEST_SLOT = 8


def find_slot(registry: Registry, table: str, *, given_up_too: bool = False) -> Slot:
    """The newest deleted table of this name or place; else the one whose slot begins with *table*."""
    slots = registry.active
    if given_up_too:
        slots = (*(slot for slot in registry.slots.values() if slot.state is State.FORGOTTEN), *slots)
    found = [slot for slot in slots if table in (slot.entry.child.name, slot.entry.child.location)]
    if not found and len(table) >= _SHORTEST_SLOT:
        found = [slot for slot in slots if slot.slot.startswith(table)]
    if not found:
        names = sorted({slot.entry.child.name for slot in registry.active})
        raise Refused(
            f"{table!r} is not a deleted table", hint=f"deleted tables: {', '.join(map(repr, names)) or 'none'}"
        )
    return found[-1]


def deleted(registry: Registry) -> tuple[Slot, ...]:
    """The tables that are out of the lake and settled: in quarantine or purged."""
    return tuple(slot for slot in registry.active if slot.state in SETTLED)


def refuse_unsettled(slot: Slot) -> None:
    """Refuse a table that recovery could not settle."""
    if slot.state not in SETTLED:
        raise Refused(
            f"{slot.entry.child.name!r} is {slot.state}, and recovery could not settle it", hint="run `r2d2 doctor`"
        )
