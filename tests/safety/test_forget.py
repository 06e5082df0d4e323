"""A lost table can be given up, by name and for good; one that can be had cannot."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from r2d2.safety.doctor import BAD, doctor
from r2d2.safety.errors import DiskError, Refused
from r2d2.safety.forget import forget
from r2d2.safety.paths import QUARANTINE
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.registry import State
from r2d2.safety.status import status
from tests.safety.hooked import Hooked, Killed, count, kill_at
from tests.safety.test_guards import before_record
from tests.safety.world import World, memory_world

TABLE = "a/small"
ADDED = b'[3, "x", 3]\n'


def lost(*, half_purged: bool = False) -> World:
    """Purged, or half-way there; and then its parent was changed."""
    world = memory_world([TABLE, "b/copy"])
    world.apply()
    world.drill()
    if half_purged:
        with pytest.raises(Killed):
            world.purge(before_record(world, "Purged", die))
    else:
        world.purge()
    world.files.append("big/part-0.rows", ADDED)
    return world


def die() -> None:
    raise Killed


def give_up(world: World, *tables: str, files: Any = None, approved_by: str = "Ann") -> Any:
    with world.lake(files) as lake:
        return forget(lake, tables=tables or [TABLE], approved_by=approved_by)


def bad(world: World) -> list[str]:
    return [one.table for one in doctor(world.files) if one.severity == BAD]


@pytest.mark.parametrize("half_purged", [False, True])
def test_a_lost_table_is_given_up_and_nobody_is_warned_again(half_purged: bool) -> None:
    world = lost(half_purged=half_purged)
    assert bad(world) == [TABLE]
    assert all("`r2d2 forget`" in one.hint for one in doctor(world.files) if one.severity == BAD)
    (done,) = give_up(world)
    assert (done.table, done.parent) == (TABLE, "big") and "another size" in done.because
    assert bad(world) == [] and [name for name, _ in status(world.files).pins] == ["other"]
    assert {one.table: (one.state, one.place) for one in status(world.files).tables}[TABLE] == ("forgotten", "nowhere")
    with pytest.raises(Refused, match="its parent 'big' has changed"):
        world.restore(tables=[TABLE])
    with pytest.raises(Refused, match="not a deleted table"):
        give_up(world)
    assert [one.table for one in world.restore() if one.is_restored] == ["b/copy"]  # the other is as it was


@pytest.mark.parametrize("half_purged", [False, True])
def test_if_its_parent_comes_back_after_all_it_is_rebuilt(half_purged: bool) -> None:
    world = lost(half_purged=half_purged)
    give_up(world)
    content = b"".join(world.files.chunks("big/part-0.rows"))
    world.files.truncate("big/part-0.rows", len(content) - len(ADDED))
    (restored,) = world.restore(tables=[TABLE])
    assert (restored.by, restored.because) == ("recipe", "it was given up")
    assert world.rows_at(TABLE) == world.original[TABLE]


def test_rows_that_are_still_in_quarantine_are_restored_and_not_given_up() -> None:
    """Somebody took a note out of a table while its purge was broken off, and its parent changed."""
    world = memory_world([TABLE])
    world.apply()
    world.drill()
    with pytest.raises(Killed):
        world.purge(Hooked(world.files, lambda number, name, given: die() if name == "unlink" else None))
    (slot,) = world.files.names(QUARANTINE)
    world.files.unlink(f"{in_quarantine(slot)}/_SUCCESS")
    world.files.append("big/part-0.rows", ADDED)
    with pytest.raises(Refused, match="its rows are in quarantine"):
        give_up(world)
    (restored,) = world.restore()
    assert restored.by == "quarantine" and world.rows_at(TABLE) == world.original[TABLE]


def test_rows_are_unlinked_before_notes() -> None:
    world, gone = memory_world([TABLE]), list[str]()
    world.apply()
    world.drill()
    world.purge(Hooked(world.files, lambda number, name, given: gone.append(given[0]) if name == "unlink" else None))
    assert [path.endswith(".rows") for path in gone] == [True, True, False]


def test_what_can_be_had_is_not_given_up() -> None:
    world = memory_world([TABLE, "b/copy"])
    world.apply()
    with pytest.raises(Refused, match="it is quarantined"):
        give_up(world)
    world = lost()
    with pytest.raises(Refused, match="'b/copy' is not lost: its parent can rebuild it"):
        give_up(world, TABLE, "b/copy")
    assert bad(world) == [TABLE]  # all or none
    with pytest.raises(Refused, match="nobody"):
        give_up(world, approved_by=" ")
    with pytest.raises(Refused, match="not a deleted table"):
        give_up(world, "untouched")


def test_a_parent_that_cannot_be_read_just_now_is_not_lost() -> None:
    world = lost()

    def unreadable(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "stat" and given[0].startswith("big/"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(DiskError):
        give_up(world, files=Hooked(world.files, unreadable))
    assert bad(world) == [TABLE]


def test_a_kill_at_any_call_leaves_it_lost_or_given_up() -> None:
    prepared = lost()
    counted = count(prepared.fork().files)
    give_up(prepared.with_files(counted.files), files=counted)
    for number in range(1, counted.calls + 1):
        world = prepared.fork()
        with pytest.raises(Killed):
            give_up(world, files=kill_at(world.files, number, torn=0.5 if number % 2 else None))
        world.recover()
        with world.lake() as lake:
            states = {slot.entry.child.name: slot.state for slot in lake.registry.slots.values()}
        assert states[TABLE] in (State.PURGED, State.FORGOTTEN)
        assert bad(world) == ([TABLE] if states[TABLE] is State.PURGED else [])
