"""Make and compare versions of files on POSIX file systems. Only this module knows how they are spelled."""

from __future__ import annotations

import os
import re

from r2d2.model.versions import FileVersion

_IDENTITY = re.compile(r"posix:\d+:\d+", re.ASCII)
_STATE = re.compile(r"\d+:-?\d+:-?\d+", re.ASCII)


def version_of(found: os.stat_result) -> FileVersion:
    """Return the version of a file from its stat result."""
    return posix_version(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def posix_version(device: int, inode: int, size_bytes: int, modified_ns: int, changed_ns: int) -> FileVersion:
    """Spell a version. It is always settled: safety hashes every byte, and relies on no clock between two snapshots.

    >>> posix_version(7, 12, 300, 5, 6)
    FileVersion(identity='posix:7:12', state='300:5:6', settled=True)
    """
    return FileVersion(f"posix:{device}:{inode}", f"{size_bytes}:{modified_ns}:{changed_ns}")


def is_posix_version(version: FileVersion) -> bool:
    """Tell whether a version has the spelling of `posix_version`."""
    return bool(_IDENTITY.fullmatch(version.identity) and _STATE.fullmatch(version.state) and version.settled)


def same_object(one: str, other: str) -> bool:
    """Compare identities that were taken at different times: a device may get another number when it is mounted."""
    return one.rpartition(":")[2] == other.rpartition(":")[2]


def same_version(one: FileVersion, other: FileVersion) -> bool:
    """Tell whether a file's content, times and permissions stayed the same between two snapshots."""
    return same_object(one.identity, other.identity) and one[1:] == other[1:]


def modified_ns(version: FileVersion) -> int:
    """Return the time of the last write. Unlike the rest of the state, it survives a move and a careful copy."""
    return int(version.state.split(":")[1])
