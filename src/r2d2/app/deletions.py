"""Deleted tables of a lake, as one command sees them: recovered once, the journal read once, the doctor asked once."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property

from r2d2.errors import R2D2Error
from r2d2.flows.plan import PastDeletions
from r2d2.model.scan import Scan
from r2d2.model.table import Absent, Table
from r2d2.safety.doctor import BAD, Finding, doctor
from r2d2.safety.files import Files
from r2d2.safety.locked_lake import posix_files, read_registry
from r2d2.safety.paths import SAFETY
from r2d2.safety.plan import TableSeen
from r2d2.safety.posix_versions import modified_ns
from r2d2.safety.recovery import Recovered, open_lake
from r2d2.safety.registry import SETTLED, Registry
from r2d2.steps.mark_deleted import DeletedTable, below, has_files, mark_deleted

_LOG = logging.getLogger("r2d2")


class Deletions:
    """The lake's own record of what was deleted. Nothing is changed by asking."""

    def __init__(self, files: Files) -> None:
        self._files = files

    @property
    def root(self) -> str:
        """The folder of the lake."""
        return self._files.root

    @cached_property
    def registry(self) -> Registry:
        """The journal's account of each table; empty where nothing was ever deleted."""
        return read_registry(self._files) if self._files.stat(SAFETY) is not None else Registry()

    @cached_property
    def tables(self) -> tuple[DeletedTable, ...]:
        """The tables that are deleted and not given up, before the doctor has looked at them."""
        return tuple(
            DeletedTable(
                name=(child := slot.entry.child).name,
                location=child.location,
                parents=slot.entry.parent_names,
                files=files_with_rows(child),
                is_gone=self._files.stat(child.location) is None,
            )
            for slot in self.registry.active
        )

    def absent(self, scan: Scan, findings: Sequence[Finding] = ()) -> Mapping[str, Absent]:
        """The scan's tables that are deleted and can be rebuilt, with what the doctor found wrong with each."""
        wrong = {one.table: one.because for one in findings if one.severity == BAD}
        known = (replace(one, wrong=wrong.get(one.name, "")) for one in self.tables)
        return mark_deleted(scan, known, root=self.root).absent

    def findings(self, *, deep: bool) -> tuple[Finding, ...]:
        """Ask the doctor; *deep* reads every byte that deleted tables depend on."""
        return doctor(self._files, deep=deep)

    def past(self, scan: Scan) -> PastDeletions:
        """Earlier deletions by the tables of a scan."""
        return past_deletions(scan, self.registry, self.root)


def past_deletions(scan: Scan, registry: Registry, root: str) -> PastDeletions:
    """The journal's facts on the tables of a scan of the lake at *root*."""
    number_at = {below(table.location, root): number for number, table in enumerate(scan.tables)}
    seconds: dict[tuple[int, int], float] = {}
    for slot in registry.slots.values():
        child = number_at.get(slot.entry.child.location)
        for parent in (number_at.get(table.location) for table in slot.entry.parents):
            if slot.is_drilled and parent is not None and child is not None:
                seconds[parent, child] = slot.drills[-1].seconds
    pinned = {parent.location: slot.entry.child.name for slot in registry.active for parent in slot.entry.parents}
    names = {scan.tables[number_at[at]].name: child for at, child in pinned.items() if at in number_at}
    away = {slot.entry.child.location for slot in registry.active}
    return PastDeletions(seconds, names, frozenset(scan.tables[number_at[at]].name for at in away if at in number_at))


def files_with_rows(seen: TableSeen) -> dict[str, tuple[int, int]]:
    """Size and modification time of the files that hold a table's rows, by their path below it."""
    return {file.path: (file.size_bytes, modified_ns(file.version)) for file in seen.files if file.holds_rows}


def is_as_seen(table: Table, seen: TableSeen) -> bool:
    """Whether the files that hold a table's rows are those of the scan, by size and time."""
    return has_files(table, files_with_rows(seen))


@contextmanager
def open_deletions(root: str) -> Iterator[Deletions]:
    """Open the lake at *root* once, recover it, and hand out its deletions."""
    with posix_files(root) as files:
        with suppress(R2D2Error, OSError):  # a damaged journal, say: the first question about it says so
            _say(recover_files(files))
        yield Deletions(files)


def recover_root(root: str) -> None:
    """Recover one of several roots; skip a root that holds no lake of ours or cannot be opened."""
    with suppress(R2D2Error, OSError), posix_files(root) as files:
        _say(recover_files(files))


def recover_files(files: Files) -> tuple[Recovered, ...]:
    """Lock the lake, recover it and unlock it.

    Return early if nothing needs recovery; read access is then enough.
    """
    if not _needs_recovery(files):
        return ()
    with open_lake(files) as (_, recovered):
        return recovered


def _needs_recovery(files: Files) -> bool:
    there = files.stat(SAFETY) is not None
    return there and any(slot.state not in SETTLED for slot in read_registry(files).active)


def _say(recovered: Sequence[Recovered]) -> None:
    for one in recovered:
        _LOG.warning("r2d2: recovered %s: %s", one.table, f"{one.did or 'left as it is'}, since {one.because}")
