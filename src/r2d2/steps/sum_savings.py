"""Sum up what deletions have saved so far, by what became of each table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from r2d2.model.prices import DAYS_PER_MONTH, Prices

if TYPE_CHECKING:
    from r2d2.safety.status import TableStatus

MONTH_SECONDS = DAYS_PER_MONTH * 86_400
WEEK_SECONDS = 7 * 86_400


@dataclass(frozen=True, slots=True)
class Saved:
    """Money saved, and reads that privacy requests were spared."""

    currency: str
    storage: float  # of what was purged, since then; in quarantine a table takes as much space as before
    maintenance: float  # of all that is deleted, since then: privacy requests do not read it
    rebuilds: float  # what drills and restores by recipe have cost
    rows_not_scanned: int
    bytes_not_scanned: int

    @property
    def total(self) -> float:
        """Savings less the cost of rebuilds."""
        return self.storage + self.maintenance - self.rebuilds


def sum_savings(tables: Sequence[TableStatus], *, prices: Prices, maintenance_per_week: float, now: float) -> Saved:
    """Sum up over all tables that were ever deleted; those that are back count until then."""
    storage = maintenance = rebuilds = scanned_rows = scanned_bytes = 0.0
    for table in tables:
        if table.committed_at is None:
            continue
        until = now if table.restored_at is None else table.restored_at
        scans = maintenance_per_week * max(0.0, until - table.committed_at) / WEEK_SECONDS
        purged_seconds = 0.0 if table.purged_at is None else max(0.0, until - table.purged_at)
        storage += table.size_bytes * prices.storage_per_byte_month * purged_seconds / MONTH_SECONDS
        maintenance += table.size_bytes * prices.scan_per_byte * scans
        scanned_rows += table.rows * scans
        scanned_bytes += table.size_bytes * scans
        one = prices.read_per_byte * table.parent_bytes + prices.write_per_byte * table.size_bytes
        rebuilds += table.rebuilds * one
    return Saved(prices.currency, storage, maintenance, rebuilds, round(scanned_rows), round(scanned_bytes))
