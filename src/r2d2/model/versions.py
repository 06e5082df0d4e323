"""Versions of files, which tell whether a file has changed, for any kind of store."""

from __future__ import annotations

from typing import NamedTuple


class FileVersion(NamedTuple):
    """Identity and state of one stored object; only its store knows how to read the texts.

    Two are equal as long as nobody writes to the object, even if it is renamed; `settled` does not count.
    """

    identity: str
    """Names the physical object: ``posix:device:inode``, an object's key, …"""
    state: str
    """Changes whenever the content may have changed: size and times, an ETag, a table's version."""
    settled: bool = True
    """False where the file may have changed again within the grain of the store's clock."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileVersion) and self[:2] == other[:2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])
