"""A table that is rebuilt from two parents: both are checked, pinned, looked at by the doctor and needed to purge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r2d2.safety.batches import batches, shares
from r2d2.safety.doctor import BAD, doctor
from r2d2.safety.errors import Refused
from r2d2.safety.forget import forget
from r2d2.safety.guards import refuse_same_table
from r2d2.safety.operations import explain
from r2d2.safety.plan import Entry, Plan, parse_plan, plan_bytes, recipe_digest, seal
from r2d2.safety.registry import State
from r2d2.safety.snapshots import placed, see_table
from r2d2.safety.status import status
from tests.safety.rebuilders import content_of, encode_lines
from tests.safety.world import OTHER, SCHEMA, World, check_all_comes_back, memory_world

PARENTS = ("other", "untouched")
UNION = "union/of two"
RECIPE = {"columns": ["id", "name", "n"], "modulus": 1, "rest": 0}


def a_world() -> World:
    """A lake with a table that holds the rows of two others, and a plan to delete it."""
    world = memory_world(())
    world.files.put(f"{UNION}/part-0.rows", encode_lines(SCHEMA, [*OTHER, (99, "z", 1)]))
    world.files.all_durable()
    world.plan = plan_of(world, UNION, PARENTS)
    world.original = {**world.original, UNION: world.rows_at(UNION)}
    return world


def plan_of(world: World, child: str, parents: tuple[str, ...], plan_id: str = "two-parents") -> Plan:
    seen, *above = (see_table(world.files, name, name) for name in (child, *parents))
    expected = content_of(world.rebuilder.rows(placed(world.files, seen, child)))
    entry = Entry(seen, tuple(above), RECIPE, recipe_digest(RECIPE), expected)
    return seal(replace(world.plan, plan_id=plan_id, entries=(entry,)))


def state_of(world: World) -> State:
    with world.lake() as lake:
        (slot,) = lake.registry.slots.values()
        return slot.state


def test_it_is_deleted_drilled_purged_and_rebuilt() -> None:
    world = a_world()
    assert parse_plan(plan_bytes(world.plan)) == world.plan
    assert world.apply()[0].is_deleted and world.drill()[0].is_exact and world.purge()[0].is_purged
    assert status(world.files).pins == (("other", 1), ("untouched", 1))
    assert status(world.files).tables[0].parent == "other, untouched"
    check_all_comes_back(world)
    assert world.rows_at(UNION) == world.original[UNION]


def test_every_sentence_names_both() -> None:
    checked, rebuilt, pinned = (explain(a_world().plan)[number] for number in (1, 4, 5))
    assert all("'other'" in sentence and "'untouched'" in sentence for sentence in (checked, rebuilt, pinned))


def append(world: World, parent: str) -> None:
    world.files.append(f"{parent}/part-0.rows", b'[5, "x", 5]\n')


def rot(world: World, parent: str) -> None:
    path = f"{parent}/part-0.rows"
    world.files.rot(path, b"".join(world.files.chunks(path)).replace(b'"', b"'", 1))


def remove(world: World, parent: str) -> None:
    world.files.unlink(f"{parent}/part-0.rows")


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("act", [append, rot, remove])
def test_a_change_of_either_stops_the_apply(parent: str, act: Callable[[World, str], None]) -> None:
    world = a_world()
    act(world, parent)
    with pytest.raises(Refused, match=parent):
        world.apply()
    assert world.files.stat(UNION) is not None


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("act", [append, rot, remove])
def test_a_change_of_either_stops_purge_drill_and_rebuild_and_the_doctor_says_so(
    parent: str, act: Callable[[World, str], None]
) -> None:
    world = a_world()
    world.apply(), world.drill()
    purged = world.fork()
    purged.purge()
    for one in (world, purged):
        act(one, parent)
        assert any(found.severity == BAD and parent in found.because for found in doctor(one.files))
        assert not one.drill()[0].is_exact
    assert not world.purge()[0].is_purged and state_of(world) is State.QUARANTINED
    with pytest.raises(Refused, match=parent):
        purged.restore(tables=[UNION])
    assert world.restore()[0].is_restored and world.rows_at(UNION) == world.original[UNION]


@pytest.mark.parametrize("parent", PARENTS)
def test_a_purge_that_was_broken_off_is_not_finished_without_both(parent: str) -> None:
    from tests.safety.hooked import Killed
    from tests.safety.test_guards import before_record

    def die() -> None:
        raise Killed

    world = a_world()
    world.apply(), world.drill()
    with pytest.raises(Killed):
        world.purge(before_record(world, "Purged", die))
    append(world, parent)
    assert state_of(world) is State.PURGING


@pytest.mark.parametrize("parent", PARENTS)
def test_either_is_pinned_also_under_another_name(parent: str) -> None:
    world = a_world()
    world.apply()
    keeper = "big"  # whatever it is to be rebuilt from: the pin speaks first
    with pytest.raises(Refused, match=f"{parent}.* is pinned"):
        world.apply(plan=plan_of(world, parent, (keeper,), "of-a-parent"))
    world.files.move(parent, "renamed")
    with pytest.raises(Refused, match="rebuilt from"):
        world.apply(plan=plan_of(world, "renamed", (keeper,), "of-a-renamed-parent"))


@pytest.mark.parametrize("order", [PARENTS, PARENTS[::-1]])
def test_neither_may_go_with_it_nor_be_gone(order: tuple[str, ...]) -> None:
    world = a_world()
    both = plan_of(world, UNION, order)
    for parent in PARENTS:
        of_parent = plan_of(world, parent, ("big",)).entries
        with pytest.raises(Refused, match="is rebuilt from"):
            world.apply(plan=seal(replace(both, entries=(*both.entries, *of_parent))))
    with pytest.raises(Refused, match="not two separate tables"):
        refuse_same_table(replace(both.entries[0], parents=(both.entries[0].parents[0], both.entries[0].child)))
    world.files.put("gone/part-0.rows", encode_lines(SCHEMA, OTHER))
    later = plan_of(world, UNION, ("untouched", "gone"), "later")
    assert world.apply(plan=plan_of(world, "gone", ("other",), "first"))[0].is_deleted
    with pytest.raises(Refused, match="'gone', which is deleted"):
        world.apply(plan=later)


def test_a_lost_table_is_given_up_only_if_a_parent_is_lost() -> None:
    world = a_world()
    world.apply(), world.drill(), world.purge()
    with world.lake() as lake, pytest.raises(Refused, match="not lost"):
        forget(lake, tables=[UNION], approved_by="Ann")
    remove(world, PARENTS[1])
    with world.lake() as lake:
        (done,) = forget(lake, tables=[UNION], approved_by="Ann")
    assert done.parent == "other, untouched" and "'untouched'" in done.because


def test_each_parent_counts_once_in_a_batch() -> None:
    (entry,) = a_world().plan.entries
    assert shares([entry]) == [1.0]
    all_bytes = entry.child.size_bytes + entry.parent_bytes
    identity: Any = lambda one: one  # noqa: E731
    assert len(list(batches([entry] * 2, entry_of=identity, most_bytes=all_bytes + entry.child.size_bytes))) == 1
    assert len(list(batches([entry] * 2, entry_of=identity, most_bytes=all_bytes))) == 2


def test_no_parent_the_same_twice_and_a_column_mapping_are_refused() -> None:
    plan = a_world().plan
    (entry,) = plan.entries
    for changed in (
        replace(entry, parents=()),
        replace(entry, parents=(*entry.parents, entry.parents[0])),
        replace(entry, column_mapping={"id": "key"}),
    ):
        with pytest.raises(Refused, match="no parent, one twice, or renamed columns"):
            parse_plan(plan_bytes(seal(replace(plan, entries=(changed,)))))
