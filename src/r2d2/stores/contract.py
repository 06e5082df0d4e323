"""The contract that each kind of store fills: a local file system today, object stores next.

A store works on the driver and on workers: it can be pickled, and neither its text nor its errors show a secret.
Methods raise OSError with a reason for people. tests/contracts/test_store.py holds every store to this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from r2d2.model.versions import FileVersion

if TYPE_CHECKING:
    import pyarrow as pa

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"  # kinds of entries


class Stored(NamedTuple):
    """Facts about one stored file."""

    size_bytes: int
    modified_ns: int  # as its writers say
    version: FileVersion


class Entry(NamedTuple):
    """One name in a folder."""

    name: str
    kind: str
    stored: Stored | None = None  # of a file, where listing tells it at no cost; else ask `stat`


class Store(Protocol):
    """Lists, opens and tells apart the files of one kind of storage."""

    @property
    def is_local(self) -> bool:
        """Whether its paths are files of this machine, which any library can open."""

    def list(self, folder: str) -> Sequence[Entry]:
        """Entries of a folder, by name."""

    def stat(self, path: str) -> Stored:
        """Size, time and version of a file."""

    def version(self, path: str) -> FileVersion | None:
        """The version of a file as it is now; None if it is gone or cannot be asked for."""

    def open(self, path: str) -> pa.NativeFile:
        """Open a file for reading at any place."""

    def ranges(self, path: str, wanted: Iterable[tuple[int, int]]) -> Sequence[bytes]:
        """Bytes of a file by (start, length): fewer where it ends, from behind where the start is negative."""
