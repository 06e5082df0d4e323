"""Check whether a table on disk is unchanged: by listing, by file versions, and by SHA-256 of every byte."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from r2d2.model.rebuild import Placed
from r2d2.safety.errors import Changed, Refused
from r2d2.safety.files import FILE, FOLDER, Files, Stat
from r2d2.safety.paths import join
from r2d2.safety.plan import FileSeen, TableSeen, is_bookkeeping
from r2d2.safety.posix_versions import modified_ns, same_version

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Look:
    """Snapshot of a table's files from their stats. Two equal snapshots: nobody wrote in between."""

    files: tuple[tuple[str, Stat], ...]
    others: tuple[str, ...]  # foreign files and empty folders in its folder


class Tables(Protocol):
    """Tables that can be compared with the lists of their files in a plan or in the journal."""

    @property
    def root(self) -> str:
        """The absolute path of the lake, for readers that open tables by path."""

    def snapshot(self, table: TableSeen, at: str) -> Look:
        """Snapshot of a table at *at*; raises Changed if a file is missing, is not regular, or has another size."""

    def sha256(self, path: str) -> str:
        """SHA-256 of a file, from its bytes."""


class PosixTables:
    """Tables on a POSIX file system."""

    def __init__(self, files: Files) -> None:
        self.files = files

    @property
    def root(self) -> str:
        """The absolute path of the root."""
        return self.files.root

    def snapshot(self, table: TableSeen, at: str) -> Look:
        """Snapshot of a table from the stats of its files and the listing of its folder."""
        return look_at(self.files, table, at)

    def sha256(self, path: str) -> str:
        """SHA-256 of a regular file."""
        return sha256_of_file(self.files, path)


def placed(lake: Tables | Files, table: TableSeen, at: str) -> Placed:
    """The table as the rebuilder takes it, at the path *at* below the root."""
    return Placed(join(lake.root, at), tuple(file.path for file in table.files if file.holds_rows))


def look_at(files: Files, table: TableSeen, at: str) -> Look:
    """Take a snapshot of a table at *at*; refuse it if a file is missing, is not regular, or has another size."""
    with vanishing(table.name):
        found = [(file.path, _seen(files, file, join(at, file.path), table.name)) for file in table.files]
        return Look(tuple(found), tuple(_others(files, table, at)))


def has_its_times(table: TableSeen, look: Look) -> bool:
    """Whether every file has its old mtime: then, as a rule, nobody wrote to it."""
    pairs = zip(table.files, look.files, strict=True)
    return all(modified_ns(found.version) == modified_ns(file.version) for file, (_, found) in pairs)


def examine(tables: Tables, table: TableSeen, at: str, *, alone: bool) -> Look:
    """Check that a table is unchanged to the last byte, and return its snapshot. With *alone*, refuse foreign files.

    File versions are ignored here: a lake that was moved to another disk, or a file from a backup, is as good as
    before. `refuse_rewritten` compares them while a plan is fresh.
    """
    before = tables.snapshot(table, at)
    if alone:
        refuse_unexplained(table, before)
    for file in table.files:
        refuse_other_content(tables, file, join(at, file.path), table.name)
    refuse_moving_target(tables, table, at, before)
    return before


class Examined:
    """Cache of checked tables: each is hashed once, and again only if its snapshot has changed since.

    A parent of many children need not be hashed for each: as long as its snapshot is the same, down to the ctime of
    every file, its bytes are the same. Between any check and the record that follows it, the same is assumed, and
    the snapshot is taken once more.
    """

    def __init__(self, tables: Tables, *, alone: bool) -> None:
        self._tables = tables
        self._alone = alone
        self._looks: dict[TableSeen, Look] = {}
        self._wrong: dict[TableSeen, tuple[Look, Changed]] = {}  # tables that were found changed

    def look(self, table: TableSeen) -> Look:
        """The table's snapshot, once it is found unchanged to the last byte."""
        now = self._tables.snapshot(table, table.location)
        if self._looks.get(table) == now:
            return now
        if table in self._wrong and self._wrong[table][0] == now:
            raise self._wrong[table][1]
        try:
            look = examine(self._tables, table, table.location, alone=False)
            if self._alone:  # empty folders are harmless: the parent is not moved
                refuse_unexplained(table, replace(look, others=tuple(path for path in look.others if path[-1] != "/")))
            self._looks[table] = look
        except Changed as error:
            self._wrong[table] = now, error
            raise
        return self._looks[table]


