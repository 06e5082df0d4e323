"""The interface to the file system. Every call that matters goes through it, so that tests can count and fail it.

Paths are relative to a root, with `/`; '' is the root. No call follows a link. `move` never replaces anything.
An implementation raises plain OSError (FileExistsError, FileNotFoundError, …).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from r2d2.model.versions import FileVersion
from r2d2.safety.errors import Refused

FILE, FOLDER, OTHER = "file", "folder", "other"


@dataclass(frozen=True, slots=True)
class Stat:
    """Kind, size and version of a path itself; links are not followed."""

    kind: str  # file, folder, or other: links, pipes, devices
    size_bytes: int
    version: FileVersion
    written_ns: int  # the later of mtime and ctime; a writer cannot set ctime back
    file_system: str  # a rename is atomic within it
    links: int


class Files(Protocol):
    """The files below one root."""

    @property
    def root(self) -> str:
        """The absolute path of the root, for readers that open tables by path."""

    def stat(self, path: str) -> Stat | None:
        """The path's Stat; None if nothing is there."""

    def names(self, path: str) -> list[str]:
        """The entries of a folder, sorted."""

    def chunks(self, path: str) -> Iterator[bytes]:
        """The content of a regular file, piece by piece."""

    def create(self, path: str, content: Iterable[bytes]) -> None:
        """Write a file that must not exist yet."""

    def append(self, path: str, content: bytes) -> None:
        """Write all of *content* at the end of a file that exists."""

    def truncate(self, path: str, size_bytes: int) -> None:
        """Cut a file off."""

    def sync(self, path: str) -> None:
        """Make a file's content, or a folder's entries, survive a loss of power."""

    def make_folder(self, path: str) -> None:
        """Make one folder that must not exist yet."""

    def open_as(self, path: str, like: Sequence[str]) -> None:
        """Give group and others the access that they have to all of *like*; the owner's access stays."""

    def move(self, source: str, target: str) -> None:
        """Rename a file or folder, atomically refusing a target that exists."""

    def unlink(self, path: str) -> None:
        """Remove one file, or a link itself."""

    def remove_folder(self, path: str) -> None:
        """Remove one empty folder."""

    def lock(self, path: str, note: str) -> AbstractContextManager[None]:
        """Hold the lock file *path*; raises Busy, with the holder's note, if another does."""

    def lock_holder(self, path: str) -> str | None:
        """The note of the process that holds the lock; None if it is free."""

    def lies_above(self, name: str) -> str | None:
        """The nearest folder above the root that has an entry of this name, or None."""


def refuse_remote(address: str) -> None:
    """Refuse object stores and HDFS: their rename is a copy, or their locks differ from POSIX (HAZARDS 23)."""
    scheme, separator, _ = address.partition("://")
    if separator:
        raise Refused(
            f"deleting and restoring on {scheme}:// is not supported yet: {address}",
            hint="safe deletion works on POSIX file systems; give the lake's folder as a plain path",
        )
