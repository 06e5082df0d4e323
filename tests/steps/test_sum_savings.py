"""What was saved so far follows from when each table went, was purged, and came back, with a calculator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from r2d2.model.prices import GIB, Prices
from r2d2.safety.status import TableStatus
from r2d2.steps.sum_savings import MONTH_SECONDS, WEEK_SECONDS, sum_savings

PRICES = Prices("", "EUR", "", "", 2.0, 0.0, 0.0, 4, 4, compute_per_gib_scanned=0.5)
NOW = 1_800_000_000
TABLE = TableStatus(
    table="t",
    location="t",
    state="quarantined",
    place="quarantine",
    slot="s",
    plan_id="p",
    approved_by="Ann",
    since=0,
    rows=100,
    size_bytes=3 * GIB,
    parent="parent",
    parent_bytes=10 * GIB,
    drills=0,
    is_drilled=False,
    drill_seconds=None,
    drill_failed="",
    purge_from=None,
    committed_at=NOW - int(4 * WEEK_SECONDS),
    purged_at=None,
    restored_at=None,
    rebuilds=0,
)


def saved(*tables: TableStatus) -> tuple[float, float, float, float]:
    found = sum_savings(tables, prices=PRICES, maintenance_per_week=2.0, now=NOW)
    return found.storage, found.maintenance, found.rebuilds, found.total


def test_in_quarantine_only_maintenance_is_saved() -> None:
    assert saved(TABLE) == pytest.approx((0, 3 * 0.5 * 8, 0, 12))
    found = sum_savings([TABLE], prices=PRICES, maintenance_per_week=2.0, now=NOW)
    assert (found.rows_not_scanned, found.bytes_not_scanned, found.currency) == (800, 24 * GIB, "EUR")


def test_what_is_purged_takes_no_space_from_then_on() -> None:
    purged = replace(TABLE, committed_at=NOW, purged_at=NOW - round(2 * MONTH_SECONDS))
    assert saved(purged) == pytest.approx((2 * 3 * 2.0, 0, 0, 12), rel=1e-6)


def test_drills_and_restores_by_recipe_cost() -> None:
    assert saved(replace(TABLE, rebuilds=3)) == pytest.approx((0, 12, 3 * 10 * 0.5, -3))


def test_what_came_back_saved_something_until_then() -> None:
    back = replace(TABLE, state="restored", restored_at=NOW - int(2 * WEEK_SECONDS))
    assert saved(back)[1] == pytest.approx(6)
    assert saved(replace(back, purged_at=NOW - int(3 * WEEK_SECONDS)))[0] == pytest.approx(
        3 * 2.0 * WEEK_SECONDS / MONTH_SECONDS, rel=1e-6
    )


def test_what_was_never_deleted_saves_nothing() -> None:
    assert saved(replace(TABLE, state="undone", committed_at=None)) == (0, 0, 0, 0)
    assert saved() == (0, 0, 0, 0)


def test_a_clock_that_was_set_back_saves_nothing_but_loses_nothing() -> None:
    assert saved(replace(TABLE, committed_at=NOW + 1000, purged_at=NOW + 2000)) == (0, 0, 0, 0)
