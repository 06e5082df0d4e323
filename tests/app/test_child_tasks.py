"""Little work is done without Spark, with the same answers; where that fails, Spark does it."""

from __future__ import annotations

import random
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from r2d2.app import child_tasks
from r2d2.app.find import find_in_lake
from r2d2.app.scan import scan_lake
from r2d2.app.update import update_lake
from r2d2.app.workspace import Workspace
from r2d2.lake import fresh_python
from r2d2.model.scan import Scan
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from tests.cli.conftest import write
from tests.cli.test_update import old
from tests.support.random_changes import ChangingLake
from tests.test_updates import assert_founded, assert_same

LAKES = 6


@dataclass(frozen=True)
class Changed:
    """Lakes that changed after they were scanned, side by side: their old state, and what a scan says now."""

    state: Path
    fresh: Scan


@pytest.fixture(scope="module")
def changed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Changed:
    folder = tmp_path_factory.mktemp("changed")
    lakes = []
    for seed in range(LAKES):
        (folder / "lake" / f"s{seed}").mkdir(parents=True)
        lakes.append(ChangingLake(folder / "lake" / f"s{seed}", random.Random(seed), seed=seed))
    write(folder / "lake" / "numbers" / "part-0.parquet", n=list(range(100)))
    old(folder / "lake" / "numbers")
    scan_lake(Workspace(Settings(state=str(folder / "state")), spark=spark), [str(folder / "lake")])
    for one in lakes:
        for _ in range(3):
            one.change()
    write(folder / "lake" / "few" / "part-0.parquet", n=[5, 7])
    old(folder / "lake" / "few")
    fresh = scan_lake(Workspace(Settings(state=str(folder / "fresh")), spark=spark), [str(folder / "lake")])
    return Changed(folder / "state", fresh)


def update(changed: Changed, state: Path) -> float:
    """Update a copy of the state without a session at hand: it says what Spark says. How long Spark took to start."""
    shutil.copytree(changed.state, state)
    done = update_lake(Workspace(Settings(state=str(state)))).scan
    assert_same(replace(changed.fresh, settings=done.settings), done)
    assert_founded(done)
    stored = StateStore(state).load()
    assert (stored.tables, stored.profiles) == (done.tables, done.profiles), (
        "columns of unchanged tables are taken over"
    )
    return done.session_seconds


def test_a_little_update_and_a_finding_need_no_spark_and_say_what_spark_says(changed: Changed, tmp_path: Path) -> None:
    assert update(changed, tmp_path / "state") == 0
    found = find_in_lake(Workspace(Settings(state=str(tmp_path / "state"))), write(tmp_path / "mine.parquet", n=[7]))
    assert {one.table for one in found.contained_in} == {"numbers", "few"} and found.session_seconds == 0


@pytest.mark.parametrize("executable", ["/bin/true", "/nowhere"])
def test_where_the_process_fails_spark_is_asked(
    changed: Changed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(fresh_python, "sys", SimpleNamespace(executable=executable, path=sys.path))
    assert update(changed, tmp_path / "state") > 0


def test_much_work_is_left_to_spark(changed: Changed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_tasks, "LITTLE_BYTES", 0)
    assert update(changed, tmp_path / "state") > 0


def test_the_process_imports_nothing_from_where_it_is_started(
    changed: Changed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert update(changed, tmp_path / "state") == 0
