"""What is proposed to go, what that saves, and what was left alone and why: what a person reviews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Risk(StrEnum):
    """How much stands between a person and their table, once it is gone."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Deletion:
    """One table that is proposed to go. Money and scans are for one month."""

    table: str
    parent: str  # that it is rebuilt from
    recipe: str  # projection, predicate or rows
    sql: str  # the recipe for people to read
    rows: int
    size_bytes: int
    storage_saved: float
    maintenance_saved: float
    scans_saved: float  # how often maintenance would have read the table
    rebuild_cost: float  # of one rebuild
    rebuilds_expected: float
    rebuild_seconds: float
    measured: bool  # the seconds are those of a drill, not an estimate
    listing_cost: float  # of storing the list of rows, where the recipe needs one
    risk: Risk
    risk_because: str

    @property
    def saved(self) -> float:
        """What is left in a month when expected rebuilds are paid."""
        return (
            self.storage_saved + self.maintenance_saved - self.rebuild_cost * self.rebuilds_expected - self.listing_cost
        )

    @property
    def rows_not_scanned(self) -> float:
        """Rows that privacy requests need not read."""
        return self.rows * self.scans_saved

    @property
    def bytes_not_scanned(self) -> float:
        """Bytes that privacy requests need not read."""
        return self.size_bytes * self.scans_saved


@dataclass(frozen=True, slots=True)
class Kept:
    """A table that is contained in another and stays all the same."""

    table: str
    because: str


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
    proven: bool  # nothing cheaper exists, under these assumptions
    gap: float  # by which share of the remaining cost something cheaper might exist

    @property
    def size_bytes(self) -> int:
        """Bytes of all that goes."""
        return sum(line.size_bytes for line in self.deletions)

    @property
    def saved(self) -> float:
        """What is saved in a month."""
        return sum(line.saved for line in self.deletions)

    def total(self, name: str) -> float:
        """The sum of one figure over all deletions."""
        return float(sum(getattr(line, name) for line in self.deletions))


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Savings after so many months, when privacy requests read every table so often in a week."""

    months: int
    maintenance_per_week: float
    tables: int
    saved: float
    currency: str


Curve = Sequence[CurvePoint]
