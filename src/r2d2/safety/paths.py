"""Paths of the safety folder, and the check of paths in plans and journals (HAZARDS 31)."""

from __future__ import annotations

import hashlib
import os
import re

from r2d2.safety.errors import Refused

SAFETY = ".r2d2-safety"  # in the lake's root, so that a move to it stays on one file system
JOURNAL = f"{SAFETY}/journal.jsonl"
LOCK = f"{SAFETY}/lock"
QUARANTINE = f"{SAFETY}/quarantine"
WORK = f"{SAFETY}/work"  # tables while they are rebuilt; all of it is derived, so it may be removed at any time

_LONGEST_PATH = 4000
_LONGEST_NAME = 255
_SLOT = re.compile(r"[0-9a-f]{64}", re.ASCII)


def check_path(path: str) -> str:
    """Return *path* if it stays strictly below the root; refuse it otherwise.

    >>> check_path("sales/2024")
    'sales/2024'
    """
    because = why_unsafe(path)
    if because:
        raise Refused(f"the path {path!r} {because}", hint="make a new plan")
    return path


def why_unsafe(path: str) -> str:
    """The reason that a path may not stand in a plan or a journal; '' if it may.

    >>> [why_unsafe(path) for path in ("a/b", "../b", "/etc")]
    ['', "has a part '..'", 'is absolute']
    """
    if not path or "\0" in path:
        return "is empty or holds a NUL"
    if path.startswith("/"):
        return "is absolute"
    parts = path.split("/")
    for part in parts:
        if part in ("", ".", ".."):
            return f"has a part {part!r}"
    if parts[0].casefold() == SAFETY:
        return "leads into the safety folder"
    return _why_not_encodable(path, parts)


def _why_not_encodable(path: str, parts: list[str]) -> str:
    try:
        long = len(os.fsencode(path)) > _LONGEST_PATH or any(len(os.fsencode(part)) > _LONGEST_NAME for part in parts)
    except UnicodeEncodeError:
        return "cannot be a file name"
    return "is too long" if long else ""


def overlaps(one: str, other: str) -> bool:
    """Whether two paths are the same or one lies below the other.

    >>> overlaps("a", "a/b"), overlaps("a", "ab")
    (True, False)
    """
    return one == other or one.startswith(other + "/") or other.startswith(one + "/")


def slot_of(plan_id: str, location: str) -> str:
    """The name of a table in quarantine: a hash, so that table names never become file names there."""
    text = f"{plan_id}\0{location}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()


def is_slot(name: str) -> bool:
    """Whether *name* could be one that `slot_of` made."""
    return _SLOT.fullmatch(name) is not None


def folder_of(path: str) -> str:
    """The folder that holds *path*; '' is the root."""
    return path.rpartition("/")[0]


def join(folder: str, below: str) -> str:
    """*below* in *folder*; either may be ''."""
    return f"{folder}/{below}" if folder and below else folder or below
