"""Whoever looks gets an answer: without the lock, without leave to write, and whatever is wrong with one table."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r2d2.cli.show_delete import show_restored
from r2d2.safety.apply import Approval, apply
from r2d2.safety.drill import drill
from r2d2.safety.locked_lake import hold
from r2d2.safety.paths import slot_of
from r2d2.safety.posix import PosixFiles
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.records import MoveIntended
from r2d2.safety.recovery import open_lake
from r2d2.safety.restore import Restore
from tests.cli.conftest import Command
from tests.safety.world import SIZE, World, posix_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Two tables are deleted and drilled; the third is still there."""
    made = posix_world(tmp_path / "lake", ["a/small", "flat.rows"])
    with open_lake(made.files) as (lake, _):
        apply(
            lake,
            made.plan,
            rebuilder=made.rebuilder,
            approval=Approval("Ann", typed=2),
            count_lake=lambda: SIZE,
            quiet_seconds=0,
        )
        drill(lake, rebuilder=made.rebuilder)
    return made


def half_way(world: World) -> None:
    """The third is moved aside, and then the process is killed."""
    (entry,) = world.make_plan("plan-2", ["b/copy"]).entries
    slot = slot_of("plan-2", entry.child.location)
    with hold(world.files) as lake:
        lake.write(MoveIntended(slot, "plan-2", entry, lake.now()))
        world.files.move(entry.child.location, in_quarantine(slot))


def refuse(monkeypatch: pytest.MonkeyPatch, call: str, code: int, *, path: str = "") -> list[str]:
    """A call of the file layer fails, for one path or for all; those that did."""
    real: Callable[..., Any] = getattr(PosixFiles, call)
    failed: list[str] = []

    def failing(self: PosixFiles, *given: Any) -> Any:
        if path in given[0]:
            failed.append(given[0])
            raise OSError(code, os.strerror(code), given[0])
        return real(self, *given)

    monkeypatch.setattr(PosixFiles, call, failing)
    return failed


