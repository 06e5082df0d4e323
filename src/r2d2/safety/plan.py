"""Plans: the tables to delete, a snapshot of each and of its parents, and the recipes to rebuild them.

A plan is data. It is bound to the files it was made from, carries its own SHA-256, and can be used once (HAZARDS 18).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from r2d2.model.rebuild import Content
from r2d2.model.versions import FileVersion
from r2d2.safety import codec
from r2d2.safety.errors import Refused
from r2d2.safety.paths import check_path, join
from r2d2.safety.posix_versions import is_posix_version

VERSION = 2
_HEX = re.compile(r"[0-9a-f]{64}", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)


# Files that writers and systems leave beside data. They hold no rows, so they may be deleted unread.
_BOOKKEEPING = ("_SUCCESS", "_metadata", "_common_metadata", "_started_*", "_committed_*", ".*.crc", ".DS_Store")


def is_bookkeeping(path: str) -> bool:
    """Whether a file's name marks it as bookkeeping of a writer or the system.

    >>> is_bookkeeping("day=1/_SUCCESS"), is_bookkeeping("_notes.txt")
    (True, False)
    """
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in _BOOKKEEPING)


@dataclass(frozen=True, slots=True)
class FileSeen:
    """One file of a table as it was when its rows were compared."""

    path: str  # below the table's location, with /; '' if the table is this one file
    size_bytes: int
    version: FileVersion
    sha256: str
    holds_rows: bool  # False: bookkeeping; of a parent also anything else that lies in its folder


@dataclass(frozen=True, slots=True)
class TableSeen:
    """A table as it was when its rows were compared: all its files, and nothing else lies in its folder."""

    name: str  # as the scan calls it
    location: str  # below the lake's root, with /
    is_folder: bool
    files: tuple[FileSeen, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of all its files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def rows(self) -> TableSeen:
        """The table without its bookkeeping: only the files that hold rows."""
        return replace(self, files=tuple(file for file in self.files if file.holds_rows))

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders below its location that hold its files, the deepest first."""
        return folders_of(file.path for file in self.files)


