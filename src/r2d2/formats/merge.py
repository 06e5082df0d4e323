"""Profiles of files, and how those of many files become one.

Merging is associative: a task merges the files it read, the driver merges what the tasks send.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from r2d2.errors import TableError
from r2d2.model.profile import ColumnStats
from r2d2.model.schema import Token, spell
from r2d2.model.table import all_rows
from r2d2.model.types import kind_of, parse_type
from r2d2.model.values import from_text, to_text


@dataclass(frozen=True, slots=True)
class FileRows:
    """Rows (None: unknown) and bytes of each part of one file that its format reads as one, such as a row group."""

    path: str
    parts: tuple[tuple[int | None, int], ...]

    @property
    def rows(self) -> int | None:
        """Rows of the whole file; None: unknown."""
        return all_rows(self.parts)


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column over some files: its type, the first file by name that has it so, and its statistics."""

    type_name: str
    seen_in: str
    stats: ColumnStats


Island = frozenset[Token]
"""The columns of files that hang together: each has a column in common with another."""


@dataclass(frozen=True, slots=True)
class FilesProfile:
    """The metadata of some files of one table, taken together."""

    files: tuple[FileRows, ...]
    columns: Mapping[Token, ColumnProfile]
    apart: tuple[Island, ...] = ()  # if the files do not all hang together
    shared: frozenset[Token] | None = None  # the columns that all files have, if that is not all columns

    @property
    def islands(self) -> tuple[Island, ...]:
        """The columns by whose files hang together: one island as a rule, none where there are no columns."""
        if self.apart or not self.columns:
            return self.apart
        return (frozenset(self.columns),)

    @property
    def core(self) -> frozenset[Token]:
        """The columns that every file has; files without any column aside."""
        return frozenset(self.columns) if self.shared is None else self.shared

    @property
    def rows(self) -> int | None:
        """Rows of all the files; None: unknown."""
        return all_rows(part for file in self.files for part in file.parts)


class Misfit(TableError):
    """Files that cannot be one table, as their schemas do not fit one another."""


def merge_files(profiles: Iterable[FilesProfile]) -> FilesProfile:
    """One profile of all the files, in time linear in their columns; Misfit where a column of theirs cannot be one.

    Whether they hang together shows when all are there: see `require_one_table` (HAZARDS 9).
    """
    several = list(profiles)
    merged: dict[Token, _Column] = {}
    rows: int | None = 0
    for profile in several:
        profile_rows = profile.rows
        rows = _sum(rows, profile_rows)
        for token, column in profile.columns.items():
            known = merged.get(token)
            found = _Column(column, profile_rows, 1)
            merged[token] = found if known is None else _merge_column(token, known, found)
    columns = {token: column.over(rows, len(several)) for token, column in merged.items()}
    files = tuple(file for profile in several for file in profile.files)
    return FilesProfile(files, columns, _apart(several), _shared(several, columns))


def require_one_table(profile: FilesProfile, *, by_names: bool = False) -> FilesProfile:
    """The profile of all files of a table; Misfit where some have nothing to do with the others.

    *by_names*: nothing but the files' names says that they are one table. They then need a column that all have.
    """
    if len(profile.islands) > 1:
        first, second, *_ = sorted(min(profile.columns[token].seen_in for token in i) for i in profile.islands)
        raise Misfit(f"its files {first} and {second} have no column in common", hint=_SEVERAL)
    if by_names and profile.columns and not profile.core:
        raise Misfit("its files have no column that all of them have", hint=_SEVERAL)
    return profile


_SEVERAL = "if these are several tables in one folder, --split FOLDER makes each file a table of its own"


class _Column(NamedTuple):
    """A column over the files that have it, the rows of these files (None: unknown), and how many files they are."""

    profile: ColumnProfile
    rows: int | None
    files: int

    def over(self, rows: int | None, files: int) -> ColumnProfile:
        """The column over more *files*, of *rows* rows in all. One that a file lacks is NULL in its rows."""
        nulls = self.profile.stats.nulls
        if nulls is None or files == self.files:
            return self.profile
        added = None if rows is None or self.rows is None else rows - self.rows
        stats = self.profile.stats._replace(nulls=_sum(nulls, added))
        return ColumnProfile(self.profile.type_name, self.profile.seen_in, stats)


