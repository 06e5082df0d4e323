"""A restore that was broken off, and whose table is no longer where it was put: there is always a way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from r2d2.safety.doctor import BAD, Finding, doctor
from r2d2.safety.moving import in_quarantine
from r2d2.safety.paths import QUARANTINE
from r2d2.safety.recovery import Recovered, open_lake
from r2d2.safety.refused import Refused
from r2d2.safety.registry import State
from r2d2.safety.status import status
from r2d2.safety.tables import below
from tests.safety.hooked import Hooked, Killed, count, kill_at
from tests.safety.memory import MemoryFiles
from tests.safety.test_guards import before_record
from tests.safety.world import World, memory_world

TABLE = "a/small"


def die() -> None:
    raise Killed


def broken_off(*steps: str, table: str = TABLE) -> World:
    """Killed after the table was moved home, and before that was recorded."""
    world = memory_world([table])
    for step in ("apply", *steps):
        getattr(world, step)()
    with pytest.raises(Killed):
        world.restore(before_record(world, "Restored", die))
    assert world.files.stat(table) is not None
    return world


def remove(files: MemoryFiles, path: str = TABLE) -> None:
    """As `rm -r` does it."""
    found = files.stat(path)
    assert found is not None
    if found.kind == "folder":
        for name in files.names(path):
            remove(files, f"{path}/{name}")
        files.remove_folder(path)
    else:
        files.unlink(path)


def remade(files: MemoryFiles, path: str = TABLE) -> None:
    """Removed, and an empty folder made that gets the inode of the old one."""
    found = files.stat(path)
    assert found is not None
    remove(files, path)
    files.next_inode = found.inode
    files.make_folder(path)
    assert files.stat(path).inode == found.inode  # type: ignore[union-attr]
    files.next_inode = 10_000


def rewritten(files: MemoryFiles) -> None:
    """A job puts another folder in the table's place."""
    remove(files)
    files.put(f"{TABLE}/part-0.rows", b'["id", "name", "n"]\n')


def rewritten_under_the_same_inode(files: MemoryFiles) -> None:
    remade(files)
    files.put(f"{TABLE}/part-0.rows", b'["id", "name", "n"]\n')


def pending(world: World) -> list[Finding]:
    return [one for one in doctor(world.files) if one.what == "pending" and one.severity == BAD]


def recovered(world: World) -> Recovered:
    with open_lake(world.files, world.clock) as (_, found):
        (one,) = found
    return one


def test_a_table_that_was_removed_after_its_restore_comes_back_by_its_recipe() -> None:
    world = broken_off()
    remove(world.files)
    (wrong,) = pending(world)
    assert "neither in quarantine nor" in wrong.because and "`r2d2 restore` rebuilds it" in wrong.hint
    told = recovered(world)
    assert told.did == "" and "`r2d2 restore` rebuilds it" in told.because
    (restored,) = world.restore(tables=[TABLE])
    assert (restored.by, "neither at its old place nor in quarantine" in restored.because) == ("recipe", True)
    assert world.rows_at(TABLE) == world.original[TABLE]
    assert not [one for one in doctor(world.files) if one.severity == BAD]
    assert status(world.files).pins == ()


@pytest.mark.parametrize("act", [remade, rewritten, rewritten_under_the_same_inode], ids=lambda act: act.__name__)
def test_what_somebody_put_in_its_place_is_not_taken_for_the_table_nor_overwritten(
    act: Callable[[MemoryFiles], None],
) -> None:
    world = broken_off()
    act(world.files)
    left = list(below(world.files, TABLE))
    assert recovered(world).did == ""
    (wrong,) = pending(world)
    assert f"move away what lies at {TABLE!r}" in wrong.hint
    with pytest.raises(Refused, match="already"):
        world.restore(tables=[TABLE])
    (refused,) = world.restore()
    assert not refused.is_restored and list(below(world.files, TABLE)) == left
    to = MemoryFiles("/elsewhere")
    world.rebuilder.layers["/elsewhere"] = to
    (copied,) = world.restore(tables=[TABLE], to=to)
    assert copied.is_restored and copied.by == "recipe" and pending(world)  # a copy changes nothing here
    remove(world.files)
    (restored,) = world.restore()
    assert restored.by == "recipe" and world.rows_at(TABLE) == world.original[TABLE]


def test_a_table_that_comes_back_to_its_place_is_restored_after_all() -> None:
    world = broken_off()
    world.files.move(TABLE, "stolen")
    assert recovered(world).did == ""
    world.files.move("stolen", TABLE)
    assert recovered(world).did == "the restore was finished"
    assert world.rows_at(TABLE) == world.original[TABLE] and not pending(world)


def test_a_table_that_has_grown_since_its_restore_is_restored() -> None:
    world = broken_off()
    world.files.put(f"{TABLE}/part-9.rows", b"more")
    assert recovered(world).did == "the restore was finished"


@pytest.mark.parametrize("table", [TABLE, "flat.rows"])
def test_an_empty_thing_under_the_inode_of_what_a_recipe_made_is_no_table(table: str) -> None:
    world = broken_off("drill", "purge", table=table)
    inode = world.files.stat(table).inode
    if table == TABLE:
        remade(world.files)
    else:
        world.files.truncate(table, 0)
    assert world.files.stat(table).inode == inode
    assert recovered(world).did == "the restore was undone"
    remove(world.files, table)
    assert world.restore()[0].by == "recipe" and world.rows_at(table) == world.original[table]


def test_while_it_can_only_be_rebuilt_a_parent_that_drifted_is_said() -> None:
    world = broken_off()
    remove(world.files)
    assert "parent" not in {one.what for one in doctor(world.files)}
    world.files.append("big/part-0.rows", b'[3, "x", 3]\n')
    (wrong,) = [one for one in doctor(world.files) if one.what == "parent"]
    assert wrong.severity == BAD and "backup" in wrong.hint
    with pytest.raises(Refused, match="its parent"):
        world.restore(tables=[TABLE])


def test_a_kill_at_any_call_of_the_way_out_leaves_a_way_out() -> None:
    prepared = broken_off()
    remove(prepared.files)
    probe = prepared.fork()
    files = count(probe.files)
    probe.restore(files)
    for number in range(1, files.calls + 1):
        world = prepared.fork()
        with pytest.raises(Killed):
            world.restore(kill_at(world.files, number, torn=0.5 if number % 2 else None))
        for one in world.restore():
            assert one.is_restored, one.because
        assert world.rows_at(TABLE) == world.original[TABLE], number
        with world.lake() as lake:
            assert [slot.state for slot in lake.registry.slots.values()] == [State.RESTORED]


def test_a_table_that_vanished_on_its_way_to_quarantine_is_wrong_and_the_hint_says_where_to_put_it() -> None:
    world, moved = memory_world([TABLE]), list[int]()

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if moved:
            raise Killed
        if name == "move":
            moved.append(number)

    with pytest.raises(Killed):
        world.apply(Hooked(world.files, before))
    (slot,) = world.files.names(QUARANTINE)
    assert not pending(world)
    world.files.move(in_quarantine(slot), "stolen")
    (wrong,) = pending(world)
    assert "someone else moved it" in wrong.because and f"put it back at {TABLE!r}" in wrong.hint
    world.files.move("stolen", TABLE)
    world.recover()
    assert world.rows_at(TABLE) == world.original[TABLE] and not pending(world)
