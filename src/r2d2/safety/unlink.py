"""Unlinking what lies in quarantine: file by file from the list, never a whole folder (HAZARDS 31)."""

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
    """Remove the files of a table that lie at *at*, then the folders that are empty by then. The rest stays.

    *is_listed* says whether what lies at a path is the file of the list, and no other that came to bear its name.
    Rows go first: what has all of them is then still whole but for notes.
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
    """Listed is what looks as it did when its bytes were checked."""
    known = dict(look.files)
    return lambda file, path: files.stat(path) == known[file.path]


def by_content(files: Files) -> Callable[[FileSeen, str], bool]:
    """Listed is what has the bytes of the list."""
    return lambda file, path: holds_bytes(files, path, file.sha256)


def settle_purge(lake: Lake, slot: Slot, parents: ParentsOnDisk) -> tuple[str, str]:
    """After a crash: keep the table if it is still whole, finish if its parent is, and else touch nothing."""
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
        return "", f"its purge was interrupted, and its parent is not what it was: {error}"
    unlink_listed(lake.files, slot.entry.child, in_quarantine(slot.slot), is_listed=by_content(lake.files))
    lake.write(Purged(slot.slot, lake.now()))
    return "the purge was finished", "it was interrupted"


class ParentsOnDisk:
    """Parents that are what was pinned, to the byte, and whose bytes are on disk and not in memory only.

    A parent of many children is read and synced once, as long as nobody may have written to it since.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._examined = Examined(files, alone=False)
        self._synced: dict[TableSeen, Look] = {}
        self._failed: dict[TableSeen, OSError] = {}

    def look(self, parent: TableSeen) -> Look:
        """How a parent looks, once all of that is so."""
        look = self._examined.look(parent)
        if self._synced.get(parent) != look:
            self._sync(parent)
            self._synced[parent] = look
        return look

    def _sync(self, parent: TableSeen) -> None:
        """A sync that failed is not asked for again: the system says it once, and then that all is well."""
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
