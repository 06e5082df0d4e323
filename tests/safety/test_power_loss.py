"""When the power goes, what was not synced may be lost, in any combination; no row is (HAZARDS 22, 23).

`make torture-safety` raises the number of states: SAFETY_STATES.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from r2d2.errors import R2D2Error
from r2d2.safety.moving import in_quarantine, move_durably
from r2d2.safety.paths import JOURNAL
from tests.safety.hooked import Killed, count, kill_at
from tests.safety.memory import Change, MemoryFiles
from tests.safety.tally import TALLY
from tests.safety.world import (
    CHILDREN,
    SCENARIOS,
    Scenario,
    World,
    check_all_comes_back,
    memory_world,
)

pytestmark = pytest.mark.usefixtures("remembered_lines")

STATES = int(os.environ.get("SAFETY_STATES", 900))
TORN = (None, 0.4, 1.0)


def lost_power(world: World, chance: random.Random, most: int) -> Iterator[World]:
    for left in world.files.survivors(chance, most):
        yield world.with_files(left)


def calls_of(scenario: Scenario, world: World) -> int:
    files = count(world.files)
    scenario.run(world, files)
    return files.calls


def stop(scenario: Scenario, world: World, number: int, torn: float | None) -> None:
    try:
        scenario.run(world, kill_at(world.files, number, torn=torn))
    except Killed:
        return


def test_no_loss_of_power_loses_a_row() -> None:
    """At each call of each command: every state that is possible, or a draw of them."""
    chance = random.Random(23)
    prepared = {scenario: scenario.prepare(memory_world()) for scenario in SCENARIOS}
    calls = {scenario: calls_of(scenario, prepared[scenario].fork()) for scenario in SCENARIOS}
    points = [(scenario, number) for scenario in SCENARIOS for number in range(1, calls[scenario] + 2)]
    seen, rounds = 0, 0
    while seen < STATES:
        rounds += 1
        for scenario, number in chance.sample(points, k=min(len(points), max(1, STATES - seen))):
            world = prepared[scenario].fork()
            stop(scenario, world, number, chance.choice(TORN))
            for left in lost_power(world, chance, most=3 * rounds):
                where = check_all_comes_back(left)
                assert {where[child] for child in CHILDREN} <= scenario.allowed, (scenario.name, number)
                seen += 1
                TALLY["losses of power"] += 1
            if seen >= STATES:
                break


def test_no_loss_of_power_during_recovery_loses_a_row() -> None:
    chance = random.Random(24)
    prepared = {scenario: scenario.prepare(memory_world()) for scenario in SCENARIOS}
    calls = {scenario: calls_of(scenario, prepared[scenario].fork()) for scenario in SCENARIOS}
    seen = 0
    while seen < STATES // 2:
        scenario = chance.choice(SCENARIOS)
        world = prepared[scenario].fork()
        stop(scenario, world, chance.randint(1, calls[scenario]), chance.choice(TORN))
        for _ in range(chance.randint(1, 2)):
            stop(Scenario("recover", (), "recover"), world, chance.randint(1, 50), chance.choice(TORN))
            for left in lost_power(world, chance, most=2):
                where = check_all_comes_back(left)
                assert {where[child] for child in CHILDREN} <= scenario.allowed
                seen += 1
                TALLY["losses of power"] += 1
            *_, world = lost_power(world, chance, most=1)  # and again, from what is left


class Forgetful(MemoryFiles):
    """A file system whose sync does nothing for some paths: what forgetting a sync in the code would be like."""

    forgets: Any = staticmethod(lambda path: False)

    def sync(self, path: str) -> None:
        if not self.forgets(path):
            super().sync(path)


@pytest.mark.parametrize(
    "what, forgets, scenarios",
    [
        ("journal", lambda path: path == JOURNAL, SCENARIOS),
        ("quarantine", lambda path: path == ".r2d2-safety/quarantine", SCENARIOS),
        ("safety folder", lambda path: path == ".r2d2-safety", SCENARIOS),
        ("lake root", lambda path: path == "", SCENARIOS),
        ("rebuilt files", lambda path: path.startswith(".r2d2-safety/work/"), SCENARIOS[5:6]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_test_sees_a_forgotten_sync(what: str, forgets: Any, scenarios: tuple[Scenario, ...]) -> None:
    """The checks above are worth something: without one of the syncs, rows are lost or a state cannot be settled."""
    chance = random.Random(1)
    for scenario in scenarios:
        for number in range(1, 270, 3):
            world = memory_world()
            world.files.__class__ = Forgetful
            world.files.forgets = forgets
            scenario.prepare(world)
            stop(scenario, world, number, None)
            for left in lost_power(world, chance, most=2):
                try:
                    check_all_comes_back(left)
                except (AssertionError, OSError, R2D2Error, ValueError):
                    return
    pytest.fail(f"forgetting to sync the {what} goes unnoticed")


def in_memory_only(world: World, table: str) -> None:
    """As if the table's writer had never synced it."""
    for name in world.files.names(table):
        node = world.files._file(f"{table}/{name}")
        node.durable, node.versions = (b"", 0), [(node.content, node.modified_ns)]
        folder = world.files._node(table)
        del folder.durable_entries[name]
        world.files.changes.append(Change(((folder.inode, name, node.inode),), {folder.inode}))


@pytest.mark.parametrize("forgets", [False, True])
def test_a_parent_is_on_disk_before_it_holds_the_only_copy(forgets: bool) -> None:
    world = memory_world()
    world.files.__class__ = Forgetful
    world.files.forgets = (lambda path: path.startswith("big")) if forgets else (lambda path: False)
    in_memory_only(world, "big")
    world.apply()
    world.drill()
    assert all(purged.is_purged for purged in world.purge())
    lost = 0
    for left in lost_power(world, random.Random(3), most=30):
        try:
            check_all_comes_back(left)
        except (AssertionError, OSError, R2D2Error, ValueError):
            lost += 1
    assert bool(lost) == forgets


def test_the_test_sees_an_effect_before_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a table moved before that is recorded, a kill would leave it in quarantine and nobody would know."""

    def move_first(run: Any, operation: Any) -> None:
        move_durably(run.lake.files, operation.entry.child.location, in_quarantine(operation.slot))
        raise Killed

    monkeypatch.setattr("r2d2.safety.apply._move_aside", move_first)
    world = memory_world()
    with pytest.raises(Killed):
        world.apply()
    with pytest.raises(AssertionError, match="is lost"):
        check_all_comes_back(world)
