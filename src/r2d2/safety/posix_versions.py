"""Make and compare the versions of files on POSIX file systems. No other module knows how their texts are spelled."""

from __future__ import annotations

import os
import re

from r2d2.model.versions import FileVersion

_IDENTITY = re.compile(r"posix:\d+:\d+", re.ASCII)
_STATE = re.compile(r"\d+:-?\d+:-?\d+", re.ASCII)


def version_of(found: os.stat_result) -> FileVersion:
    """Return the version of a file that was just looked at."""
    return posix_version(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def posix_version(device: int, inode: int, size_bytes: int, modified_ns: int, changed_ns: int) -> FileVersion:
    """Spell a version out. It is always settled: safety reads every byte, and relies on no clock between two looks.

    >>> posix_version(7, 12, 300, 5, 6)
    FileVersion(identity='posix:7:12', state='300:5:6', settled=True)
    """
    return FileVersion(f"posix:{device}:{inode}", f"{size_bytes}:{modified_ns}:{changed_ns}")


def is_posix_version(version: FileVersion) -> bool:
    """Tell whether a version that was read from disk is one that `posix_version` spells."""
    return bool(_IDENTITY.fullmatch(version.identity) and _STATE.fullmatch(version.state) and version.settled)


def same_object(one: str, other: str) -> bool:
    """Compare identities that were taken at different times: a device may get another number when it is mounted."""
    return one.rpartition(":")[2] == other.rpartition(":")[2]


def same_version(one: FileVersion, other: FileVersion) -> bool:
    """Tell whether nobody wrote to a file, or set its times or permissions, between two looks at it."""
    return same_object(one.identity, other.identity) and one[1:] == other[1:]


def modified_ns(version: FileVersion) -> int:
    """Return the time of the last write. Unlike the rest of the state, it survives a move and a careful copy."""
    return int(version.state.split(":")[1])
