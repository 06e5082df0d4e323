"""Questions about tables on disk and recipes, and their answers: the words that safe deletion and its reader share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Placed:
    """A table at its current path. A reader reads exactly these files, whatever else is there (HAZARDS 7, 8)."""

    path: str  # absolute: its folder, or the file
    files: tuple[str, ...]  # those that hold rows, below path; ('',) if the table is one file
    # In quarantine a table's name is a hash without extension; the recipe knows the format.


@dataclass(frozen=True, slots=True)
class Content:
    """Counts and digest of a table's rows, whatever its files look like. Equal rows have an equal digest."""

    rows: int  # copies count
    distinct_rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of comparing every row by value."""

    differs: str  # one sentence, '' if rows, copies and schema are the same
    content: Content  # of the table that was compared


@dataclass(frozen=True, slots=True)
class Verify:
    """Ask whether the recipe rebuilds the child from its parents."""

    recipe: Mapping[str, object]
    parents: tuple[Placed, ...]
    child: Placed


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Ask for the recipe's output in the empty folder *into*, as one file if *one_file*."""

    recipe: Mapping[str, object]
    parents: tuple[Placed, ...]
    into: str
    one_file: bool


@dataclass(frozen=True, slots=True)
class Compare:
    """Ask whether two tables on disk are equal."""

    rebuilt: Placed
    child: Placed
