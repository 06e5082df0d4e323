"""Check each table of a plan on disk, before an apply has its first effect; `objections` runs the same checks alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from r2d2.safety.errors import DiskError, Refused
from r2d2.safety.files import Files
from r2d2.safety.paths import QUARANTINE, SAFETY, join
from r2d2.safety.per_table import own_errors
from r2d2.safety.plan import Entry, FileSeen, Plan, TableSeen
from r2d2.safety.registry import Registry
from r2d2.safety.snapshots import (
    Examined,
    PosixTables,
    examine,
    holds_bytes,
    refuse_checksum_beside,
    refuse_hard_links,
    refuse_other_device,
    refuse_pinned_files,
    refuse_recent,
    refuse_rewritten,
    refuse_shared_files,
)


class TableChecks:
    """Checks of a plan's tables on disk against the plan and the registry. A parent of many children is read once."""

    def __init__(self, files: Files, registry: Registry, *, home: str = QUARANTINE) -> None:
        self._files = files
        self._tables = PosixTables(files)
        self._registry = registry
        self._home = home  # a folder on the file system that tables are moved to
        self._parents = Examined(self._tables, alone=True)
        self._pinned: dict[str, str] | None = None
        self._needed = NeededBytes(files, registry)

    def check(self, entry: Entry, *, now: float, quiet_seconds: float) -> None:
        """Run every guard that reads the child and its parents."""
        refuse_lake_above(self._files)
        for table in (entry.child, *entry.parents):
            refuse_lake_between(self._files, table)
        child = examine(self._tables, entry.child, entry.child.location, alone=True)
        parents = [(parent, self._parents.look(parent)) for parent in entry.parents]
        for parent, look in parents:
            refuse_shared_files(entry.child, child, parent, look)
        refuse_hard_links(entry.child, child)
        refuse_checksum_beside(self._files, entry.child)
        refuse_other_device(entry.child, child, self._file_system())
        refuse_pinned_files(entry.child, child, self._pins())
        refuse_last_copy(entry.child, self._needed)
        for table, look in ((entry.child, child), *parents):
            refuse_rewritten(table, look)
            refuse_recent(table, look, now=now, quiet_seconds=quiet_seconds)

    def _file_system(self) -> str:
        home = self._files.stat(self._home)
        if home is None:
            raise Refused("the quarantine folder is gone", hint="leave the safety folder alone while a command runs")
        return home.file_system

    def _pins(self) -> Mapping[str, str]:
        """Current identities of the files of all pinned parents, with the table that needs each; looked up once."""
        if self._pinned is None:
            self._pinned = {}
            for path, _, name in _files_of_parents(self._registry):
                found = self._files.stat(path)
                if found is not None:
                    self._pinned[found.version.identity] = name
        return self._pinned


class NeededBytes:
    """Files of pinned parents by SHA-256: a renamed parent is still recognised by its bytes."""

    def __init__(self, files: Files, registry: Registry) -> None:
        self._files = files
        self._missing: dict[str, tuple[str, str] | None] = {}
        self._needed: defaultdict[str, dict[str, str]] = defaultdict(dict)  # SHA-256: places, and the table of each
        for path, file, name in _files_of_parents(registry):
            if file.holds_rows:
                self._needed[file.sha256][path] = name

    def missing(self, sha256: str) -> tuple[str, str] | None:
        """A place where a deleted table needs these bytes and they are missing, and that table; else None.

        Each place is read once: many tables may have the same bytes.
        """
        if sha256 not in self._missing:
            places = self._needed.get(sha256, {})
            gone = ((path, name) for path, name in places.items() if not holds_bytes(self._files, path, sha256))
            self._missing[sha256] = next(gone, None)
        return self._missing[sha256]


def _files_of_parents(registry: Registry) -> Iterator[tuple[str, FileSeen, str]]:
    """Every file of every pinned parent: its path, the file, and the deleted table that needs it."""
    for slot in registry.active:
        for parent in slot.entry.parents:
            yield from ((join(parent.location, file.path), file, slot.entry.child.name) for file in parent.files)


def refuse_last_copy(child: TableSeen, needed: NeededBytes) -> None:
    """Refuse to delete the last copy of bytes that a deleted table is rebuilt from, wherever it is (HAZARDS 15, 16)."""
    for file in child.files:
        missing = needed.missing(file.sha256)
        if missing is not None:
            path, name = missing
            raise Refused(
                f"{child.name!r} has the very bytes that {name!r} is rebuilt from, and they are no longer at {path!r}",
                hint=f"move them back there; or, if {name!r} is lost anyway, `r2d2 forget` gives it up",
            )


def refuse_lake_above(files: Files) -> None:
    """Refuse a lake inside a lake: each has its own journal and does not know the other's pins (HAZARDS 15, 16)."""
    above = files.lies_above(SAFETY)
    if above is not None:
        raise Refused(
            f"{files.root} is a part of {above}, which has a safety folder: its deleted tables may need what is here",
            hint=f"scan {above} and plan there; if `r2d2 status --lake {above}` shows none, that folder may be removed",
        )


def refuse_lake_between(files: Files, table: TableSeen) -> None:
    """Refuse a table inside a folder that has its own safety folder, the same case seen from above."""
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
    """Reason against deleting a table now."""

    table: str
    because: str
    hint: str


def objections(
    files: Files, registry: Registry, plan: Plan, *, now: float, quiet_seconds: float
) -> tuple[Objection, ...]:
    """Reasons for which an apply would refuse tables now. Read-only; needs no lock."""
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
