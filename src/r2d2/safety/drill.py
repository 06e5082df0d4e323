"""Rebuild deleted tables on trial, and record whether the result is exact and how long it took (HAZARDS 20)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from r2d2.model.rebuild import Compare, Comparison, Placed
from r2d2.safety.batches import batches, shares
from r2d2.safety.deleted import deleted, find_slot, refuse_unsettled
from r2d2.safety.errors import Changed, DiskError
from r2d2.safety.locked_lake import Lake
from r2d2.safety.per_table import ask, each
from r2d2.safety.ports import Rebuilder
from r2d2.safety.quarantine import in_work, scrap_or_say
from r2d2.safety.rebuild_exactly import Rebuilding, examine_quarantined, rebuild_all, rebuilt
from r2d2.safety.records import Drilled
from r2d2.safety.registry import Slot, State


@dataclass(frozen=True, slots=True)
class Drill:
    """Outcome of one drill."""

    table: str
    slot: str
    is_exact: bool
    seconds: float  # to rebuild it; its share by bytes, where several were rebuilt together
    because: str


@dataclass(slots=True)
class Drilling(Rebuilding):
    """A table while it is drilled."""

    slot: str = ""
    child: Placed | None = None  # its copy in quarantine; None once it is purged


def drill(lake: Lake, *, rebuilder: Rebuilder, tables: Iterable[str] | None = None) -> tuple[Drill, ...]:
    """Drill the named deleted tables, or all. Outcomes are recorded unless the disk failed; nothing else changes."""
    if tables is None:
        slots = deleted(lake.registry)
    else:
        slots = tuple({slot.slot: slot for slot in (find_slot(lake.registry, table) for table in tables)}.values())
    for slot in slots:
        refuse_unsettled(slot)
    some = batches(slots, entry_of=lambda slot: slot.entry)
    return tuple(one for batch in some for one in _drill(lake, batch, rebuilder))


def _drill(lake: Lake, slots: Sequence[Slot], by: Rebuilder) -> Iterator[Drill]:
    """Rebuild some tables and compare them; each outcome is recorded by itself."""
    trials = [Drilling(slot.entry, in_work(slot.slot), slot=slot.slot) for slot in slots]

    def find(one: Drilling) -> None:
        slot = lake.registry.slots[one.slot]
        one.child = examine_quarantined(lake.quarantine, slot) if slot.state is State.QUARANTINED else None

    each(trials, find)
    started = lake.clock.tick()
    rebuild_all(lake.quarantine, lake.files, trials, by)
    seconds = lake.clock.tick() - started
    _compare([one for one in trials if one.child is not None], by)
    for one, share in zip(trials, shares([one.entry for one in trials]), strict=True):
        scrap_or_say(lake.files, one.folder)
        because, took = ("", seconds * share) if one.error is None else (str(one.error.args[0]), 0.0)
        if not isinstance(one.error, DiskError):  # a disk error says nothing about the recipe
            lake.write(Drilled(one.slot, because, took, lake.now()))
        yield Drill(one.entry.child.name, one.slot, not because, took, because)


def _compare(trials: Sequence[Drilling], by: Rebuilder) -> None:
    """Compare by values with the child as long as it is in quarantine; after the purge only its digest is left."""

    def question(one: Drilling) -> Compare:
        assert one.child is not None
        return Compare(rebuilt(one), one.child)

    def take(one: Drilling, compared: Comparison) -> None:
        if compared.differs:
            raise Changed(f"the rebuilt table differs: {compared.differs}")

    ask(trials, lambda some: by.compare_many([question(one) for one in some]), take)
