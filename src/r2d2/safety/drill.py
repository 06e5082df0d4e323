"""Rebuild deleted tables on trial: is the result exact, and how long does it take? (HAZARDS 20)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from r2d2.errors import R2D2Error
from r2d2.safety.find import deleted, find_slot, refuse_unsettled
from r2d2.safety.lake import Lake
from r2d2.safety.moving import in_work, scrap
from r2d2.safety.rebuild import examine_parent, examine_quarantined, rebuild_into
from r2d2.safety.rebuilder import Placed, Rebuilder
from r2d2.safety.records import Drilled
from r2d2.safety.refused import Changed
from r2d2.safety.registry import Slot, State


@dataclass(frozen=True, slots=True)
class Drill:
    """How one drill went."""

    table: str
    slot: str
    is_exact: bool
    seconds: float
    because: str


def drill(lake: Lake, *, rebuilder: Rebuilder, tables: Iterable[str] | None = None) -> tuple[Drill, ...]:
    """Drill some deleted tables, or all. The outcome is recorded; nothing else changes."""
    if tables is None:
        slots = deleted(lake.registry)
    else:
        slots = tuple(find_slot(lake.registry, table) for table in tables)
    for slot in slots:
        refuse_unsettled(slot)
    return tuple(_drill(lake, slot, rebuilder) for slot in slots)


def _drill(lake: Lake, slot: Slot, rebuilder: Rebuilder) -> Drill:
    seconds, because = 0.0, ""
    try:
        seconds = _try(lake, slot, rebuilder)
    except R2D2Error as error:
        because = str(error.args[0])
    scrap(lake.files, in_work(slot.slot))
    lake.write(Drilled(slot.slot, because, seconds, lake.now()))
    return Drill(slot.entry.child.name, slot.slot, not because, seconds, because)


def _try(lake: Lake, slot: Slot, rebuilder: Rebuilder) -> float:
    """Rebuild and compare; how long the rebuilding took."""
    files, entry = lake.files, slot.entry
    child = examine_quarantined(files, slot) if slot.state is State.QUARANTINED else None
    parent = examine_parent(files, entry)
    started = lake.clock.tick()
    rebuilt = rebuild_into(files, files, entry, in_work(slot.slot), parent=parent, by=rebuilder)
    seconds = lake.clock.tick() - started
    if child is not None:
        _compare(lake, slot, rebuilder, rebuilt=rebuilt, child=child)
    return seconds


def _compare(lake: Lake, slot: Slot, by: Rebuilder, *, rebuilt: Placed, child: Placed) -> None:
    """While the child is there, it is compared by values: a digest alone has to be trusted soon enough."""
    compared = by.compare(rebuilt=rebuilt, child=child)
    if compared.differs:
        raise Changed(f"what was rebuilt differs: {compared.differs}")
    examine_quarantined(lake.files, slot)
