"""A full disk, a broken disk, a missing permission, at any call: rolled back or stopped, never lost (HAZARDS 24)."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

from r2d2.errors import R2D2Error, TableError
from r2d2.safety.doctor import BAD, doctor
from r2d2.safety.errors import DiskError
from r2d2.safety.paths import JOURNAL, QUARANTINE, WORK
from r2d2.safety.preflight import objections
from r2d2.safety.recovery import open_lake
from r2d2.safety.registry import Registry
from r2d2.safety.status import status
from tests.safety.hooked import Hooked, Killed, count, fail_at, kill_at
from tests.safety.tally import TALLY
from tests.safety.world import SCENARIOS, Scenario, World, check_all_comes_back, memory_world

pytestmark = pytest.mark.usefixtures("remembered_lines")

ERRNOS = (errno.ENOSPC, errno.EIO, errno.EACCES)
CHILDREN = {"folder": "a/small", "file": "flat.rows"}


def failing(scenario: Scenario, world: World, files: Any) -> None:
    """What a command may do about an error: say it. It may not swallow it and go on as if nothing were."""
    try:
        scenario.run(world, files)
    except R2D2Error:
        return


@pytest.mark.slow
@pytest.mark.parametrize("child", CHILDREN.values(), ids=CHILDREN)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_errno_at_every_call_loses_nothing(scenario: Scenario, child: str) -> None:
    prepared = scenario.prepare(memory_world([child]))
    counted = count(prepared.fork().files)
    scenario.run(prepared.with_files(counted.files), counted)
    for number in range(1, counted.calls + 1):
        for code in ERRNOS:
            world = prepared.fork()
            failing(scenario, world, fail_at(world.files, number, code, torn=number % 2 == 0))
            TALLY["failed calls"] += 1
            where = check_all_comes_back(world)
            assert where[child] in scenario.allowed


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_disk_that_stays_full_loses_nothing(scenario: Scenario) -> None:
    prepared = scenario.prepare(memory_world())
    counted = count(prepared.fork().files)
    scenario.run(prepared.with_files(counted.files), counted)
    for number in range(1, counted.calls + 1, 2):
        world = prepared.fork()
        files = fail_at(world.files, number, errno.ENOSPC, torn=True, ever_after=True)
        with pytest.raises(R2D2Error):
            scenario.run(world, files)
        check_all_comes_back(world)


def test_a_table_that_a_rename_would_have_to_copy_stays_and_the_others_go() -> None:
    world = memory_world()

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "move" and given[0] == "flat.rows":
            raise OSError(errno.EXDEV, "Invalid cross-device link")

    applied = {one.table: one for one in world.apply(Hooked(world.files, before))}
    assert [name for name, one in applied.items() if not one.is_deleted] == ["flat.rows"]
    assert "cross-device" in applied["flat.rows"].because
    assert check_all_comes_back(world)["flat.rows"] == "lake"


def test_ctrl_c_while_verifying_puts_the_table_back_at_once() -> None:
    world = memory_world(["a/small"])

    def interrupted(**given: Any) -> Any:
        raise KeyboardInterrupt

    world.rebuilder.verify = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        world.apply()
    assert world.rows_at("a/small") == world.original["a/small"]


def test_an_error_while_verifying_puts_the_table_back_at_once() -> None:
    world = memory_world(["a/small"])

    def broken(**given: Any) -> Any:
        raise OSError(errno.EIO, "I/O error")

    world.rebuilder.verify = broken  # type: ignore[method-assign]
    with pytest.raises(DiskError, match="I/O"):
        world.apply()
    assert world.rows_at("a/small") == world.original["a/small"]


# --- what the disk refuses of one table is that table's error alone


def refusing(world: World, wrong: Callable[[str, str], bool], code: int = errno.EIO) -> Hooked:
    """Every call of which *wrong* says so, by its name and path, fails."""

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if given and wrong(name, given[0]):
            raise OSError(code, os.strerror(code), given[0])

    return Hooked(world.files, before)


def states(world: World) -> dict[str, str]:
    return {one.table: one.state for one in status(world.files).tables}


def slot_of_table(world: World, table: str) -> str:
    return next(one.slot for one in status(world.files).tables if one.table == table)


def test_a_parent_that_cannot_be_read_stops_only_its_own_children() -> None:
    world = memory_world()
    world.apply()
    world.drill()

    def of_other(name: str, path: str) -> bool:
        return name == "chunks" and path.startswith("other/")

    drills = {one.table: one for one in world.drill(refusing(world, of_other))}
    assert {name for name, one in drills.items() if not one.is_exact} == {"b/copy"}
    assert "its parent 'other' cannot be read" in drills["b/copy"].because
    assert {one.table: one.drills for one in status(world.files).tables} == {"a/small": 2, "flat.rows": 2, "b/copy": 1}
    purged = {one.table: one for one in world.purge(refusing(world, of_other))}
    assert {name for name, one in purged.items() if not one.is_purged} == {"b/copy"}
    assert "its parent 'other' cannot be read" in purged["b/copy"].because
    world.purge()
    restored = {one.table: one for one in world.restore(refusing(world, of_other))}
    assert {name for name, one in restored.items() if not one.is_restored} == {"b/copy"}
    with pytest.raises(DiskError, match="cannot be read"):
        world.restore(refusing(world, of_other), tables=["b/copy"])
    assert check_all_comes_back(world)["b/copy"] == "recipe"


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ELOOP])
def test_a_table_that_cannot_be_brought_back_does_not_keep_recovery_from_the_others(code: int) -> None:
    world, commits = memory_world(), list[int]()

    def killed(number: int, name: str, given: tuple[Any, ...]) -> None:
        if commits or (name == "append" and b'"Committed"' in given[1]):
            commits.append(number)
            raise Killed

    with pytest.raises(Killed):
        world.apply(Hooked(world.files, killed))
    slot = slot_of_table(world, "a/small")
    held = refusing(world, lambda name, path: name == "move" and slot in path, code)
    with open_lake(held, world.clock) as (_, recovered):
        told = {one.table: one for one in recovered}
    assert told["a/small"].did == "" and os.strerror(code) in told["a/small"].because
    assert states(world) == {"a/small": "moving", "flat.rows": "undone", "b/copy": "undone"}
    assert set(check_all_comes_back(world).values()) == {"lake"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_everybody_s_and_stops_the_run(code: int) -> None:
    world = memory_world()
    world.apply()
    full = refusing(world, lambda name, path: name == "make_folder" and "work/" in path, code)
    with pytest.raises(DiskError, match=os.strerror(code)):
        world.drill(full)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_errno_at_every_call_of_a_recovery_loses_nothing(scenario: Scenario) -> None:
    prepared = scenario.prepare(memory_world())
    counted = count(prepared.fork().files)
    scenario.run(prepared.with_files(counted.files), counted)
    for killed_at in range(3, counted.calls + 1, 9):
        half_way = prepared.fork()
        with pytest.raises(Killed):
            scenario.run(half_way, kill_at(half_way.files, killed_at))
        probe = count(half_way.fork().files)
        half_way.with_files(probe.files).recover(probe)
        for number in range(1, probe.calls + 1, 3):
            world = half_way.fork()
            with contextlib.suppress(R2D2Error):
                world.recover(fail_at(world.files, number, ERRNOS[number % 3], torn=number % 2 == 0))
            TALLY["failed calls"] += 1
            where = check_all_comes_back(world)
            assert {where[child] for child in CHILDREN.values()} <= scenario.allowed


def test_a_parent_whose_sync_failed_is_not_relied_on_by_any_of_its_children() -> None:
    """The system says once that a sync failed, and then that all is well."""
    world, said = memory_world(), list[str]()
    world.apply()
    world.drill()

    def once(name: str, path: str) -> bool:
        if name == "sync" and path.startswith("big/") and not said:
            said.append(path)
            return True
        return False

    purged = {one.table: one.is_purged for one in world.purge(refusing(world, once))}
    assert purged == {"a/small": False, "flat.rows": False, "b/copy": True} and said
    assert all(one.is_purged for one in world.purge())
    check_all_comes_back(world)


def test_a_purge_that_the_disk_stops_half_way_is_finished_by_the_next_command() -> None:
    world = memory_world()
    world.apply()
    world.drill()
    part = f"{slot_of_table(world, 'a/small')}/part-0.rows"
    held = refusing(world, lambda name, path: name == "unlink" and path.endswith(part), errno.EPERM)
    purged = {one.table: one.is_purged for one in world.purge(held)}
    assert purged == {"a/small": False, "flat.rows": True, "b/copy": True}
    assert states(world)["a/small"] == "purging"
    world.recover()
    assert states(world)["a/small"] == "purged"
    check_all_comes_back(world)


def test_a_purge_that_cannot_look_once_more_is_undone_at_once() -> None:
    world, recorded = memory_world(["a/small"]), list[bool]()
    world.apply()
    world.drill()

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "append" and b'"PurgeIntended"' in given[1]:
            recorded.append(True)
        elif recorded and name == "stat":
            recorded.clear()
            raise OSError(errno.EIO, "I/O error")

    (kept,) = world.purge(Hooked(world.files, before))
    assert not kept.is_purged and states(world) == {"a/small": "quarantined"}


def test_a_table_that_cannot_be_put_back_yet_waits_and_the_others_go() -> None:
    world = memory_world()
    scribbled = world.rebuilder.verify

    def differs(**given: Any) -> Any:
        if given["recipe"]["columns"] == ["name", "n"]:
            raise TableError("this one cannot be read")
        return scribbled(**given)

    world.rebuilder.verify = differs  # type: ignore[method-assign]
    files = refusing(world, lambda name, path: name == "stat" and "flat.rows" in path and bool(moved), errno.EACCES)
    moved = list[str]()
    refuse = files.before

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        refuse(number, name, given)
        if name == "move" and given[0] == "flat.rows":
            moved.append(given[1])

    files.before = before
    applied = {one.table: one for one in world.apply(files)}
    assert {name for name, one in applied.items() if one.is_deleted} == {"a/small", "b/copy"}
    assert "cannot be put back yet" in applied["flat.rows"].because and states(world)["flat.rows"] == "moving"
    assert check_all_comes_back(world)["flat.rows"] == "lake"


def test_a_work_folder_that_cannot_be_removed_stands_in_nobody_s_way() -> None:
    world = memory_world()
    world.apply()
    slot = slot_of_table(world, "a/small")
    stuck = refusing(world, lambda name, path: name == "unlink" and f"work/{slot}" in path, errno.EACCES)
    assert all(one.is_exact for one in world.drill(stuck))
    assert world.files.names(WORK) == [slot]
    with open_lake(stuck, world.clock) as (_, recovered):
        assert [(one.table, "cannot be removed" in one.because) for one in recovered] == [("", True)]
    world.recover()
    assert world.files.names(WORK) == []


def test_a_table_that_cannot_be_read_is_an_objection_and_the_others_are_looked_at() -> None:
    world = memory_world()
    files = refusing(world, lambda name, path: name == "chunks" and path == "flat.rows", errno.EACCES)
    found = objections(files, Registry(), world.plan, now=world.start, quiet_seconds=0)
    assert [(one.table, "Permission denied" in one.because) for one in found] == [("flat.rows", True)]
    with pytest.raises(OSError, match="No space"):
        full = refusing(world, lambda name, path: name == "chunks", errno.ENOSPC)
        objections(full, Registry(), world.plan, now=world.start, quiet_seconds=0)


# --- doctor names what it may not look at


def wrong_with(world: World, wrong: Callable[[str, str], bool]) -> set[tuple[str, str]]:
    found = doctor(refusing(world, wrong, errno.EACCES))
    return {(one.what, one.table) for one in found if one.severity == BAD and "Permission denied" in one.because}


def test_what_doctor_may_not_look_at_is_wrong_and_the_rest_is_looked_at() -> None:
    world = memory_world()
    world.apply()
    world.drill()
    assert wrong_with(world, lambda name, path: path.startswith("b/")) == {("place", "b/copy")}
    assert wrong_with(world, lambda name, path: path == QUARANTINE) == {("folder", "")}
    assert wrong_with(world, lambda name, path: path == JOURNAL) == {("journal", "")}
    with pytest.raises(DiskError):
        status(refusing(world, lambda name, path: path == JOURNAL))


def test_a_table_that_was_left_half_way_and_cannot_be_looked_at_is_wrong() -> None:
    world = memory_world(["b/copy"])

    def killed(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "append" and b'"Committed"' in given[1]:
            raise Killed

    with pytest.raises(Killed):
        world.apply(Hooked(world.files, killed))
    assert wrong_with(world, lambda name, path: path.startswith("b/")) == {("pending", "b/copy")}
