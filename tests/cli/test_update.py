"""`r2d2 update` and `r2d2 find` as users and schedulers run them."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from r2d2.app.scan import scan_lake
from r2d2.app.update import update_lake
from r2d2.app.workspace import Workspace
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from tests.cli.conftest import Command, write, write_lake
from tests.cli.test_scan_process import SMALL, processes, running, wait_for
from tests.state.scans import everything_in
from tests.support.random_changes import ChangingLake
from tests.test_updates import assert_founded, assert_same

SEQUENCES, TURNS = 12, 3


def old(lake: Path) -> Path:
    """As if the files had been there for a while: what was just written is in doubt."""
    for file in lake.rglob("*.parquet"):
        if file.stat().st_mtime_ns > 10**18 + 10**17:  # setting a time is a change that an update sees
            os.utime(file, ns=(10**18 + 5, 10**18 + 5))
    return lake


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Path:
    """A lake that was scanned into `state` beside it."""
    write_lake(tmp_path / "lake")
    scan_lake(Workspace(Settings(state=str(tmp_path / "state")), spark=spark), [str(old(tmp_path / "lake"))])
    return tmp_path / "lake"


@pytest.fixture(scope="module")
def steady(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a lake that no test changes."""
    folder = tmp_path_factory.mktemp("steady")
    write_lake(folder / "lake")
    scan_lake(Workspace(Settings(state=str(folder / "state")), spark=spark), [str(old(folder / "lake"))])
    return folder / "state"


def test_a_dozen_lakes_that_change_at_random_are_what_a_scan_says(spark: Any, tmp_path: Path) -> None:
    """Side by side in one folder, so that each round is one update and one scan."""
    (tmp_path / "lake").mkdir()
    lakes = []
    for seed in range(SEQUENCES):
        (tmp_path / "lake" / f"s{seed}").mkdir()
        lakes.append(ChangingLake(tmp_path / "lake" / f"s{seed}", random.Random(seed), seed=seed))
    updated, fresh = (Settings(state=str(tmp_path / name)) for name in ("state", "fresh"))
    scan_lake(Workspace(updated, spark=spark), [str(tmp_path / "lake")])
    for turn in range(TURNS):
        for one in lakes:
            one.change()
        result = update_lake(Workspace(updated, spark=spark))
        shutil.rmtree(tmp_path / "fresh", ignore_errors=True)
        from_scratch = scan_lake(Workspace(fresh, spark=spark), [str(tmp_path / "lake")])
        assert_same(replace(from_scratch, settings=result.scan.settings), result.scan)
        assert_founded(result.scan)
        assert result.kept_edges > 0 and result.asked_pairs > 0, turn


def test_json_says_what_changed_and_which_edges_came_and_went(lake: Path, r2d2: Command, tmp_path: Path) -> None:
    before = StateStore(tmp_path / "state").newest.name
    (lake / "extract.parquet").unlink()
    write(lake / "sales" / "part-2.parquet", id=[1, 200], name=["name 1", "name 200"])
    write(lake / "new.parquet", id=[1], name=["name 1"])
    (lake / "weather" / "rain.parquet").rename(lake / "weather" / "storm.parquet")
    done = r2d2("update", "--state", tmp_path / "state", "--json")
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    changed = {one["table"]: one["change"] for one in answer["changed"]}
    assert changed == {
        "sales": "grown",
        "new.parquet": "new",
        "extract.parquet": "deleted",
        "weather/storm.parquet": "replaced",  # a file that is renamed may have been written to
    }
    (storm,) = [one for one in answer["changed"] if one["table"] == "weather/storm.parquet"]
    assert storm["before"] == "weather/rain.parquet" and "are here now" in storm["because"]
    assert all(one["because"] for one in answer["changed"])
    edges = {what: {(edge["parent"], edge["child"]) for edge in answer[what]} for what in ("gained", "lost")}
    assert edges["gained"] == {("sales", "new.parquet"), ("half", "new.parquet"), ("sales", "late.parquet")}
    assert edges["lost"] == {("sales", "extract.parquet"), ("half", "extract.parquet")}
    assert answer["previous"] == before and answer["run"] == StateStore(tmp_path / "state").newest.name != before
    rows = json.loads(r2d2("edges", "--state", tmp_path / "state", "--json").out)
    since = {(row["parent"], row["child"]): row["since"] for row in rows}
    assert since["sales", "late.parquet"] == answer["run"]
    assert since["+cmd.parquet", "-dash.parquet"] == before


def test_an_update_of_an_unchanged_lake_writes_nothing(steady: Path, r2d2: Command) -> None:
    before = everything_in(steady)
    done = r2d2("update", "--state", steady, "--json")
    answer = json.loads(done.out)
    assert (answer["changed"], answer["gained"], answer["lost"], answer["bytes_read"]) == ([], [], [], 0)
    assert answer["run"] == answer["previous"]
    assert everything_in(steady) == before
    assert "nothing has changed" in r2d2("update", "--state", steady).out


def test_for_people_it_names_what_changed(lake: Path, r2d2: Command, tmp_path: Path) -> None:
    write(lake / "[red]new\x1b.parquet", id=[1], name=["name 1"])
    done = r2d2("update", "--state", tmp_path / "state", "--quiet")
    assert done.code == 0 and done.err == ""
    assert "[red]new\\x1b.parquet" in done.out and "\x1b" not in done.out
    assert "1 new" in done.out and "New edges (2)" in done.out


