"""All that is looked at, table by table, before an apply has its first effect; and the same for who only asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from r2d2.safety.files import Files
from r2d2.safety.paths import QUARANTINE, SAFETY, join
from r2d2.safety.plan import Entry, Plan, TableSeen
from r2d2.safety.refused import DiskError, Refused
from r2d2.safety.registry import Registry
from r2d2.safety.tables import (
    Examined,
    examine,
    refuse_hard_links,
    refuse_other_device,
    refuse_pinned_files,
    refuse_recent,
    refuse_rewritten,
    refuse_shared_files,
)
from r2d2.safety.trials import own_errors


class TableChecks:
    """Tables of a plan on disk against the plan and the registry. A parent of many children is read once."""

    def __init__(self, files: Files, registry: Registry, *, home: str = QUARANTINE) -> None:
        self._files = files
        self._registry = registry
        self._home = home  # tables can only go to a folder of their own file system, and this is in it
        self._parents = Examined(files, alone=True)
        self._pinned: dict[tuple[int, int], str] | None = None

    def check(self, entry: Entry, *, now: float, quiet_seconds: float) -> None:
        """Every guard that looks at the child and its parent."""
        refuse_lake_above(self._files)
        for table in (entry.child, entry.parent):
            refuse_lake_between(self._files, table)
        child = examine(self._files, entry.child, entry.child.location, alone=True)
        parent = self._parents.look(entry.parent)
        refuse_shared_files(entry.child, child, entry.parent, parent)
        refuse_hard_links(entry.child, child)
        refuse_other_device(entry.child, child, self._device())
        refuse_pinned_files(entry.child, child, self._pins())
        for table, look in ((entry.child, child), (entry.parent, parent)):
            refuse_rewritten(table, look)
            refuse_recent(table, look, now=now, quiet_seconds=quiet_seconds)

    def _device(self) -> int:
        home = self._files.stat(self._home)
        if home is None:
            raise Refused("the quarantine folder is gone", hint="leave the safety folder alone while a command runs")
        return home.device

    def _pins(self) -> Mapping[tuple[int, int], str]:
        """The files, as they are now, of all parents in use; looked up once."""
        if self._pinned is None:
            self._pinned = {}
            for slot in self._registry.active:
                for file in slot.entry.parent.files:
                    found = self._files.stat(join(slot.entry.parent.location, file.path))
                    if found is not None:
                        self._pinned[found.device, found.inode] = slot.entry.child.name
        return self._pinned


def refuse_lake_above(files: Files) -> None:
    """A lake in a lake has a journal of its own, and does not know what tables the other one needs (HAZARDS 15, 16)."""
    above = files.lies_above(SAFETY)
    if above is not None:
        raise Refused(
            f"{files.root} is a part of {above}, from which tables were deleted",
            hint=f"scan {above} and plan there: what its deleted tables are rebuilt from must stay",
        )


def refuse_lake_between(files: Files, table: TableSeen) -> None:
    """The same from above: a table that lies in a folder from which tables were deleted by itself."""
    parts = table.location.split("/")
    for depth in range(1, len(parts) + 1):
        folder = "/".join(parts[:depth])
        if files.stat(join(folder, SAFETY)) is not None:
            raise Refused(
                f"{table.name!r} is a table of {join(files.root, folder)}, from which tables were deleted",
                hint="scan that folder and plan there, or restore all of its tables and remove its safety folder",
            )


@dataclass(frozen=True, slots=True)
class Objection:
    """What speaks against deleting a table now."""

    table: str
    because: str
    hint: str


def objections(
    files: Files, registry: Registry, plan: Plan, *, now: float, quiet_seconds: float
) -> tuple[Objection, ...]:
    """What an apply would refuse each table for, if it began now. Nothing is changed, and no lock is needed."""
    has_quarantine = files.stat(SAFETY) is not None and files.stat(QUARANTINE) is not None
    checks = TableChecks(files, registry, home=QUARANTINE if has_quarantine else "")
    found = []
    for entry in plan.entries:
        try:
            with own_errors():
                checks.check(entry, now=now, quiet_seconds=quiet_seconds)
        except (Refused, DiskError) as error:
            found.append(Objection(entry.child.name, str(error.args[0]), error.hint))
    return tuple(found)
