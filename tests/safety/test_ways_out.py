"""A restore that was broken off, and whose table is no longer where it was put: there is always a way out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from r2d2.safety.doctor import BAD, Finding, doctor
from r2d2.safety.errors import JournalDamaged, Refused
from r2d2.safety.paths import JOURNAL, QUARANTINE
from r2d2.safety.plan import seal
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.recovery import Recovered, open_lake
from r2d2.safety.registry import State
from r2d2.safety.snapshots import below, see_table
from r2d2.safety.status import status
from tests.safety.hooked import Hooked, Killed, count, kill_at
from tests.safety.memory import MemoryFiles
from tests.safety.test_guards import before_record
from tests.safety.world import World, memory_world

TABLE = "a/small"


def inode_of(found: Any) -> int:
    return int(found.version.identity.rpartition(":")[2])


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
    files.next_inode = inode_of(found)
    files.make_folder(path)
    assert inode_of(files.stat(path)) == inode_of(found)
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
    assert f"move away what is at {TABLE!r}" in wrong.hint
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
    inode = inode_of(world.files.stat(table))
    if table == TABLE:
        remade(world.files)
    else:
        world.files.truncate(table, 0)
    assert inode_of(world.files.stat(table)) == inode
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


# --- files without rows


@pytest.mark.parametrize("note", ["_SUCCESS", ".DS_Store"])
def test_notes_beside_a_parent_s_data_come_and_go(note: str) -> None:
    world = memory_world([TABLE])
    world.files.put(f"big/{note}", b"")
    world.plan = world.make_plan("noted", [TABLE])
    world.apply()
    world.files.unlink(f"big/{note}")
    world.files.put("big/_committed_7", b"x")
    assert not [one for one in doctor(world.files) if one.what == "parent"]
    assert world.drill()[0].is_exact and world.purge()[0].is_purged
    assert world.restore()[0].by == "recipe" and world.rows_at(TABLE) == world.original[TABLE]


def lose_the_parent(world: World) -> None:
    world.files.append("big/part-0.rows", b'[3, "x", 3]\n')


def test_a_copy_in_quarantine_that_lacks_a_note_is_restored_if_its_parent_cannot_help() -> None:
    world = memory_world([TABLE])
    world.apply()
    (slot,) = world.files.names(QUARANTINE)
    world.files.unlink(f"{in_quarantine(slot)}/_SUCCESS")
    world.files.put(f"{in_quarantine(slot)}/.DS_Store", b"x")
    assert world.fork().restore()[0].by == "recipe"  # better than a copy that somebody was at
    lose_the_parent(world)
    wrong = {one.what: one.hint for one in doctor(world.files) if one.severity == BAD}
    assert all("`r2d2 restore` uses whichever copy has every row" in wrong[what] for what in ("quarantine", "parent"))
    to = MemoryFiles("/elsewhere")
    world.rebuilder.layers["/elsewhere"] = to
    assert world.restore(to=to)[0].by == "quarantine" and "part-0.rows" in to.names(TABLE)
    assert world.restore()[0].by == "quarantine" and world.rows_at(TABLE) == world.original[TABLE]


def test_a_copy_in_quarantine_with_a_file_that_is_no_note_is_left_alone() -> None:
    """A writer that still had the folder open may have put it there."""
    world = memory_world([TABLE])
    world.apply()
    (slot,) = world.files.names(QUARANTINE)
    world.files.put(f"{in_quarantine(slot)}/part-9.rows", b"rows?")
    lose_the_parent(world)
    with pytest.raises(Refused, match="its parent"):
        world.restore(tables=[TABLE])


def test_an_empty_folder_in_a_parent_does_no_harm_and_one_in_a_child_is_said() -> None:
    world = memory_world()
    world.files.make_folder("big/_temporary")
    assert all(one.is_deleted for one in world.apply(plan=world.make_plan("again")))
    world = memory_world([TABLE])
    world.files.make_folder(f"{TABLE}/_temporary")
    with pytest.raises(Refused, match="'_temporary/'"):
        world.apply(plan=world.make_plan("again", [TABLE]))


# --- places and disks


def test_bytes_that_a_deleted_table_needs_are_not_purged_while_they_are_nowhere_else() -> None:
    world = memory_world(["b/copy"])
    content = b"".join(world.files.chunks("other/part-0.rows"))
    for name in ("top", "next", "third"):
        world.files.put(f"{name}/part-0.rows", content)
    entry = world.plan.entries[0]
    *copies, third = (see_table(world.files, name, name) for name in ("top", "next", "third"))
    entries = tuple(replace(entry, child=copy, parents=(third,)) for copy in copies)
    world.apply(plan=seal(replace(world.plan, plan_id="copies", entries=entries)))
    world.apply()
    world.drill()
    world.files.unlink("other/part-0.rows")  # what b/copy is rebuilt from: now only in quarantine, twice
    kept = {one.table: one.because for one in world.purge() if not one.is_purged}
    assert (
        all("very bytes that 'b/copy' is rebuilt from" in kept[name] for name in ("top", "next")) and "b/copy" in kept
    )
    world.files.put("other/part-0.rows", content)
    assert all(one.is_purged for one in world.purge())


def test_a_table_whose_place_is_taken_while_it_is_being_deleted_can_be_copied_elsewhere() -> None:
    world = memory_world([TABLE])
    world.apply(before_record(world, "Committed", lambda: world.files.put(f"{TABLE}/x", b"new")))
    (waiting,) = world.restore()
    assert not waiting.is_restored and "recovery could not settle it" in waiting.because
    to = MemoryFiles("/elsewhere")
    world.rebuilder.layers["/elsewhere"] = to
    (copied,) = world.restore(to=to)
    assert copied.by == "quarantine" and "part-0.rows" in to.names(TABLE)
    assert "--to DIR" in pending(world)[0].hint


def test_a_place_that_is_on_another_file_system_by_now_is_said_with_a_way_out() -> None:
    world = memory_world([TABLE])
    world.apply()

    def another(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "move":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    with pytest.raises(Refused, match="another file system") as caught:
        world.restore(Hooked(world.files, another), tables=[TABLE])
    assert "--to" in caught.value.hint
    assert world.restore()[0].by == "quarantine"


def test_a_purge_that_cannot_go_on_is_no_dead_end() -> None:
    world = memory_world([TABLE])
    world.apply()
    world.drill()
    refused = list[str]()

    def held_fast(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "unlink" and given[0].endswith("part-0.rows"):  # the second of two
            refused.append(given[0])
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), given[0])

    stuck = Hooked(world.files, held_fast)
    assert not world.purge(stuck)[0].is_purged and refused
    (restored,) = world.restore(stuck)
    assert (restored.by, restored.because) == ("recipe", "its purge was broken off")
    assert world.rows_at(TABLE) == world.original[TABLE]
    assert not [one for one in doctor(world.files) if one.severity == BAD]


def test_a_checksum_that_came_to_lie_beside_a_file_s_place_is_said_before_it_is_rebuilt() -> None:
    world = memory_world(["flat.rows"])
    world.apply()
    world.drill()
    world.purge()
    world.files.put(".flat.rows.crc", b"crc")
    with pytest.raises(Refused, match=r"\.flat\.rows\.crc"):
        world.restore(tables=["flat.rows"])
    world.files.unlink(".flat.rows.crc")
    assert world.restore()[0].is_restored


def test_a_table_that_nobody_may_move_stays_and_the_others_go() -> None:
    world = memory_world()

    def held_fast(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "move" and given[0] == TABLE:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    done = {one.table: one.is_deleted for one in world.apply(Hooked(world.files, held_fast))}
    assert done == {TABLE: False, "flat.rows": True, "b/copy": True}


def test_a_time_in_the_future_is_called_by_its_name() -> None:
    world = memory_world([TABLE])
    world.start = 0.0
    with pytest.raises(Refused, match="a timestamp in the future"):
        world.apply()


def test_a_status_beside_a_journal_that_lost_records_is_no_status() -> None:
    world = memory_world([TABLE])
    world.apply()
    node = world.files._file(JOURNAL)
    node.content = b""
    with pytest.raises(JournalDamaged, match="has lost records"):
        status(world.files)
    assert "the journal has lost records" in next(one.because for one in doctor(world.files))