def test_a_table_that_can_no_longer_be_read_is_named_with_the_reason(lake: Path, r2d2: Command, tmp_path: Path) -> None:
    (lake / "extract.parquet").write_bytes((lake / "extract.parquet").read_bytes()[:-9])
    done = r2d2("update", "--state", tmp_path / "state", "--json")
    (one,) = json.loads(done.out)["changed"]
    assert done.code == 1
    assert (one["table"], one["change"]) == ("extract.parquet", "unreadable")
    assert one["because"].startswith("it can no longer be read: ") and "extract.parquet" in one["because"]


def test_without_a_scan_it_says_so_and_makes_no_folder(r2d2: Command, tmp_path: Path) -> None:
    for command in (["update"], ["find", tmp_path]):
        done = r2d2(*command, "--state", tmp_path / "none")
        assert done.code == 2 and "there is no scan" in done.err
        assert not (tmp_path / "none").exists()


def test_a_lake_that_is_gone_leaves_the_state_alone(steady: Path, r2d2: Command) -> None:
    before, lake = everything_in(steady), steady.parent / "lake"
    lake.rename(steady.parent / "unmounted")
    try:
        assert r2d2("update", "--state", steady).code == 2
        lake.mkdir()
        assert r2d2("update", "--state", steady).code == 2
        lake.rmdir()
    finally:
        (steady.parent / "unmounted").rename(lake)
    assert everything_in(steady) == before


def test_other_settings_are_refused(steady: Path, r2d2: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("R2D2_BAG", "yes")
    done = r2d2("update", "--state", steady)
    assert done.code == 2 and "bag is True and was False in the last scan" in done.err and "r2d2 scan" in done.err


def test_a_table_that_cannot_be_read_makes_the_exit_code_1(lake: Path, r2d2: Command, tmp_path: Path) -> None:
    (lake / "cut.parquet").write_bytes(b"PAR1cut")
    assert r2d2("update", "--state", tmp_path / "state").code == 1
    (lake / "cut.parquet").unlink()
    assert r2d2("update", "--state", tmp_path / "state").code == 0


def test_find_is_a_gate_and_changes_nothing(steady: Path, r2d2: Command, tmp_path: Path) -> None:
    before = everything_in(steady)
    known = write(tmp_path / "known.parquet", id=[12], name=["name 12"])
    other = write(tmp_path / "other.parquet", id=[12, 13, 999], name=["name 12", "name 13", "name 999"])
    there = r2d2("find", known, "--state", steady, "--json")
    not_there = r2d2("find", other, "--state", steady, "--json")
    assert (there.code, not_there.code) == (1, 0)
    answer = json.loads(there.out)
    assert answer["is_there"] and {one["table"] for one in answer["contained_in"]} == {
        "sales",
        "half",
        "extract.parquet",
        "almost.parquet",
    }
    answer = json.loads(not_there.out)
    assert not answer["is_there"] and answer["contained_in"] == answer["equal"] == []
    assert answer["nearest"][0]["containment"] == pytest.approx(2 / 3)
    assert "is in the lake already" in r2d2("find", known, "--state", steady).out
    nowhere = r2d2("find", other.parent / "nowhere", "--state", steady)
    assert nowhere.code == 2 and nowhere.err.startswith("r2d2: cannot open"), "no step is announced before the error"
    assert everything_in(steady) == before


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_an_update_the_graph_before_it_stays(
    spark: Any, sent: signal.Signals, tmp_path: Path, r2d2: Command
) -> None:
    state, lake = tmp_path / "state", tmp_path / "lake"
    content = write(lake / "one" / "part-0.parquet", id=[1, 2, 3]).read_bytes()
    scan_lake(Workspace(Settings(state=str(state)), spark=spark), [str(old(lake))])
    (lake / "two").mkdir()
    for number in range(3000):
        (lake / "two" / f"part-{number}.parquet").write_bytes(content)
    before = everything_in(state)
    with running(tmp_path, "update", "--state", state, *SMALL) as process:
        wait_for(lambda: process.poll() is not None or _has_worker(process.pid))
        assert process.poll() is None
        os.killpg(process.pid, sent)
        assert process.wait(60) == (130 if sent == signal.SIGINT else -signal.SIGKILL)
    assert everything_in(state) == before
    shutil.rmtree(lake / "two")
    write(lake / "two" / "part-0.parquet", id=[2, 1])
    done = r2d2("update", "--state", state, "--json")
    assert done.code == 0 and json.loads(done.out)["gained"] == [{"parent": "one", "child": "two"}]


def _has_worker(process: int) -> bool:
    return any("pyspark.worker" in line for line in processes(process).values())


def test_a_state_with_hashes_of_an_earlier_version_is_updated_and_they_are_left_alone(
    r2d2: Command, tmp_path: Path
) -> None:
    lake, state = tmp_path / "lake", tmp_path / "state"
    write(lake / "one.parquet", id=[1, 2, 3])
    assert r2d2("scan", old(lake), "--state", state).code == 0
    (state / "hashes").mkdir()
    (state / "hashes" / "index.parquet").write_bytes(b"as it was")
    write(lake / "two.parquet", id=[2])
    done = r2d2("update", "--state", state, "--json")
    assert json.loads(done.out)["gained"] == [{"parent": "one.parquet", "child": "two.parquet"}]
    assert json.loads(done.out)["kept_bytes_read"] == 0
    assert (state / "hashes" / "index.parquet").read_bytes() == b"as it was"
