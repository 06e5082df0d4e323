"""A table as it lies in the lake: which files, where, in which version."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class Stamp(NamedTuple):
    """What the file system says of a physical file."""

    device: int
    inode: int
    size_bytes: int
    changed_ns: int
    modified_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> Stamp:
        """That of a file as it is now."""
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime_ns, stat.st_mtime_ns)

    def written_ns(self, listed_ns: int) -> int:
        """When it was written to last. A time after that of the listing says nothing; then the system's stamp does."""
        return self.modified_ns if self.modified_ns <= listed_ns or not self.changed_ns else self.changed_ns


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a table. `partition` holds what the folder names say, as written there."""

    path: str  # absolute
    size_bytes: int
    modified_ns: int
    identity: tuple[int, int]  # device and inode: one physical file, whatever its name
    partition: tuple[tuple[str, str | None], ...] = ()  # (column, raw value); None is Hive's null
    row_groups: tuple[tuple[int, int], ...] = ()  # rows and bytes of each, once its metadata was read
    changed_ns: int = 0  # the system's own stamp of the last change of anything about it: no writer can set it

    @property
    def rows(self) -> int:
        """Rows of the file, once its metadata was read."""
        return sum(rows for rows, _ in self.row_groups)

    @property
    def stamp(self) -> Stamp:
        """The same as long as nobody writes to this physical file, wherever it is."""
        return Stamp(*self.identity, self.size_bytes, self.changed_ns, self.modified_ns)


FileState = tuple[str, Stamp, tuple[tuple[str, str | None], ...]]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name is its path below the lake root, with `/`."""

    name: str
    source: str  # which kind of source reads it: "parquet", …
    location: str  # absolute path of its folder or file
    files: tuple[DataFile, ...]
    aliases: tuple[str, ...] = ()  # other names of the same physical table
    unexplained: tuple[str, ...] = ()  # files in its folder that are no part of it: never deletable

    @property
    def size_bytes(self) -> int:
        """Bytes of all its files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def states(self) -> frozenset[FileState]:
        """What tells one state of each of its files from another."""
        return frozenset((file.path, file.stamp, file.partition) for file in self.files)

    @property
    def version(self) -> str:
        """A fingerprint of the files, their sizes and times, that outlives a backup or a move and back."""
        lines = sorted(f"{file.path}\0{file.size_bytes}\0{file.modified_ns}" for file in self.files)
        return hashlib.sha256("\n".join([self.location, *lines]).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the lake that was not taken for a table, or a table that cannot be used, and why."""

    where: str  # table name, or path below the root
    because: str
    hint: str = ""
    kind: str = "unreadable"  # unreadable | unsupported | notice

    @property
    def needs_a_look(self) -> bool:
        """Whether the run should end with exit code 1: something was left out that may matter."""
        return self.kind == "unreadable"


@dataclass(frozen=True, slots=True)
class Absent:
    """What became of a table that was deleted on purpose: it is to be rebuilt."""

    parent: str  # the table that it is rebuilt from
    wrong: str = ""  # what stands in the way of that now

    @property
    def says(self) -> str:
        """In words."""
        return f"deleted, in danger: {self.wrong}" if self.wrong else f"deleted, can be rebuilt from {self.parent}"


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found under the roots."""

    roots: tuple[str, ...]
    tables: tuple[Table, ...]
    problems: tuple[Problem, ...] = ()
    overlaps: frozenset[tuple[str, str]] = field(default_factory=frozenset)  # pairs that share files or nest

    def without(self, names: Iterable[str], problems: Iterable[Problem]) -> Discovery:
        """The same less some tables, with the problems that took them out."""
        gone = set(names)
        kept = tuple(table for table in self.tables if table.name not in gone)
        return Discovery(self.roots, kept, (*self.problems, *problems), self.overlaps)