def refuse_unexplained(table: TableSeen, look: Look) -> None:
    """Refuse foreign files in the table's folder: they would be deleted with it, unread (HAZARDS 8)."""
    if look.others:
        raise Changed(
            f"{table.name!r} has content that is not part of it: {some(look.others)}",
            hint="move it elsewhere, or scan again and make a new plan",
        )


def refuse_other_content(tables: Tables, file: FileSeen, path: str, name: str) -> None:
    """Refuse a file with other bytes: they can change while the file version stays (HAZARDS 13, 14)."""
    with vanishing(name):
        found = tables.sha256(path)
    if found != file.sha256:
        raise Changed(
            f"{name!r} has changed: {file.path or path!r} holds other bytes", hint="scan again and make a new plan"
        )


def refuse_moving_target(tables: Tables, table: TableSeen, at: str, before: Look) -> None:
    """Refuse a table that was written to since the snapshot *before* (HAZARDS 14)."""
    if tables.snapshot(table, at) != before:
        raise Changed(f"{table.name!r} is being written to", hint="wait until its writer has ended")


def refuse_other_file(file: FileSeen, found: Stat | None, name: str) -> None:
    """Refuse a file that is missing, is not a regular file, or has another size."""
    if found is None:
        raise Changed(f"{name!r} has changed: {file.path or name!r} is missing", hint="scan again and make a new plan")
    if found.kind != FILE:
        raise Changed(
            f"{name!r} has changed: {file.path or name!r} is not a regular file", hint="scan again and make a new plan"
        )
    if found.size_bytes != file.size_bytes:
        raise Changed(
            f"{name!r} has changed: {file.path or name!r} has another size", hint="scan again and make a new plan"
        )


def refuse_rewritten(table: TableSeen, look: Look) -> None:
    """Refuse a table that was written to since the plan, even with the same bytes (HAZARDS 14, 18)."""
    for file, (_, found) in zip(table.files, look.files, strict=True):
        if not same_version(found.version, file.version):
            raise Changed(
                f"{table.name!r} has changed: {file.path or table.name!r} was written to or touched since the plan",
                hint="make a new plan",
            )


def refuse_recent(table: TableSeen, look: Look, *, now: float, quiet_seconds: float) -> None:
    """Refuse a table that was written to recently: its writer may still be at work (HAZARDS 14)."""
    newest = max(stat.written_ns for _, stat in look.files)
    if newest > now * 1e9:
        raise Refused(
            f"{table.name!r} has a timestamp in the future, so nobody can tell whether its writer is done",
            hint="set the clock right, or `touch` its files; then scan again and make a new plan",
        )
    if newest > (now - quiet_seconds) * 1e9:
        raise Refused(
            f"{table.name!r} was written to less than {quiet_seconds:,.0f} seconds ago",
            hint="try again when it is quiet, or shorten --quiet-period",
        )


def refuse_other_device(table: TableSeen, look: Look, file_system: str) -> None:
    """Refuse a table on another file system: a move there would be a copy, and not atomic (HAZARDS 23)."""
    if any(stat.file_system != file_system for _, stat in look.files):
        raise Refused(f"{table.name!r} is not on the file system of the lake's root", hint="it cannot be deleted here")


def refuse_hard_links(table: TableSeen, look: Look) -> None:
    """Refuse files with hard links: they can change under the other name, and deleting frees nothing (HAZARDS 1)."""
    linked = [path or table.name for path, stat in look.files if stat.links != 1]
    if linked:
        raise Refused(f"{table.name!r} has files with a second name: {some(linked)}", hint="it cannot be deleted")


