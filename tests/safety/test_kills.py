"""Killed at any call to the file system, nothing is lost and the next command puts everything right (HAZARDS 22).

`make torture-safety` raises the numbers: SAFETY_KILLS and SAFETY_DISK_KILLS.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from pathlib import Path

import pytest

from r2d2.safety.paths import WORK
from tests.safety.hooked import Killed, count, kill_at
from tests.safety.tally import TALLY
from tests.safety.world import (
    CHILDREN,
    SCENARIOS,
    Scenario,
    World,
    check_all_comes_back,
    memory_world,
    posix_world,
)

pytestmark = pytest.mark.usefixtures("remembered_lines")

KILLS = int(os.environ.get("SAFETY_KILLS", 250))  # in recovery; those of the commands come on top
DISK_KILLS = int(os.environ.get("SAFETY_DISK_KILLS", 8))  # for each command, on the real file system
TORN = (None, 0.0, 0.3, 0.999, 1.0)
by_name = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@pytest.fixture(scope="module")
def prepared() -> dict[str, World]:
    """Each scenario's lake right before the command that is going to be killed."""
    return {scenario.name: scenario.prepare(memory_world()) for scenario in SCENARIOS}


def calls_of(scenario: Scenario, world: World) -> int:
    files = count(world.files)
    scenario.run(world, files)
    return files.calls


def killed(scenario: Scenario, world: World, number: int, torn: float | None = None) -> World:
    with pytest.raises(Killed):
        scenario.run(world, kill_at(world.files, number, torn=torn))
    TALLY["kills"] += 1
    return world


@pytest.mark.slow
@by_name
def test_a_kill_at_any_call_loses_nothing(scenario: Scenario, prepared: dict[str, World]) -> None:
    calls = calls_of(scenario, prepared[scenario.name].fork())
    for number in range(1, calls + 1):
        world = killed(scenario, prepared[scenario.name].fork(), number, TORN[number % len(TORN)])
        where = check_all_comes_back(world)
        assert {where[child] for child in CHILDREN} <= scenario.allowed


@by_name
def test_a_record_torn_anywhere_counts_as_not_written(scenario: Scenario, prepared: dict[str, World]) -> None:
    appends: list[int] = []
    world = prepared[scenario.name].fork()
    files = count(world.files)
    files.before = lambda number, name, given: appends.append(number) if name == "append" else None
    scenario.run(world, files)
    for number in appends:
        for torn in (0.01, 0.5, 0.9999):
            check_all_comes_back(killed(scenario, prepared[scenario.name].fork(), number, torn))


def test_a_kill_inside_recovery_loses_nothing_either(prepared: dict[str, World]) -> None:
    chance = random.Random(int(os.environ.get("SAFETY_SEED", 22)))
    calls = {scenario.name: calls_of(scenario, prepared[scenario.name].fork()) for scenario in SCENARIOS}
    recoveries_hit = 0
    for _ in range(KILLS):
        scenario = chance.choice(SCENARIOS)
        world = prepared[scenario.name].fork()
        killed(scenario, world, chance.randint(1, calls[scenario.name]), chance.choice(TORN))
        for _ in range(chance.randint(1, 4)):  # killed again and again on the way back
            try:
                world.recover(kill_at(world.files, chance.randint(1, 60), torn=chance.choice(TORN)))
            except Killed:
                recoveries_hit += 1
                TALLY["kills in recovery"] += 1
        where = check_all_comes_back(world)
        assert {where[child] for child in CHILDREN} <= scenario.allowed
    assert recoveries_hit > KILLS // 2


def test_recovering_twice_does_nothing_the_second_time(prepared: dict[str, World]) -> None:
    for scenario in SCENARIOS:
        for number in range(5, calls_of(scenario, prepared[scenario.name].fork()), 7):
            world = killed(scenario, prepared[scenario.name].fork(), number)
            world.recover()
            before = {node.inode: (node.content, dict(node.entries)) for node in world.files.nodes.values()}
            world.recover()
            assert before == {node.inode: (node.content, dict(node.entries)) for node in world.files.nodes.values()}


@pytest.mark.parametrize("scenario", [SCENARIOS[1], SCENARIOS[3], SCENARIOS[5], SCENARIOS[7]], ids=lambda one: one.name)
@pytest.mark.parametrize("written", [0, 1])
def test_a_kill_inside_a_rebuild_leaves_nothing_half(
    scenario: Scenario, written: int, prepared: dict[str, World]
) -> None:
    world = prepared[scenario.name].fork()
    write, left = world.rebuilder.write, [written]

    def killed_while_writing(path: str, content: bytes) -> None:
        if not left[0]:
            raise Killed
        left[0] -= 1
        write(path, content)

    world.rebuilder.write = killed_while_writing  # type: ignore[method-assign]
    with pytest.raises(Killed):
        scenario.run(world, None)
    world.rebuilder.write = write  # type: ignore[method-assign]
    check_all_comes_back(world)


@by_name
def test_a_kill_of_a_command_on_real_parquet_files_loses_nothing(scenario: Scenario, fast_folder: Path) -> None:
    calls = calls_of(scenario, scenario.prepare(posix_world(fast_folder / "count" / "lake")))
    chance = random.Random(scenario.name)
    for number in chance.choices(range(1, calls + 1), k=DISK_KILLS):
        world = scenario.prepare(posix_world(fast_folder / "one" / "lake"))
        killed(scenario, world, number, chance.choice(TORN))
        check_all_comes_back(world)
        world.files.close()
        shutil.rmtree(fast_folder / "one")


@pytest.mark.slow
@by_name
def test_a_process_that_is_really_killed_loses_nothing(scenario: Scenario, fast_folder: Path) -> None:
    calls = calls_of(scenario, scenario.prepare(posix_world(fast_folder / "count" / "lake")))
    world = scenario.prepare(posix_world(fast_folder / "one" / "lake"))
    number = random.Random(calls).randint(calls // 4, calls)
    child = os.fork()
    if child == 0:
        files = count(world.files)
        files.before = lambda now, name, given: os.kill(os.getpid(), signal.SIGKILL) if now == number else None
        scenario.run(world, files)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    TALLY["real kills"] += 1
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    check_all_comes_back(world)


def test_a_restore_is_finished_even_if_its_work_folder_is_gone() -> None:
    """Killed right after the move; then somebody tidies up the empty folder that the table was moved out of."""
    prepared = memory_world(["flat.rows"])
    for step in ("apply", "drill", "purge"):
        getattr(prepared, step)()
    probe, moves = prepared.fork(), list[int]()
    files = count(probe.files)
    files.before = lambda number, name, given: moves.append(number) if name == "move" else None
    probe.restore(files)
    world = prepared.fork()
    with pytest.raises(Killed):
        world.restore(kill_at(world.files, moves[-1] + 1))
    (slot,) = world.files.names(WORK)
    world.files.remove_folder(f"{WORK}/{slot}")
    assert check_all_comes_back(world)["flat.rows"] == "lake"
