"""Proposals for review: tables to delete, the savings, and the tables that stay, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Risk(StrEnum):
    """Effort of getting a deleted table back."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Rule(StrEnum):
    """Rule by which one of several equal tables stays, in the order in which rules apply."""

    GUARD = "guard"  # it must stay
    COST = "cost"  # keeping the preferred one would cost too much
    READS = "reads"  # it is read more often
    PREFER = "prefer"  # a person prefers it
    AGE = "age"  # it is older
    DEPTH = "depth"  # it lies in fewer folders
    NAME = "name"  # the other's name says scratch, backup, copy and the like
    ALPHABET = "alphabet"


@dataclass(frozen=True, slots=True)
class EqualKept:
    """An equal table that stays in place of a deleted one."""

    table: str
    rule: Rule
    because: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """One table that is proposed for deletion. Money and scans are for one month."""

    table: str
    parent: str  # the table that it is rebuilt from
    recipe: str  # projection, predicate or rows
    sql: str  # the recipe for people to read
    rows: int | None
    size_bytes: int
    storage_saved: float
    maintenance_saved: float
    scans_saved: float  # number of reads by maintenance that are no longer needed
    rebuild_cost: float  # of one rebuild
    rebuilds_expected: float
    rebuild_seconds: float
    measured: bool  # the seconds are those of a drill, not an estimate
    listing_cost: float  # of storing the list of rows, where the recipe needs one
    risk: Risk
    risk_because: str
    given: bool = False  # the recipe was given by a person
    equal_kept: EqualKept | None = None  # set if an equal table stays

    @property
    def saved(self) -> float:
        """Monthly savings, less expected rebuilds and the list of rows."""
        return (
            self.storage_saved + self.maintenance_saved - self.rebuild_cost * self.rebuilds_expected - self.listing_cost
        )

    @property
    def rows_not_scanned(self) -> float:
        """Rows that privacy requests need not read; 0 if unknown."""
        return (self.rows or 0) * self.scans_saved

    @property
    def bytes_not_scanned(self) -> float:
        """Bytes that privacy requests need not read."""
        return self.size_bytes * self.scans_saved


@dataclass(frozen=True, slots=True)
class Kept:
    """A table that is contained in another and still stays."""

    table: str
    because: str  # the first reasons
    reasons: tuple[str, ...] = ()  # all of them


@dataclass(frozen=True, slots=True)
class LogMatch:
    """How many lines of an access log name tables of the scan."""

    file: str
    lines: int  # without those of excluded readers
    matched: int
    not_scanned: int  # lines that name a part of the lake that was not scanned, or a deleted table
    unknown: tuple[str, ...]  # all other names, in the order of the log

    @property
    def share(self) -> float:
        """Share of lines that name tables; lines about parts of the lake that were not scanned do not count."""
        counted = self.lines - self.not_scanned
        return self.matched / counted if counted else 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan as people read it."""

    deletions: tuple[Deletion, ...]  # the most saving first
    kept: tuple[Kept, ...]
    lake_tables: int
    lake_bytes: int
    lake_cost: float  # of a month now
    currency: str
    prices: str  # their name, source and date
    storage_per_gib: float  # a month
    read_per_gib: float
    write_per_gib: float
    proven: bool  # optimal under these assumptions
    gap: float  # share of the remaining cost that a better choice might save
    given_up: float = 0.0  # extra monthly cost of keeping preferred tables in place of equal ones

    @property
    def size_bytes(self) -> int:
        """Bytes of all tables to delete."""
        return sum(line.size_bytes for line in self.deletions)

    @property
    def saved(self) -> float:
        """Total monthly savings."""
        return sum(line.saved for line in self.deletions)

    def total(self, name: str) -> float:
        """The sum of one figure over all deletions."""
        return float(sum(getattr(line, name) for line in self.deletions))


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Savings after a number of months, for a weekly number of privacy requests."""

    months: int
    maintenance_per_week: float
    tables: int
    saved: float
    currency: str


Curve = Sequence[CurvePoint]