def folders_of(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders on the way to some files, the deepest first."""
    found: set[str] = set()
    for path in paths:
        parts = path.split("/")[:-1]
        found.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return tuple(sorted(found, key=lambda folder: (-folder.count("/"), folder)))


@dataclass(frozen=True, slots=True)
class Entry:
    """One table to delete, with its parents and the recipe that rebuilds it."""

    child: TableSeen
    parents: tuple[TableSeen, ...]  # one, for now
    recipe: Mapping[str, Any]  # data for the rebuilder; opaque here
    recipe_sha256: str
    expected: Content  # of the child
    column_mapping: Mapping[str, Any] | None = None  # room for columns that parents name differently; None: by name

    @property
    def parent_names(self) -> str:
        """The names of its parents, for people."""
        return ", ".join(parent.name for parent in self.parents)

    @property
    def parent_bytes(self) -> int:
        """Bytes of all its parents."""
        return sum(parent.size_bytes for parent in self.parents)


@dataclass(frozen=True, slots=True)
class Plan:
    """A list of deletions that a person approves and `apply` performs."""

    version: int
    plan_id: str
    created: str  # ISO 8601, for people
    lake_root: str  # absolute, links resolved
    lake_tables: int  # of the whole lake, to see whether the plan is suspiciously large
    lake_bytes: int
    entries: tuple[Entry, ...]
    sha256: str  # of all of the above

    @property
    def size_bytes(self) -> int:
        """Bytes of all tables to delete."""
        return sum(entry.child.size_bytes for entry in self.entries)


def recipe_digest(recipe: Mapping[str, Any]) -> str:
    """The digest that an entry carries of its recipe."""
    return codec.digest(dict(recipe))


def seal(plan: Plan) -> Plan:
    """The plan with its SHA-256 filled in."""
    return replace(plan, sha256=sha256_of(plan))


def sha256_of(plan: Plan) -> str:
    """SHA-256 of everything in a plan but its own SHA-256."""
    return codec.digest(codec.encode(replace(plan, sha256="")))


def write_plan(plan: Plan, path: str) -> None:
    """Write a sealed plan, for its owner only: recipes hold values. A file that exists is not replaced."""
    try:
        with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(plan_bytes(plan))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise Refused(
            f"cannot write the plan {path} ({error.strerror or error})", hint="give another name, or make room"
        ) from error


def plan_bytes(plan: Plan) -> bytes:
    """The plan as canonical JSON."""
    return codec.canonical(codec.encode(plan)) + b"\n"


def read_plan(path: str) -> Plan:
    """Read a plan from a file; refuse an edited, cut or foreign one."""
    try:
        with open(path, "rb") as file:
            return parse_plan(file.read())
    except OSError as error:
        raise Refused(
            f"cannot read the plan {path} ({error.strerror or error})", hint="`r2d2 plan --out FILE` writes one"
        ) from error


def parse_plan(content: bytes) -> Plan:
    """Parse a plan, with all checks that need no look at the lake."""
    try:
        value = codec.parse(content)
        refuse_other_version(value.get("version", VERSION) if type(value) is dict else VERSION)
        plan = codec.decode(Plan, value)
    except codec.Malformed as error:
        raise Refused(f"the plan cannot be used: {error}", hint="make a new plan") from error
    refuse_unsealed(plan)
    refuse_malformed(plan)
    return plan


def refuse_other_version(version: object) -> None:
    """Refuse a plan of another version: its words may mean something else (HAZARDS 18)."""
    if version != VERSION:
        raise Refused(
            f"the plan is of version {version}, and this version of R2D2 uses plans of version {VERSION}",
            hint="make a new plan",
        )


def refuse_unsealed(plan: Plan) -> None:
    """Refuse a plan with a wrong SHA-256: it was changed after it was made (HAZARDS 18)."""
    if plan.sha256 != sha256_of(plan):
        raise Refused("the plan was changed after it was made", hint="make a new plan; do not edit it")


def refuse_malformed(plan: Plan) -> None:
    """Refuse paths that leave the lake, malformed digests, tables without files, and swapped recipes."""
    if not plan.entries or not _ID.fullmatch(plan.plan_id):
        raise Refused("the plan has no entries or no proper id", hint="make a new plan")
    for entry in plan.entries:
        refuse_malformed_entry(entry)


def refuse_malformed_entry(entry: Entry) -> None:
    """Refuse one malformed entry, of a plan or of the journal."""
    for table in (entry.child, *entry.parents):
        _refuse_malformed_table(table)
    distinct = len({parent.location for parent in entry.parents})
    if not 0 < distinct == len(entry.parents) or entry.column_mapping is not None:
        raise Refused(f"{entry.child.name!r} has no parent, one twice, or renamed columns", hint="make a new plan")
    if entry.recipe_sha256 != recipe_digest(entry.recipe):
        raise Refused(f"the recipe of {entry.child.name!r} does not fit its digest", hint="make a new plan")
    if not 0 <= entry.expected.distinct_rows <= entry.expected.rows or not entry.expected.digest:
        raise Refused(f"the counts of {entry.child.name!r} are impossible", hint="make a new plan")


def _refuse_malformed_table(table: TableSeen) -> None:
    check_path(table.location)
    paths = [file.path for file in table.files]
    for path in paths:
        check_path(join(table.location, path))
    fits = paths == [""] if not table.is_folder else "" not in paths
    # No path may be both a file and a folder above one.
    fits = fits and len(set(paths)) == len(paths) > 0 and not set(paths) & set(table.folders)
    fits = fits and all(_HEX.fullmatch(file.sha256) and file.size_bytes >= 0 for file in table.files)
    fits = fits and all(is_posix_version(file.version) for file in table.files)
    if not fits or not any(file.holds_rows for file in table.files):
        raise Refused(f"the files of {table.name!r} cannot be those of a table", hint="make a new plan")
