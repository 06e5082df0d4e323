"""A full disk, a broken disk, a missing permission, at any call: rolled back or stopped, never lost (HAZARDS 24)."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from r2d2.errors import R2D2Error
from r2d2.safety.refused import DiskError
from tests.safety.hooked import count, fail_at
from tests.safety.world import SCENARIOS, Scenario, World, check_all_comes_back, memory_world

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


def test_an_error_while_verifying_puts_the_table_back_at_once() -> None:
    world = memory_world(["a/small"])

    def broken(**given: Any) -> Any:
        raise OSError(errno.EIO, "I/O error")

    world.rebuilder.verify = broken  # type: ignore[method-assign]
    with pytest.raises(DiskError, match="I/O"):
        world.apply()
    assert world.rows_at("a/small") == world.original["a/small"]
