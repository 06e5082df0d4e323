"""List one folder: files, folders and links, each with the facts about it. No link is followed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from r2d2.formats.contract import Claim
from r2d2.formats.registry import is_read, strongest_claim
from r2d2.lake.recognise import (
    BOOKKEEPING,
    OTHER,
    format_by_content,
    format_by_name,
    is_bookkeeping,
    is_hidden,
    is_state_folder,
    looks_like_a_part,
    marks_a_table,
    table_format,
)
from r2d2.model.versions import FileVersion
from r2d2.stores.contract import FILE, FOLDER, LINK, Entry, Store, Stored

NOT_ASKED = Stored(0, 0, FileVersion("", "", settled=False))
_NOW_AND_THEN = 256  # folders


@dataclass(frozen=True, slots=True)
class File:
    """One file. Size, time and version are known of files whose format is read."""

    name: str
    format: str
    stored: Stored = NOT_ASKED
    error: str = ""  # why it cannot be used, where it holds or may hold rows

    @property
    def may_hold_rows(self) -> bool:
        """Whether a table would lack rows without it."""
        return is_read(self.format) or bool(self.error)


@dataclass(frozen=True, slots=True)
class Link:
    """One symbolic link and the real path that it leads to."""

    name: str
    target: str = ""
    leads_to_folder: bool = False
    error: str = ""  # why it leads nowhere

    @property
    def may_hold_rows(self) -> bool:
        """Whether a reader that follows links would take it for a file of data."""
        if self.leads_to_folder or is_hidden(self.name):
            return False
        stated = format_by_name(self.name)
        return is_read(stated) or (stated is None and looks_like_a_part(self.name))


@dataclass(slots=True)
class Folder:
    """One folder, listed; everything in the order of names."""

    path: str
    name: str  # as a table would be named
    prefix: str  # what comes before the names of what is in it
    files: list[File] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)  # folders that are not looked into
    links: list[Link] = field(default_factory=list)
    claim: Claim | None = None  # of a format that is read and lists the files itself
    table_format: str = ""  # Delta, Hudi, Iceberg: not read
    error: str = ""  # why it could not be listed

    @property
    def is_marked(self) -> bool:
        """Whether a writer left word that this folder is one table."""
        return any(file.format == BOOKKEEPING and marks_a_table(file.name) for file in self.files)

    @property
    def is_state(self) -> bool:
        """Whether this is a state folder of ours."""
        return is_state_folder([file.name for file in self.files], self.folders)

    @property
    def data_names(self) -> list[str]:
        """The files and links in it that may hold rows."""
        links = [link.name for link in self.links if link.may_hold_rows]
        return [file.name for file in self.files if file.may_hold_rows] + links

    def path_of(self, name: str) -> str:
        """The path of something in it."""
        return os.path.join(self.path, name)

    def name_of(self, name: str) -> str:
        """The name, as a table's, of something in it."""
        return self.prefix + printable(name)


Look = Callable[[Folder, str], Folder]
"""Lists the folder of that name in another folder."""


class Listings:
    """Folders that were looked at ahead of the walk, so that none is listed twice."""

    def __init__(self, store: Store, *, now_and_then: Callable[[], None]) -> None:
        self.store = store
        self._ahead: dict[str, Folder] = {}
        self._listed = 0
        self._now_and_then = now_and_then

    def look(self, parent: Folder, name: str) -> Folder:
        """The folder of that name in *parent*."""
        path = parent.path_of(name)
        if path not in self._ahead:
            self._ahead[path] = list_folder(path, parent.name_of(name), self.store)
            self._listed += 1
            if self._listed % _NOW_AND_THEN == 0:
                self._now_and_then()
        return self._ahead[path]

    def forget(self, folder: Folder) -> None:
        """Free what is known of a folder that is done with."""
        self._ahead.pop(folder.path, None)

    def clear(self) -> None:
        """Free everything; folders that are still needed are listed again."""
        self._ahead.clear()


def list_folder(path: str, name: str, store: Store, *, prefix: str | None = None) -> Folder:
    """List a folder. What goes wrong is kept in the result, for the table that it would make incomplete."""
    folder = Folder(path, name, name + "/" if prefix is None else prefix)
    if not is_utf8(path):
        folder.error = "has a name that is not UTF-8"
        return folder
    try:
        entries = store.list(path)
        for entry in entries:
            _add(folder, entry, store)
        folder.claim = strongest_claim(path, (entry.name for entry in entries), store)
        if folder.claim is None:
            linked = [link.name for link in folder.links]
            folder.table_format = table_format(path, [*folder.folders, *folder.hidden, *linked], store)
    except OSError as error:
        folder.error = f"cannot be listed ({error.strerror})"
    return folder


def look_at_file(path: str, store: Store, *, is_regular: bool = True, stored: Stored | None = None) -> File:
    """One file, by its path; *stored* if that is known."""
    name = os.path.basename(path)
    stated = format_by_name(name)
    if stated is not None and not is_read(stated):
        return File(name, stated)
    if not is_utf8(name):
        return File(name, stated or OTHER, error="has a name that is not UTF-8")
    if not is_regular:
        return File(name, stated or OTHER, error="is neither a file nor a folder" if stated else "")
    try:
        found = stated or format_by_content(path, store)
        if not is_read(found):
            return File(name, found)
        return File(name, found, stored or store.stat(path))
    except OSError as error:
        return File(name, stated or OTHER, error=f"cannot be opened ({error.strerror})")


def is_utf8(name: str) -> bool:
    """Whether a name from the file system is text."""
    return name.isascii() or name.encode("utf-8", "replace").decode() == name


def printable(name: str) -> str:
    """The name, with bytes that are not UTF-8 written as \\xff."""
    return name if is_utf8(name) else os.fsencode(name).decode("utf-8", "backslashreplace")


def paths_above(path: str) -> Iterator[str]:
    """The folders above a path, nearest first."""
    parent = os.path.dirname(path)
    while parent != path:
        yield parent
        path, parent = parent, os.path.dirname(parent)


def _add(folder: Folder, entry: Entry, store: Store) -> None:
    name, kind, stored = entry
    if kind == LINK:
        folder.links.append(_link(folder.path_of(name), name))
    elif kind == FOLDER:
        (folder.hidden if is_hidden(name) else folder.folders).append(name)
    elif name.startswith((".", "_")):
        folder.files.append(File(name, BOOKKEEPING if is_bookkeeping(name) else OTHER))
    else:
        folder.files.append(look_at_file(folder.path_of(name), store, is_regular=kind == FILE, stored=stored))


def _link(path: str, name: str) -> Link:
    try:
        target = os.path.realpath(path, strict=True)
    except OSError as error:
        return Link(name, error="leads in a circle" if error.errno == errno.ELOOP else "is broken")
    return Link(name, target, os.path.isdir(target))
