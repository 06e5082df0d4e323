"""When the power goes, what was not synced may be lost, in any combination; no row is (HAZARDS 22, 23).

`make torture-safety` raises the number of states: SAFETY_STATES.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from r2d2.errors import R2D2Error
from r2d2.safety.errors import JournalDamaged
from r2d2.safety.paths import JOURNAL, QUARANTINE, SAFETY, WORK
from r2d2.safety.quarantine import in_quarantine, move_durably
from r2d2.safety.snapshots import below
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

STATES = int(os.environ.get("SAFETY_STATES", 2000))
SEED = int(os.environ.get("SAFETY_SEED", 23))
TORN = (None, 0.4, 1.0)
ALL = tuple(CHILDREN)
READS = ("stat", "names", "chunks", "lock", "lock_holder")
SEEN: set[int] = set()


def lost_power(world: World, chance: random.Random, most: int) -> Iterator[World]:
    for left in world.files.survivors(chance, most):
        yield world.with_files(left)


def stop(scenario: Scenario, world: World, number: int, torn: float | None) -> None:
    try:
        scenario.run(world, kill_at(world.files, number, torn=torn))
    except Killed:
        return


@cache
def prepared(scenario: Scenario, children: tuple[str, ...]) -> tuple[World, tuple[int, ...]]:
    """A lake right before a command, and the calls of the command that change something: between two, nothing does."""
    world, changes = scenario.prepare(memory_world(children)), []
    probe = world.fork()
    files = count(probe.files)
    files.before = lambda number, name, given: changes.append(number) if name not in READS else None
    scenario.run(probe, files)
    return world, (*changes, files.calls + 1)


def points(chance: random.Random) -> Iterator[tuple[Scenario, tuple[str, ...], int]]:
    """Where the power goes: first at every change that every command makes, then anywhere, with some of the tables."""
    everywhere = [(one, ALL, number) for one in SCENARIOS for number in prepared(one, ALL)[1]]
    yield from chance.sample(everywhere, k=len(everywhere))
    while True:
        scenario, children = chance.choice(SCENARIOS), tuple(chance.sample(ALL, k=chance.randint(1, len(ALL))))
        yield scenario, children, chance.choice(prepared(scenario, children)[1])


def check(world: World, scenario: Scenario, children: tuple[str, ...]) -> None:
    """Check a state, unless the very same was checked before."""
    TALLY["losses of power"] += 1
    names = sorted(below(world.files, ""))
    state = hash(tuple((name, b"" if name.endswith("/") else b"".join(world.files.chunks(name))) for name in names))
    if state not in SEEN:
        SEEN.add(state)
        TALLY["different states after one"] += 1
        where = check_all_comes_back(world)
        assert {where[child] for child in children} <= scenario.allowed, scenario.name


def test_no_loss_of_power_loses_a_row() -> None:
    chance = random.Random(SEED)
    started = TALLY["losses of power"]
    for scenario, children, number in points(chance):
        world = prepared(scenario, children)[0].fork()
        stop(scenario, world, number, chance.choice(TORN))
        for left in lost_power(world, chance, most=chance.choice((4, 16, 128))):
            check(left, scenario, children)
        if TALLY["losses of power"] - started >= STATES:
            return


def test_no_loss_of_power_during_recovery_loses_a_row() -> None:
    chance = random.Random(SEED + 1)
    started = TALLY["losses of power"]
    for scenario, children, number in points(chance):
        world = prepared(scenario, children)[0].fork()
        stop(scenario, world, number, chance.choice(TORN))
        for _ in range(chance.randint(1, 2)):
            stop(Scenario("recover", (), "recover"), world, chance.randint(1, 50), chance.choice(TORN))
            for left in lost_power(world, chance, most=4):
                check(left, scenario, children)
            *_, world = lost_power(world, chance, most=1)  # and again, from what is left
        if TALLY["losses of power"] - started >= STATES // 2:
            return


class Forgetful(MemoryFiles):
    """A file system whose sync does nothing for some paths: what forgetting a sync in the code would be like."""

    forgets: Any = staticmethod(lambda path: False)

    def sync(self, path: str) -> None:
        if not self.forgets(path):
            super().sync(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "what, forgets, scenarios",
    [
        ("journal", lambda path: path == JOURNAL, SCENARIOS),
        ("quarantine", lambda path: path == QUARANTINE, SCENARIOS),
        ("safety folder", lambda path: path == SAFETY, SCENARIOS),
        ("lake root", lambda path: path == "", SCENARIOS),
        ("rebuilt files", lambda path: path.startswith(f"{WORK}/"), SCENARIOS[5:6]),
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
    with pytest.raises(JournalDamaged, match="has lost records"):
        check_all_comes_back(world)
