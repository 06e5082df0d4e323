"""Little work is done without Spark, with the same answers; where that fails, Spark does it."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from r2d2 import right_here
from r2d2.api import scan_lake, update_lake
from r2d2.finding import find_in_lake
from r2d2.settings import Settings
from tests.cli.conftest import write
from tests.cli.test_update import old
from tests.random_changes import ChangingLake
from tests.test_updates import assert_founded, assert_same

LAKES = 6


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Path:
    """Some lakes that changed after they were scanned, side by side."""
    lakes = []
    for seed in range(LAKES):
        (tmp_path / "lake" / f"s{seed}").mkdir(parents=True)
        lakes.append(ChangingLake(tmp_path / "lake" / f"s{seed}", random.Random(seed), seed=seed))
    write(tmp_path / "lake" / "numbers" / "part-0.parquet", n=list(range(100)))
    old(tmp_path / "lake" / "numbers")
    scan_lake([str(tmp_path / "lake")], Settings(state=str(tmp_path / "state")), spark=spark)
    for one in lakes:
        for _ in range(3):
            one.change()
    return tmp_path / "lake"


def update(lake: Path, spark: Any) -> float:
    """Update without a session at hand, and hold the result against a scan by Spark; how long Spark took to start."""
    done = update_lake(Settings(state=str(lake.parent / "state"))).scan
    fresh = Settings(state=str(lake.parent / "fresh"))
    shutil.rmtree(fresh.state, ignore_errors=True)
    assert_same(replace(scan_lake([str(lake)], fresh, spark=spark), settings=done.settings), done)
    assert_founded(done)
    return done.session_seconds


def test_a_little_update_and_a_finding_need_no_spark_and_say_what_spark_says(spark: Any, lake: Path) -> None:
    write(lake / "few" / "part-0.parquet", n=[5, 7])
    assert update(lake, spark) == 0
    found = find_in_lake(write(lake.parent / "mine.parquet", n=[7]), Settings(state=str(lake.parent / "state")))
    assert {one.table for one in found.contained_in} == {"numbers", "few"} and found.session_seconds == 0


@pytest.mark.parametrize("executable", ["/bin/false", "/bin/true", "/nowhere"])
def test_where_the_process_fails_spark_is_asked(
    spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(right_here, "sys", SimpleNamespace(executable=executable))
    assert update(lake, spark) > 0


def test_much_work_is_left_to_spark(spark: Any, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(right_here, "LITTLE_BYTES", 0)
    assert update(lake, spark) > 0


def test_the_process_imports_nothing_from_where_it_is_started(
    spark: Any, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert update(lake, spark) == 0
    assert os.getcwd() == str(tmp_path)
