"""A table as it lies in the lake: its files, their places and versions."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from r2d2.model.profile import TableProfile
from r2d2.model.versions import FileVersion


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a table. `partition` holds the values of its folder names, as written there."""

    path: str  # absolute
    size_bytes: int
    modified_ns: int  # mtime, which writers can set
    version: FileVersion
    partition: tuple[tuple[str, str | None], ...] = ()  # (column, raw value); None is Hive's null
    parts: tuple[tuple[int | None, int], ...] = ()  # rows and bytes of its units of reading, once it was profiled

    @property
    def rows(self) -> int | None:
        """Rows of the file, once it was profiled; None: not known before it is read."""
        return all_rows(self.parts)


def all_rows(parts: Iterable[tuple[int | None, int]]) -> int | None:
    """Rows of all parts, each with its rows and bytes; None if those of one are unknown.

    >>> all_rows([(2, 10), (3, 10)]), all_rows([(2, 10), (None, 10)])
    (5, None)
    """
    total = 0
    for rows, _ in parts:
        if rows is None:
            return None
        total += rows
    return total


FileState = tuple[str, FileVersion, tuple[tuple[str, str | None], ...]]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its name is its path below the lake root, with `/`."""

    name: str
    format: str  # the name of the format that reads it: see r2d2.formats
    location: str  # absolute path of its folder or file
    files: tuple[DataFile, ...]
    aliases: tuple[str, ...] = ()  # other names of the same physical table
    unexplained: tuple[str, ...] = ()  # foreign files in its folder: the table may then not be deleted
    by_names: bool = field(default=False, compare=False)  # only file names suggest which files are one table

    @property
    def is_file(self) -> bool:
        """Whether the table is one file rather than a folder."""
        return len(self.files) == 1 and self.files[0].path == self.location

    @property
    def size_bytes(self) -> int:
        """Bytes of all its files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def states(self) -> frozenset[FileState]:
        """Path, version and partition of each file: equal as long as nothing changed."""
        return frozenset((file.path, file.version, file.partition) for file in self.files)

    @property
    def version(self) -> str:
        """Fingerprint of the files' paths, sizes and mtimes; it survives a backup, or a move and back."""
        lines = sorted(f"{file.path}\0{file.size_bytes}\0{file.modified_ns}" for file in self.files)
        return hashlib.sha256("\n".join([self.location, *lines]).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class Problem:
    """Files that are not a table, or a table that cannot be used, with the reason."""

    where: str  # table name, or path below the root
    because: str
    hint: str = ""
    kind: str = "unreadable"  # unreadable | unsupported | notice

    @property
    def needs_a_look(self) -> bool:
        """Whether the run should end with exit code 1: data that may matter was left out."""
        return self.kind == "unreadable"


@dataclass(frozen=True, slots=True)
class Profiled:
    """Tables whose metadata could be read, with their profiles, and the problems of the others."""

    tables: Sequence[Table]
    profiles: Sequence[TableProfile]
    problems: Sequence[Problem]
    apart: Collection[str] = ()  # folders, by path, whose files are named like parts but do not fit together


@dataclass(frozen=True, slots=True)
class Absent:
    """State of a table that was deleted on purpose and can be rebuilt."""

    parent: str  # the table that it is rebuilt from
    wrong: str = ""  # the reason that it cannot be rebuilt now

    @property
    def says(self) -> str:
        """The state in words."""
        return f"deleted, in danger: {self.wrong}" if self.wrong else f"deleted, can be rebuilt from {self.parent}"


@dataclass(frozen=True, slots=True)
class Discovery:
    """Tables, problems and overlaps found under the roots."""

    roots: tuple[str, ...]
    tables: tuple[Table, ...]
    problems: tuple[Problem, ...] = ()
    overlaps: frozenset[tuple[str, str]] = field(default_factory=frozenset)  # pairs that share files or nest

    def without(self, names: Iterable[str], problems: Iterable[Problem]) -> Discovery:
        """The discovery without some tables, plus the problems that ruled them out."""
        gone = set(names)
        kept = tuple(table for table in self.tables if table.name not in gone)
        return Discovery(self.roots, kept, (*self.problems, *problems), self.overlaps)