def told(r2d2: Command, command: str, world: World) -> tuple[int, Any]:
    done = r2d2(command, "--lake", world.files.root, "--json")
    return done.code, json.loads(done.out)


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_who_may_only_read_gets_an_answer(
    r2d2: Command, world: World, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    asked = refuse(monkeypatch, "lock", errno.EACCES)
    code, answer = told(r2d2, command, world)
    assert (code, answer["recovered"], asked) == (0, [], [])
    monkeypatch.undo()
    half_way(world)
    refuse(monkeypatch, "lock", errno.EACCES)
    code, answer = told(r2d2, command, world)
    (left,) = answer["recovered"]
    assert (code, left["table"], left["did"]) == (0, "", "") and "Permission denied" in left["because"]


def test_a_table_that_recovery_cannot_bring_back_keeps_nobody_from_an_answer(
    r2d2: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    half_way(world)
    refuse(monkeypatch, "move", errno.EIO)
    for command in ("status", "doctor", "purge"):
        done = r2d2(command, "--lake", world.files.root)
        assert "recovered b/copy: left as it is: the file system failed" in done.err.replace("\n", " "), done.err
    monkeypatch.undo()
    code, answer = told(r2d2, "status", world)
    assert code == 0 and [one["did"] for one in answer["recovered"]] == ["the deletion was undone"]


def test_a_folder_that_doctor_may_not_read_is_wrong(
    r2d2: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "stat", errno.EACCES, path="a/small")
    code, answer = told(r2d2, "doctor", world)
    wrong = [one for one in answer["findings"] if one["severity"] == "bad"]
    assert code == 1 and [(one["what"], one["table"]) for one in wrong] == [("place", "a/small")]


@pytest.mark.parametrize("command", ["status", "doctor", "drill", "purge"])
def test_a_lake_that_may_not_be_read_is_said_in_a_sentence(
    r2d2: Command, world: World, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    refuse(monkeypatch, "stat", errno.EACCES)
    done = r2d2(command, "--lake", world.files.root)
    assert done.code == 1 and "Permission denied" in done.err and "Traceback" not in done.err
    long = r2d2(command, "--lake", "/" + "x" * 300)
    assert long.code == 2 and "cannot be opened" in long.err and "Hint" in long.err


def test_a_purge_that_the_disk_stopped_half_way_needs_a_look(
    r2d2: Command, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "unlink", errno.EPERM, path="part-0.rows")  # the second file of a/small
    done = r2d2("purge", "--lake", world.files.root, "--retention", "0", "--json")
    assert done.code == 1
    assert {one["table"]: one["is_purged"] for one in json.loads(done.out)["tables"]} == {
        "a/small": False,
        "flat.rows": True,
    }
    monkeypatch.undo()
    assert {one["state"] for one in told(r2d2, "status", world)[1]["tables"]} == {"purged"}


def test_a_plan_that_could_not_be_written_is_refused_before_it_is_made(
    r2d2: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = r2d2("plan", "--state", tmp_path / "state", "--out", tmp_path / "nodir" / "p.json")
    assert nowhere.code == 2 and f"there is no folder {tmp_path / 'nodir'}" in nowhere.err
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    forbidden = r2d2("plan", "--state", tmp_path / "state", "--out", tmp_path / "p.json")
    assert forbidden.code == 2 and f"nothing may be written to {tmp_path}" in forbidden.err


@pytest.mark.parametrize("command", ["status", "purge"])
def test_days_without_end_are_refused(r2d2: Command, world: World, command: str) -> None:
    done = r2d2(command, "--lake", world.files.root, "--retention", "inf")
    assert done.code == 2 and "--retention must be at least 0 and at most 36500" in done.err


def test_a_restore_by_recipe_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    back = [
        Restore("one", "0" * 64, True, "recipe", "/lake/one", "it was purged"),
        Restore("two", "1" * 64, True, "quarantine", "/lake/two", ""),
    ]
    show_restored((), back, as_json=False)
    shown = capsys.readouterr().out
    assert "by recipe: it was purged" in shown and "from quarantine" in shown


def test_a_lost_table_is_given_up_by_name_and_number(r2d2: Command, world: World, tmp_path: Path) -> None:
    lake = ("--lake", world.files.root)
    assert r2d2("purge", *lake, "--retention", "0").code == 0
    refused = r2d2("forget", "a/small", *lake, "--yes-forget", "1")
    assert refused.code == 2 and "is not lost" in refused.err and "r2d2 restore" in refused.err
    parent = tmp_path / "lake" / "big"
    for path in parent.iterdir():
        path.rename(tmp_path / path.name)
    assert told(r2d2, "doctor", world)[0] == 1
    for wrong in ((), ("--yes-forget", "2")):  # nobody is there to type it
        refused = r2d2("forget", "a/small", *lake, *wrong)
        assert refused.code == 2 and "--yes-forget 1" in refused.err
    done = r2d2("forget", "a/small", *lake, "--yes-forget", "1", "--approved-by", "Ann", "--json")
    (one,) = json.loads(done.out)["tables"]
    assert (done.code, one["table"], one["parent"]) == (0, "a/small", "big") and "is missing" in one["because"]
    assert "Given up" in r2d2("forget", "flat.rows", *lake, "--yes-forget", "1").out
    assert "lost, and given up" in r2d2("status", *lake).out
    assert told(r2d2, "doctor", world)[0] == 0


def test_who_asks_in_the_wrong_folder_is_told_so(r2d2: Command, world: World, tmp_path: Path) -> None:
    for command in ("status", "doctor", "drill", "purge"):
        refused = r2d2(command, "--lake", str(tmp_path / "lake" / "big"))
        assert refused.code == 2 and f"--lake {world.files.root}" in refused.err
    (tmp_path / "empty").mkdir()
    empty = r2d2("doctor", "--lake", str(tmp_path / "empty"))
    assert empty.code == 1 and "is its disk mounted there?" in empty.out


def test_a_copy_needs_a_folder_and_none_is_made_in_the_safety_folder(r2d2: Command, world: World) -> None:
    lake = ("--lake", world.files.root)
    refused = r2d2("restore", "a/small", "--to", "", *lake)
    assert refused.code == 2 and "--to names no folder" in refused.err
    inside = os.path.join(world.files.root, ".r2d2-safety", "x")
    refused = r2d2("restore", "a/small", "--to", inside, *lake)
    assert refused.code == 2 and "is in the safety folder" in refused.err and not os.path.exists(inside)
