"""Profiles of files, and how those of many files become one.

Merging is associative: a task merges the files it read, the driver merges what the tasks send.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from r2d2.errors import TableError
from r2d2.model.profile import ColumnStats
from r2d2.model.schema import Token, kind_of, spell
from r2d2.model.values import from_text, to_text


@dataclass(frozen=True, slots=True)
class FileRows:
    """How many rows and bytes each row group of one file has."""

    path: str
    row_groups: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> int:
        """Rows of the whole file."""
        return sum(rows for rows, _ in self.row_groups)


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
    """What the metadata of some files of one table says, taken together."""

    files: tuple[FileRows, ...]
    columns: Mapping[Token, ColumnProfile]
    apart: tuple[Island, ...] = ()  # if the files do not all hang together

    @property
    def islands(self) -> tuple[Island, ...]:
        """The columns by whose files hang together: one island as a rule, none where there are no columns."""
        if self.apart or not self.columns:
            return self.apart
        return (frozenset(self.columns),)

    @property
    def rows(self) -> int:
        """Rows of all the files."""
        return sum(file.rows for file in self.files)


def merge_files(profiles: Iterable[FilesProfile]) -> FilesProfile:
    """One profile of all the files; TableError where a column of theirs cannot be one (HAZARDS 9).

    Whether they hang together shows when all are there: see `require_one_table`.
    """
    return reduce(_merge, profiles)


def require_one_table(profile: FilesProfile) -> FilesProfile:
    """The profile of all files of a table; TableError where some have nothing to do with the others."""
    if len(profile.islands) > 1:
        first, second, *_ = sorted(min(profile.columns[token].seen_in for token in i) for i in profile.islands)
        raise TableError(
            f"its files {first} and {second} have no column in common",
            hint="these look like several tables in one folder: move each into its own",
        )
    return profile


def _merge(one: FilesProfile, other: FilesProfile) -> FilesProfile:
    tokens = [*one.columns, *(token for token in other.columns if token not in one.columns)]
    columns = {token: _merge_column(token, one, other) for token in tokens}
    return FilesProfile((*one.files, *other.files), columns, _apart(one, other))


def _apart(one: FilesProfile, other: FilesProfile) -> tuple[Island, ...]:
    """The islands of both, if they do not become one."""
    if not one.apart and not other.apart and not one.columns.keys().isdisjoint(other.columns):
        return ()
    islands: list[Island] = []
    for island in (*one.islands, *other.islands):
        touching = [known for known in islands if not known.isdisjoint(island)]
        islands = [*(known for known in islands if known.isdisjoint(island)), island.union(*touching)]
    return tuple(sorted(islands, key=min)) if len(islands) > 1 else ()


def _merge_column(token: Token, one: FilesProfile, other: FilesProfile) -> ColumnProfile:
    """A column that some files lack is NULL in their rows."""
    a, b = one.columns.get(token), other.columns.get(token)
    if a is None or b is None:
        there, absent = (a, other) if a else (b, one)
        assert there is not None
        nulls = None if there.stats.nulls is None else there.stats.nulls + absent.rows
        return ColumnProfile(there.type_name, there.seen_in, there.stats._replace(nulls=nulls))
    type_name = _common_type(token, a, b)
    stats = _merge_stats(a.stats, one.rows, b.stats, other.rows)
    return ColumnProfile(type_name, min(c.seen_in for c in (a, b) if c.type_name == type_name), stats)


def _common_type(token: Token, a: ColumnProfile, b: ColumnProfile) -> str:
    """The type of a column whose files spell it differently; an all-NULL file fits any."""
    if a.type_name == b.type_name or b.type_name == "null":
        return a.type_name
    if a.type_name == "null":
        return b.type_name
    if kind_of(a.type_name) != kind_of(b.type_name):
        raise TableError(
            f"column {spell(token)} is {a.type_name} in {a.seen_in} and {b.type_name} in {b.seen_in}",
            hint="files of one table need types of one kind; if these are several tables, give each its own folder",
        )
    return max(a.type_name, b.type_name, key=_width)


def _width(type_name: str) -> tuple[int, tuple[int, ...], str]:
    """Orders the types of one kind so that the wider names a column that has both.

    >>> sorted(["float32", "uint8", "int64", "decimal(20,5)", "int8", "decimal(9,2)"], key=_width)
    ['int8', 'uint8', 'int64', 'decimal(9,2)', 'decimal(20,5)', 'float32']
    """
    ranks = {"int": 0, "uint": 0, "decimal": 1, "float": 2}
    word = type_name.rstrip("0123456789").partition("(")[0]
    if word not in ranks:
        return 0, (), type_name
    sizes = tuple(int(number) for number in type_name.removeprefix(word).strip("()").split(","))
    return ranks[word], (sizes[0] - 1,) if word == "int" else sizes, type_name  # one bit of an int is its sign


def _merge_stats(a: ColumnStats, a_rows: int, b: ColumnStats, b_rows: int) -> ColumnStats:
    """Bounds over both; a side without values changes nothing, a side with unknown ones makes them unknown."""
    nulls = None if a.nulls is None or b.nulls is None else a.nulls + b.nulls
    if a.nulls == a_rows:
        return b._replace(nulls=nulls)
    if b.nulls == b_rows:
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
    files = [[file.path, file.row_groups] for file in profile.files]
    columns = [
        [token, c.type_name, c.seen_in, c.stats.nulls, to_text(c.stats.low), to_text(c.stats.high), *c.stats[3:]]
        for token, c in profile.columns.items()
    ]
    apart = [sorted(island) for island in profile.apart]
    return json.dumps([files, columns, apart])


def from_json(text: str) -> FilesProfile:
    """The profile that `to_json` wrote."""
    files, columns, apart = json.loads(text)
    return FilesProfile(
        tuple(FileRows(path, tuple((rows, size) for rows, size in groups)) for path, groups in files),
        {
            tuple(token): ColumnProfile(
                type_name, seen_in, ColumnStats(nulls, from_text(low), from_text(high), low_exact, high_exact)
            )
            for token, type_name, seen_in, nulls, low, high, low_exact, high_exact in columns
        },
        tuple(frozenset(map(tuple, island)) for island in apart),
    )
