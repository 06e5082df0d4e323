"""A full disk, a broken disk, a missing permission, at any call: rolled back or stopped, never lost (HAZARDS 24)."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from r2d2.errors import R2D2Error
from r2d2.safety.refused import DiskError
from tests.safety.hooked import Hooked, count, fail_at
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