def _merge_column(token: Token, one: _Column, other: _Column) -> _Column:
    a, b = one.profile, other.profile
    type_name = _common_type(token, a, b)
    stats = _merge_stats(a.stats, one.rows, b.stats, other.rows)
    seen_in = min(c.seen_in for c in (a, b) if c.type_name == type_name)
    return _Column(ColumnProfile(type_name, seen_in, stats), _sum(one.rows, other.rows), one.files + other.files)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _apart(profiles: Iterable[FilesProfile]) -> tuple[Island, ...]:
    """The islands of all files, unless they are one. Each column points at another of its island, or at itself."""
    to: dict[Token, Token] = {}

    def first_of(token: Token) -> Token:
        while to[token] != token:
            to[token] = token = to[to[token]]
        return token

    for profile in profiles:
        for island in profile.apart or (profile.columns,):
            first = next(iter(island), None)
            for token in island:
                to.setdefault(token, token)
                assert first is not None
                to[first_of(token)] = first_of(first)
    islands: defaultdict[Token, set[Token]] = defaultdict(set)
    for token in to:
        islands[first_of(token)].add(token)
    return tuple(sorted(map(frozenset, islands.values()), key=min)) if len(islands) > 1 else ()


def _shared(profiles: Iterable[FilesProfile], columns: Collection[Token]) -> frozenset[Token] | None:
    """The columns that all files have, if that is not all of them."""
    cores = [profile.core for profile in profiles if profile.columns]
    shared = frozenset.intersection(*cores) if cores else frozenset()
    return None if len(shared) == len(columns) else shared


def _common_type(token: Token, a: ColumnProfile, b: ColumnProfile) -> str:
    """The type of a column whose files spell it differently; an all-NULL file fits any."""
    if a.type_name == b.type_name or b.type_name == "null":
        return a.type_name
    if a.type_name == "null":
        return b.type_name
    if kind_of(a.type_name) != kind_of(b.type_name):
        raise Misfit(
            f"column {spell(token)} is {a.type_name} in {a.seen_in} and {b.type_name} in {b.seen_in}", hint=_SEVERAL
        )
    return max(a.type_name, b.type_name, key=_width)


def _width(type_name: str) -> tuple[int, tuple[int, ...], str]:
    """Orders the types of one kind so that the wider names a column that has both.

    >>> sorted(["float32", "uint8", "int64", "decimal(20,5)", "int8", "decimal(9,2)"], key=_width)
    ['int8', 'uint8', 'int64', 'decimal(9,2)', 'decimal(20,5)', 'float32']
    """
    kind = parse_type(type_name)
    match kind.family:
        case "int":
            return 0, (kind.bits - 1,), type_name  # one bit is its sign
        case "uint":
            return 0, (kind.bits,), type_name
        case "decimal":
            return 1, (kind.precision, kind.scale), type_name
        case "float":
            return 2, (kind.bits,), type_name
    return 0, (), type_name


def _merge_stats(a: ColumnStats, a_rows: int | None, b: ColumnStats, b_rows: int | None) -> ColumnStats:
    """Bounds over both; a side without values changes nothing, a side with unknown ones makes them unknown."""
    nulls = _sum(a.nulls, b.nulls)
    if a.nulls is not None and a.nulls == a_rows:
        return b._replace(nulls=nulls)
    if b.nulls is not None and b.nulls == b_rows:
        return a._replace(nulls=nulls)
    low, low_exact = None, False
    if a.low is not None and b.low is not None:
        low, low_exact = min((a.low, not a.low_exact), (b.low, not b.low_exact))  # on a tie the exact one
        low_exact = not low_exact
    high, high_exact = None, False
    if a.high is not None and b.high is not None:
        high, high_exact = max((a.high, a.high_exact), (b.high, b.high_exact))
    return ColumnStats(nulls, low, high, low_exact, high_exact)


def to_json(profile: FilesProfile) -> str:
    """The profile as it travels from a worker to the driver."""
    files = [[file.path, file.parts] for file in profile.files]
    columns = [
        [token, c.type_name, c.seen_in, c.stats.nulls, to_text(c.stats.low), to_text(c.stats.high), *c.stats[3:]]
        for token, c in profile.columns.items()
    ]
    apart = [sorted(island) for island in profile.apart]
    shared = None if profile.shared is None else sorted(profile.shared)
    return json.dumps([files, columns, apart, shared])


def from_json(text: str) -> FilesProfile:
    """The profile that `to_json` wrote."""
    files, columns, apart, shared = json.loads(text)
    return FilesProfile(
        tuple(FileRows(path, tuple((rows, size) for rows, size in groups)) for path, groups in files),
        {
            tuple(token): ColumnProfile(
                type_name, seen_in, ColumnStats(nulls, from_text(low), from_text(high), low_exact, high_exact)
            )
            for token, type_name, seen_in, nulls, low, high, low_exact, high_exact in columns
        },
        tuple(frozenset(map(tuple, island)) for island in apart),
        None if shared is None else frozenset(map(tuple, shared)),
    )
