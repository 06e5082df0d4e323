"""Quarantine on a POSIX file system: tables are renamed, names synced, files unlinked one by one (HAZARDS 31)."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from r2d2.safety.errors import Changed, NotMoved, Refused
from r2d2.safety.files import FOLDER, Files, Stat
from r2d2.safety.paths import JOURNAL, LOCK, QUARANTINE, SAFETY, WORK, is_slot, join
from r2d2.safety.plan import FileSeen, TableSeen
from r2d2.safety.ports import Where
from r2d2.safety.quarantine import drop_second_name, has_arrived, in_quarantine, make_folders_above, sync_names
from r2d2.safety.registry import Slot, State
from r2d2.safety.snapshots import Look, PosixTables, holds_bytes, vanishing

_NOT_MOVED = (errno.ENOENT, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EBUSY)


class PosixQuarantine(PosixTables):
    """The safety folder of a lake, on the lake's own file system."""

    @contextmanager
    def lock(self, note: str) -> Iterator[None]:
        """Make the safety folder and hold its lock file."""
        make_folders(self.files)
        with self.files.lock(LOCK, note):
            yield

    def records(self) -> Iterator[bytes]:
        """The journal's content; nothing if there is no journal."""
        if self.files.stat(JOURNAL) is not None:
            yield from self.files.chunks(JOURNAL)

    def open_records(self, size_bytes: int) -> None:
        """Create the journal if it is missing, cut off a torn line, and sync it."""
        found = self.files.stat(JOURNAL)
        if found is None:
            self.files.create(JOURNAL, ())
        elif found.size_bytes > size_bytes:
            self.files.truncate(JOURNAL, size_bytes)
        self.files.sync(JOURNAL)  # always: the writer of the last record may have been killed before its sync
        self.files.sync(SAFETY)

    def append_record(self, line: bytes) -> None:
        """Append a line to the journal and sync it."""
        self.files.append(JOURNAL, line)
        self.files.sync(JOURNAL)

    def slots(self) -> tuple[str, ...]:
        """Names in quarantine that have the form of a slot."""
        there = self.files.stat(SAFETY) is not None and self.files.stat(QUARANTINE) is not None
        return tuple(name for name in self.files.names(QUARANTINE) if is_slot(name)) if there else ()

    def identity(self, place: str) -> str | None:
        """The identity of the file or folder at a place; None if nothing is there."""
        found = self.files.stat(place)
        return found.version.identity if found is not None else None

    def make_durable(self, table: TableSeen) -> None:
        """Sync a table's files and folders, and the folders above it."""
        parts = table.location.split("/")
        above = ["/".join(parts[:depth]) for depth in range(len(parts) + table.is_folder)]
        inside = [join(table.location, path) for path in (*(file.path for file in table.files), *table.folders)]
        with vanishing(table.name):
            for path in (*inside, *above):
                self.files.sync(path)

    def take(self, table: TableSeen, slot: str) -> None:
        """Rename a table into quarantine and sync both folders."""
        aside = in_quarantine(slot)
        try:
            self.files.move(table.location, aside)
        except OSError as error:
            if error.errno not in _NOT_MOVED:
                raise
            if error.errno != errno.ENOENT or self.identity(aside) is None:
                # It is missing, or may not be moved, is busy, or is on another file system: nothing to bring back.
                hint = "check that it exists and who may move it; then scan again and make a new plan"
                message = f"{table.name!r} cannot be moved ({error.strerror})"
                raise NotMoved(message, hint=hint, because=str(error)) from error
        sync_names(self.files, table.location, aside)

    def prepare(self, source: str, location: str) -> str | None:
        """Make the folders above *location*; return the identity of the table at *source*."""
        make_folders_above(self.files, location)
        return self.identity(source)

    def put_back(self, source: str, location: str, identity: str) -> None:
        """Rename a table to its location and sync both folders."""
        try:
            self.files.move(source, location)
        except FileExistsError as error:
            if not drop_second_name(self.files, keep=location, drop=source):
                message, hint = f"something appeared at {location!r}", "move it away and try again"
                raise NotMoved(message, hint=hint, because="something appeared at its place") from error
        except FileNotFoundError:
            if self.identity(location) != identity:
                raise
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            raise NotMoved(
                f"{location!r} is on another file system by now",
                hint="restore a copy with --to, and put it there",
                because="its place is on another file system",
            ) from error
        sync_names(self.files, source, location)

    def is_stranded(self, slot: Slot) -> bool:
        """Whether a table that was being put back is whole neither in quarantine nor at its location."""
        restore, aside = slot.restore, in_quarantine(slot.slot)
        if slot.state is not State.RESTORING or restore is None or restore.source != aside:
            return False
        return self.identity(aside) is None and not has_arrived(self.files, slot)

    def settle(self, slot: Slot) -> Where:
        """End the way of a table that was moving, restoring or purging, and return its place."""
        if slot.state is State.MOVING:
            return self._undo_take(slot.entry.child.location, in_quarantine(slot.slot))
        return self._settle_restore(slot) if slot.state is State.RESTORING else self._settle_purge(slot)

    def _undo_take(self, home: str, aside: str) -> Where:
        files = self.files
        if not drop_second_name(files, keep=home, drop=aside):
            if files.stat(aside) is None:
                if files.stat(home) is None:
                    return Where.NOWHERE
            elif files.stat(home) is not None:
                return Where.ASIDE
            else:
                make_folders_above(files, home)
                files.move(aside, home)
        sync_names(files, aside, home)
        return Where.HOME

    def _settle_restore(self, slot: Slot) -> Where:
        assert slot.restore is not None
        files, home, source = self.files, slot.entry.child.location, slot.restore.source
        drop_second_name(files, keep=home, drop=source)
        if has_arrived(files, slot):
            sync_names(files, source, home)
            return Where.HOME
        if self.is_stranded(slot):
            return Where.NOWHERE
        sync_names(files, home, source)
        return Where.ASIDE

    def _settle_purge(self, slot: Slot) -> Where:
        try:
            self.snapshot(slot.entry.child, in_quarantine(slot.slot))
        except Changed:
            return Where.NOWHERE
        self.files.sync(QUARANTINE)
        return Where.ASIDE

    def purge(self, table: TableSeen, slot: str, look: Look | None) -> None:
        """Unlink the listed files, then remove the folders that are empty by then. Other files stay.

        Files with rows go first: a copy that still has all of them is complete, except perhaps for bookkeeping.
        """
        at, known = in_quarantine(slot), dict(look.files) if look is not None else None
        for file in sorted(table.files, key=lambda file: not file.holds_rows):
            if self._is_listed(file, join(at, file.path), known):
                self.files.unlink(join(at, file.path))
        if table.is_folder:
            for folder in (*table.folders, ""):
                _remove_if_empty(self.files, join(at, folder))
        self.files.sync(QUARANTINE)

    def _is_listed(self, file: FileSeen, path: str, known: Mapping[str, Stat] | None) -> bool:
        """Whether the file at a path is the listed one, and not another that took its name."""
        if known is None:
            return holds_bytes(self.files, path, file.sha256)
        return self.files.stat(path) == known[file.path]


def make_folders(files: Files) -> None:
    """Make the folders that safety needs in the lake, durably, before anything is put there.

    They are synced even if they exist: the process that made them may have been killed before its sync.
    """
    for path, above in ((SAFETY, ""), (QUARANTINE, SAFETY), (WORK, SAFETY)):
        found = files.stat(path)
        if found is None:
            with suppress(FileExistsError):  # another process makes it just now
                files.make_folder(path)
        elif found.kind != FOLDER:
            raise Refused(f"{path} in {files.root} is not a folder", hint="find out what put it there")
        files.sync(above)


def _remove_if_empty(files: Files, folder: str) -> None:
    found = files.stat(folder)
    if found is not None and not files.names(folder):
        files.remove_folder(folder)
