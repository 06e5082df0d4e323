"""Unlink a table in quarantine: file by file from the plan's list, never a whole folder (HAZARDS 31)."""

from __future__ import annotations

from collections.abc import Callable

from r2d2.safety.errors import Changed
from r2d2.safety.files import Files
from r2d2.safety.locked_lake import Lake
from r2d2.safety.paths import QUARANTINE, join
from r2d2.safety.plan import FileSeen, TableSeen
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.records import Purged, PurgeUndone
from r2d2.safety.registry import Slot
from r2d2.safety.snapshots import Examined, Look, holds_bytes, look_at, vanishing


def unlink_listed(files: Files, table: TableSeen, at: str, *, is_listed: Callable[[FileSeen, str], bool]) -> None:
    """Remove the listed files of a table at *at*, then the folders that are empty by then. Other files stay.

    *is_listed* tells whether the file at a path is the listed one, and not another that took its name. Files with
    rows go first: a copy that still has all of them is complete, except perhaps for bookkeeping.
    """
    for file in sorted(table.files, key=lambda file: not file.holds_rows):
        path = join(at, file.path)
        if is_listed(file, path):
            files.unlink(path)
    if table.is_folder:
        for folder in (*table.folders, ""):
            _remove_if_empty(files, join(at, folder))
    files.sync(QUARANTINE)


def as_looked_at(files: Files, look: Look) -> Callable[[FileSeen, str], bool]:
    """Recognise a listed file by its snapshot from when its bytes were hashed."""
    known = dict(look.files)
    return lambda file, path: files.stat(path) == known[file.path]


def by_content(files: Files) -> Callable[[FileSeen, str], bool]:
    """Recognise a listed file by its bytes."""
    return lambda file, path: holds_bytes(files, path, file.sha256)


def settle_purge(lake: Lake, slot: Slot, parents: ParentsOnDisk) -> tuple[str, str]:
    """Settle a purge after a crash: undo it if the table is whole, finish it if its parents are, else leave it."""
    files, entry, aside = lake.files, slot.entry, in_quarantine(slot.slot)
    try:
        look_at(files, entry.child, aside)
    except Changed:
        return _finish(lake, slot, parents)
    files.sync(QUARANTINE)
    lake.write(PurgeUndone(slot.slot, lake.now()))
    return "the purge was undone", "it was interrupted before it began"


def _finish(lake: Lake, slot: Slot, parents: ParentsOnDisk) -> tuple[str, str]:
    try:
        for parent in slot.entry.parents:
            parents.look(parent.rows)
    except Changed as error:
        return "", f"its purge was interrupted, and its parent has changed: {error}"
    unlink_listed(lake.files, slot.entry.child, in_quarantine(slot.slot), is_listed=by_content(lake.files))
    lake.write(Purged(slot.slot, lake.now()))
    return "the purge was finished", "it was interrupted"


class ParentsOnDisk:
    """Check that parents are unchanged to the byte, and sync them to disk.

    A parent of many children is hashed and synced once, and again only if its snapshot has changed since.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._examined = Examined(files, alone=False)
        self._synced: dict[TableSeen, Look] = {}
        self._failed: dict[TableSeen, OSError] = {}

    def look(self, parent: TableSeen) -> Look:
        """The parent's snapshot, once it is found unchanged and is synced."""
        look = self._examined.look(parent)
        if self._synced.get(parent) != look:
            self._sync(parent)
            self._synced[parent] = look
        return look

    def _sync(self, parent: TableSeen) -> None:
        """Sync a parent; repeat an earlier failure, since the system reports a failed sync only once."""

        if parent in self._failed:
            raise self._failed[parent]
        try:
            _sync(self._files, parent)
        except OSError as error:
            self._failed[parent] = error
            raise


def _sync(files: Files, parent: TableSeen) -> None:
    parts = parent.location.split("/")
    above = ["/".join(parts[:depth]) for depth in range(len(parts) + parent.is_folder)]
    inside = [join(parent.location, path) for path in (*(file.path for file in parent.files), *parent.folders)]
    with vanishing(parent.name):
        for path in (*inside, *above):
            files.sync(path)


def _remove_if_empty(files: Files, folder: str) -> None:
    found = files.stat(folder)
    if found is not None and not files.names(folder):
        files.remove_folder(folder)
