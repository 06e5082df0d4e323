"""Tables that go together: what happens to one of a batch is nobody else's business."""

from __future__ import annotations

import contextlib
import errno
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.errors import EngineEnded, R2D2Error, TableError
from r2d2.model.rebuild import Content
from r2d2.safety.batches import batches
from r2d2.safety.drill import drill
from r2d2.safety.errors import DiskError, Refused
from r2d2.safety.operations import MoveAside, VerifyAside, explain, operations
from r2d2.safety.plan import Entry, FileSeen, TableSeen
from r2d2.safety.posix_versions import posix_version
from r2d2.safety.registry import State
from tests.safety.hooked import Hooked, act_at, count, kill_at
from tests.safety.tally import TALLY
from tests.safety.test_races import TARGETS, WRITERS, is_as_recorded
from tests.safety.world import CHILDREN, SCENARIOS, Scenario, World, check_all_comes_back, memory_world

pytestmark = pytest.mark.usefixtures("remembered_lines")

ALL = tuple(CHILDREN)
MODULES = ("operations", "drill", "restore")


@pytest.fixture
def two_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        monkeypatch.setattr(f"r2d2.safety.{module}.batches", partial(batches, most_tables=2))


def entry(child_bytes: int, parent: int, parent_bytes: int) -> Entry:
    def table(name: str, size: int) -> TableSeen:
        return TableSeen(name, name, False, (FileSeen("", size, posix_version(0, 0, size, 0, 0), "0" * 64, True),))

    return Entry(table("child", child_bytes), (table(f"parent{parent}", parent_bytes),), {}, "", Content(1, 1, "x"))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2)), max_size=30), st.integers(1, 5), st.integers(1, 40))
def test_batches_keep_the_order_and_hold_so_many_tables_and_bytes(sizes: Any, most: int, most_bytes: int) -> None:
    entries = [entry(size, parent, 5) for size, parent in sizes]
    made = list(batches(entries, entry_of=lambda one: one, most_tables=most, most_bytes=most_bytes))
    assert [one for batch in made for one in batch] == entries
    for batch in made:
        parents = {one.parents[0].location for one in batch}
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(one.child.size_bytes for one in batch) + 5 * len(parents) <= most_bytes
    for one, other in pairwise(made):  # none is cut without need
        joined = [*one, other[0]]
        size = sum(x.child.size_bytes for x in joined) + 5 * len({x.parents[0].location for x in joined})
        assert len(joined) > most or size > most_bytes


@pytest.mark.usefixtures("two_at_a_time")
def test_a_plan_is_told_batch_by_batch() -> None:
    plan = memory_world().plan
    moved = [type(one) for one in operations(plan) if isinstance(one, MoveAside | VerifyAside)]
    assert moved == [MoveAside, MoveAside, VerifyAside, MoveAside, VerifyAside]
    told = [sentence for sentence in explain(plan) if sentence.startswith("rebuild")]
    assert "'a/small', 'flat.rows' from their parents" in told[0]
    assert "'b/copy' from 'other'" in told[1]


@pytest.mark.slow
@pytest.mark.usefixtures("two_at_a_time")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_kill_at_any_call_between_and_within_batches_loses_nothing(scenario: Scenario) -> None:
    prepared = scenario.prepare(memory_world())
    probe = prepared.fork()
    files = count(probe.files)
    scenario.run(probe, files)
    for number in range(1, files.calls + 1, 2):
        world = prepared.fork()
        with contextlib.suppress(BaseException):
            scenario.run(world, kill_at(world.files, number, torn=0.5 if number % 4 == 1 else None))
        TALLY["kills"] += 1
        where = check_all_comes_back(world)
        assert {where[child] for child in ALL} <= scenario.allowed


@pytest.mark.slow
@pytest.mark.parametrize("target", ["child", "parent", "file"])
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_a_race_on_one_table_of_a_batch_commits_nothing_that_changed(writer: Callable[..., None], target: str) -> None:
    prepared, commits = memory_world(), list[int]()
    probe = prepared.fork()
    files = count(probe.files)
    files.before = lambda now, name, given: (
        commits.append(now) if name == "append" and b"Committed" in given[1] else None
    )
    probe.apply(files)
    committed: Counter[str] = Counter()
    for number in range(1 + len(writer.__name__) % 3, files.calls + 1, 3):
        world = prepared.fork()

        def act(world: World = world) -> None:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                writer(world.files, TARGETS[target])

        with contextlib.suppress(R2D2Error):
            world.apply(act_at(world.files, number, act))
        with world.lake() as lake:
            deleted = [slot for slot in lake.registry.active if slot.state is State.QUARANTINED]
        late = {slot.entry.child.name for slot in deleted if not is_as_recorded(world, slot)}
        after = {name for name, call in zip(ALL, commits, strict=True) if call + 1 < number}
        assert late <= after, number  # whoever comes later finds a deleted table, and doctor finds what they did
        TALLY["races"] += 1
        committed.update(slot.entry.child.name for slot in deleted)
    # The neighbour with another parent goes whenever the run itself goes on.
    assert committed["b/copy"] > max(committed["a/small" if target != "file" else "flat.rows"] - 1, 0)


def refusing(world: World, name: str, kind: type[R2D2Error] = TableError) -> None:
    """The question about many tables fails as a whole."""

    def broken(asked: Any) -> Any:
        raise kind("the cluster is gone")

    setattr(world.rebuilder, name, broken)


