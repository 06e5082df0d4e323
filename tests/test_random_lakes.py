"""Whole scans of random lakes against a plain Counter: nothing missing, nothing wrong, every count exact."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.app.lake import Lake
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.engine.rows import same_bytes
from r2d2.formats.parquet import read as read_slice
from r2d2.report.edges import EdgeRow, dropped_edges, standing_edges
from r2d2.settings import load_settings
from r2d2.steps import prune_by_content, verify_containment
from r2d2.synthetic.oracle.truth import TrueEdge, brute_force_edges
from r2d2.synthetic.oracle.truth_rows import read_rows
from tests.support.random_lakes import rewrite_with_spark, write_lake

LAKES_PER_SCAN = 25
SCANS = int(os.environ.get("TORTURE_SCANS", 12))  # `make torture-lakes` sets it


def scan(spark: Any, folder: Path, **options: Any) -> Lake:
    given = load_settings({"state": str(folder / "state")}, environment={})
    return Lake(scan_lake(Workspace(given, spark=spark), [str(folder / "lakes")], **options))


def truth(folder: Path, names: tuple[str, ...]) -> dict[tuple[str, str], TrueEdge]:
    """Every pair of each lake whose columns allow it; different lakes share no column."""
    lakes: dict[str, dict[str, Any]] = {}
    for name in names:
        lakes.setdefault(name.partition("/")[0], {})[name] = read_rows(folder / "lakes" / name)
    return {
        (edge.parent, edge.child): edge
        for tables in lakes.values()
        for edge in brute_force_edges(tables, all_pairs=True)
    }


def write_lakes(folder: Path, first_seed: int, count: int = LAKES_PER_SCAN) -> None:
    for seed in range(first_seed, first_seed + count):
        write_lake(folder / "lakes", seed)


@settings(max_examples=SCANS, database=None)
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
def test_the_graph_is_what_counting_every_row_gives(spark: Any, seed: int, all_are_small: bool, fast: bool) -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(same_bytes, "LEAST_BYTES", 0)
        patch.setattr(prune_by_content, "WITHIN", 0.0 if all_are_small else 1.0)
        patch.setattr(verify_containment, "SMALL_ROWS", 2_000 if all_are_small else 0)
        patch.setattr(read_slice, "SMALL_BYTES", 0 if fast else 1 << 40)
        folder = Path(name)
        write_lakes(folder, seed * LAKES_PER_SCAN)
        rewrite_with_spark(spark, folder / "lakes", seed)
        lake = scan(spark, folder)
        assert not lake.problems, lake.problems
        expected = truth(folder, lake.tables)
        found = {(row.parent, row.child): row for row in standing_edges(lake.scan)}
        assert found.keys() == {pair for pair, edge in expected.items() if edge.contained}
        for row in [*found.values(), *dropped_edges(lake.scan)]:
            assert_counts(row, expected)


def assert_counts(row: EdgeRow, expected: dict[tuple[str, str], TrueEdge]) -> None:
    edge = expected.get((row.parent, row.child))
    if row.missing_rows is not None:
        assert edge is not None
        assert (row.missing_rows, row.bag) == (edge.missing_rows, edge.bag)
        assert row.containment == pytest.approx(edge.containment)


@pytest.mark.parametrize("bits", [8, 1])
def test_with_a_hash_of_few_bits_an_edge_is_lost_only_between_tables_that_look_equal(
    spark: Any, tmp_path: Path, bits: int
) -> None:
    write_lakes(tmp_path, 77_000_000, count=60)
    lake = scan(spark, tmp_path, hash_bits=bits)
    expected = truth(tmp_path, lake.tables)
    found = {(row.parent, row.child) for row in standing_edges(lake.scan)}
    true = {pair for pair, edge in expected.items() if edge.contained}
    wrong = found - true
    mistaken = {table for parent, child in wrong if (child, parent) in found for table in (parent, child)}
    assert all(mistaken & {parent, child} for parent, child in true - found), true - found
    assert wrong or bits > 1, "with one bit nearly every row looks like another"


@pytest.mark.parametrize(
    "zone", ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Europe/Dublin", "+14:00"]
)
def test_the_graph_is_the_same_in_every_time_zone_and_under_hostile_settings(
    spark: Any, tmp_path: Path, zone: str
) -> None:
    write_lakes(tmp_path, 88_000_000)
    hostile = spark.newSession()
    hostile.conf.set("spark.sql.session.timeZone", zone)
    for name in ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles", "spark.sql.caseSensitive"):
        hostile.conf.set(name, "true")
    hostile.conf.set("spark.sql.ansi.enabled", "false")
    hostile.conf.set("spark.sql.shuffle.partitions", "3")
    lake = scan(hostile, tmp_path)
    expected = {pair for pair, edge in truth(tmp_path, lake.tables).items() if edge.contained}
    assert {(row.parent, row.child) for row in standing_edges(lake.scan)} == expected
    assert hostile.conf.get("spark.sql.session.timeZone") == zone