def refuse_shared_files(child: TableSeen, one: Look, parent: TableSeen, other: Look) -> None:
    """Refuse a child that shares files with its parent: the bytes are stored only once (HAZARDS 1)."""
    theirs = {stat.version.identity for _, stat in other.files}
    if any(stat.version.identity in theirs for _, stat in one.files):
        raise Refused(f"{child.name!r} and {parent.name!r} are the same files under two names", hint="scan again")


def refuse_pinned_files(child: TableSeen, look: Look, pinned: Mapping[str, str]) -> None:
    """Refuse a child with files of a pinned parent, under whatever name (HAZARDS 1, 15)."""
    for _, stat in look.files:
        name = pinned.get(stat.version.identity)
        if name is not None:
            raise Refused(f"{child.name!r} has files that {name!r} is rebuilt from", hint=f"restore {name!r} first")


def refuse_checksum_beside(files: Files, table: TableSeen) -> None:
    """Refuse a file with a Hadoop checksum beside it, which would not fit the rebuilt file (HAZARDS 21)."""
    folder, _, name = table.location.rpartition("/")
    beside = join(folder, f".{name}.crc")
    if not table.is_folder and files.stat(beside) is not None:
        raise Refused(
            f"{table.name!r} has a checksum beside it, {beside!r}, that would not fit a rebuilt file",
            hint="remove that file: the table can be read without it",
        )


def holds_bytes(files: Files, path: str, sha256: str) -> bool:
    """Whether the path is a regular file with this SHA-256."""
    found = files.stat(path)
    return found is not None and found.kind == FILE and sha256_of_file(files, path) == sha256


def sha256_of_file(files: Files, path: str) -> str:
    """SHA-256 of a regular file."""
    hashed = hashlib.sha256()
    for piece in files.chunks(path):
        hashed.update(piece)
    return hashed.hexdigest()


def see_table(files: Files, name: str, location: str, *, data: Collection[str] | None = None) -> TableSeen:
    """The table at *location* as it is now, with every file in its folder hashed, as a plan needs it.

    *data* are the files that hold rows, below the location; without it, all files not named like bookkeeping.
    """
    top = files.stat(location)
    if top is None or top.kind not in (FILE, FOLDER):
        raise Refused(f"there is no table at {location!r}", hint="scan again")
    found = below(files, location) if top.kind == FOLDER else [""]
    paths = sorted(path for path in found if not path.endswith("/"))  # `look_at` reports empty folders
    rows = {path for path in paths if not is_bookkeeping(path)} if data is None else set(data)
    seen = [_see_file(files, join(location, path)) for path in paths]
    listed = [replace(file, path=path, holds_rows=path in rows) for path, file in zip(paths, seen, strict=True)]
    return TableSeen(name, location, top.kind == FOLDER, tuple(listed))


def below(files: Files, folder: str, prefix: str = "") -> Iterator[str]:
    """Yield all files in a folder, at any depth, and all empty folders (these end in /)."""
    names = files.names(join(folder, prefix))
    for name in names:
        path = join(prefix, name)
        found = files.stat(join(folder, path))
        if found is not None and found.kind == FOLDER:
            yield from below(files, folder, path)
        else:
            yield path
    if not names and prefix:
        yield prefix + "/"


def some(names: tuple[str, ...] | list[str]) -> str:
    """The first few names, for a message."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more


@contextmanager
def vanishing(name: str) -> Iterator[None]:
    """Raise Changed if a file vanishes between listing and reading; other errors pass."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Changed(
            f"{name!r} is vanishing while it is read ({error})", hint="wait until its writer has ended"
        ) from error


def _seen(files: Files, file: FileSeen, path: str, name: str) -> Stat:
    found = files.stat(path)
    refuse_other_file(file, found, name)
    assert found is not None
    return found


def _others(files: Files, table: TableSeen, at: str) -> Iterator[str]:
    if table.is_folder:
        known = {file.path for file in table.files}
        yield from (path for path in below(files, at) if path not in known)


def _see_file(files: Files, at: str) -> FileSeen:
    found = files.stat(at)
    if found is None or found.kind != FILE:
        raise Refused(f"{at!r} is not a regular file", hint="scan again")
    return FileSeen("", found.size_bytes, found.version, sha256_of_file(files, at), True)