def test_a_question_that_fails_as_a_whole_puts_all_of_the_batch_back() -> None:
    world = memory_world()
    refusing(world, "verify_many")
    assert [(one.is_deleted, one.because) for one in world.apply()] == [(False, "the cluster is gone")] * 3
    assert set(check_all_comes_back(world).values()) == {"lake"}


@pytest.mark.parametrize("name", ["rebuild_many", "measure_many", "compare_many"])
def test_a_drill_that_fails_as_a_whole_is_recorded_for_each(name: str) -> None:
    world = memory_world()
    world.apply()
    refusing(world, name)
    assert [(one.is_exact, one.because) for one in world.drill()] == [(False, "the cluster is gone")] * 3
    assert not any(one.is_purged for one in world.purge())


@pytest.mark.parametrize("name", ["rebuild_many", "measure_many"])
def test_a_restore_that_fails_as_a_whole_leaves_all_as_they_were(name: str) -> None:
    world = memory_world()
    world.apply()
    world.drill()
    world.purge()
    whole = world.fork()
    refusing(world, name)
    assert [one.is_restored for one in world.restore()] == [False] * 3
    with pytest.raises(TableError, match="cluster"):
        world.restore(tables=["a/small"])
    assert check_all_comes_back(whole.with_files(world.files))["a/small"] == "recipe"


@pytest.mark.parametrize("name", ["verify_many", "rebuild_many", "measure_many", "compare_many"])
def test_a_spark_that_ends_stops_the_run_and_says_nothing_of_any_table(name: str) -> None:
    world = memory_world()
    whole = world.rebuilder
    if name == "verify_many":
        refusing(world, name, EngineEnded)
        with pytest.raises(EngineEnded):
            world.apply()
        assert {table: world.rows_at(table) for table in ALL} == {table: world.original[table] for table in ALL}
        assert set(check_all_comes_back(world).values()) == {"lake"}
        return
    world.apply()
    assert all(one.is_exact for one in world.drill())
    refusing(world, name, EngineEnded)
    with pytest.raises(EngineEnded):
        world.drill()
    with world.lake() as lake:
        assert all(slot.is_drilled and len(slot.drills) == 1 for slot in lake.registry.active)
    assert all(one.is_purged for one in world.purge())
    if name != "compare_many":
        with pytest.raises(EngineEnded):
            world.restore()
    world.rebuilder = type(whole)(world.files)
    found = check_all_comes_back(world)
    assert {found[table] for table in ALL} == {"recipe"}


def test_one_table_of_a_batch_that_differs_goes_back_and_the_others_go() -> None:
    world = memory_world()
    verify = world.rebuilder.verify

    def differs(**given: Any) -> Any:
        if given["recipe"]["columns"] == ["name", "n"]:
            raise TableError("this one cannot be read")
        return verify(**given)

    world.rebuilder.verify = differs  # type: ignore[method-assign]
    assert {one.table: one.is_deleted for one in world.apply()} == {"a/small": True, "flat.rows": False, "b/copy": True}
    assert check_all_comes_back(world)["flat.rows"] == "lake"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "I/O error")], ids=["ctrl-c", "disk"])
def test_what_stops_the_run_after_some_commits_keeps_these_and_puts_the_others_back_at_once(
    error: BaseException,
) -> None:
    world, stopped = memory_world(), []

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "append" and b'"Committed"' in given[1]:
            stopped.append(number)
        if len(stopped) == 1 and name == "stat" and number > stopped[0] and given[0] == "flat.rows":
            stopped.append(number)
            raise error

    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else DiskError):
        world.apply(Hooked(world.files, before))
    assert world.files.stat("a/small") is None  # committed
    assert world.rows_at("flat.rows") == world.original["flat.rows"]
    assert world.rows_at("b/copy") == world.original["b/copy"]
    assert check_all_comes_back(world)["a/small"] == "quarantine"


def test_a_parent_of_several_children_is_read_once_for_the_check_and_once_for_each_batch() -> None:
    world, read = memory_world(), Counter[str]()

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "chunks":
            read[given[0]] += 1

    assert all(one.is_deleted for one in world.apply(Hooked(world.files, before)))
    assert read["big/part-0.rows"] == 2  # the parent of two
    assert read["other/part-0.rows"] == 2  # the parent of one
    assert read["flat.rows"] == 1  # and once more in quarantine


def test_a_table_named_twice_is_drilled_and_restored_once() -> None:
    world = memory_world()
    world.apply()
    with world.lake() as lake:
        assert len(drill(lake, rebuilder=world.rebuilder, tables=["a/small", "a/small"])) == 1
    assert len(world.restore(tables=["flat.rows", "flat.rows"])) == 1


def test_of_two_tables_deleted_from_one_place_the_newest_comes_back() -> None:
    world = memory_world(["flat.rows"])
    content = b"".join(world.files.chunks("flat.rows"))
    world.apply()
    world.files.put("flat.rows", content)
    world.apply(plan=world.make_plan("second", ["flat.rows"]))
    world.drill()
    world.purge()
    newest, older = world.restore()
    assert (newest.is_restored, older.is_restored) == (True, False)
    with pytest.raises(Refused):
        world.restore(tables=[older.slot])
