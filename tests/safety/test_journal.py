"""The journal: what fits is believed, a torn tail is cut off, anything else stops everything (HAZARDS 22, 24)."""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import Any

import pytest

from r2d2.safety import codec
from r2d2.safety.errors import JournalDamaged, JournalStopped
from r2d2.safety.journal import line_of, read_journal
from r2d2.safety.locked_lake import hold
from r2d2.safety.paths import JOURNAL, why_unsafe
from r2d2.safety.posix_quarantine import PosixQuarantine
from r2d2.safety.records import (
    FORMAT,
    Committed,
    CommitWithdrawn,
    Drilled,
    MoveIntended,
    MoveUndone,
    Opened,
    PlanStarted,
    Purged,
    PurgeIntended,
    PurgeUndone,
    Restored,
    RestoreIntended,
    RestoreUndone,
    decode_record,
    encode_record,
)
from r2d2.safety.recovery import undo_move
from r2d2.safety.registry import Registry, State
from tests.safety.hooked import Killed, count, fail_at, kill_at
from tests.safety.world import World, memory_world


@pytest.fixture(scope="module")
def used() -> World:
    world = memory_world()
    world.apply()
    world.drill()
    world.purge()
    return world


def content_of(world: World) -> bytes:
    return b"".join(world.files.chunks(JOURNAL))


def with_journal(world: World, content: bytes) -> World:
    made = world.fork()
    made.files.unlink(JOURNAL)
    made.files.create(JOURNAL, [content])
    return made


def test_a_journal_cut_anywhere_tells_what_came_before_the_cut(used: World) -> None:
    content = content_of(used)
    records = read_journal(PosixQuarantine(used.files)).records
    ends = [index + 1 for index, byte in enumerate(content) if byte == ord("\n")]
    for cut in range(0, len(content), 7):
        told = read_journal(PosixQuarantine(with_journal(used, content[:cut]).files))
        whole = sum(end <= cut for end in ends)
        assert told.records == records[:whole]
        assert told.torn_bytes == cut - told.size_bytes


def test_a_flipped_bit_anywhere_stops_or_costs_the_last_record_only(used: World) -> None:
    content = content_of(used)
    last_line = content.rstrip(b"\n").rfind(b"\n") + 1
    records, stopped = read_journal(PosixQuarantine(used.files)).records, 0
    for index in range(0, len(content), 11):
        flipped = content[:index] + bytes([content[index] ^ (1 << index % 8)]) + content[index + 1 :]
        world = with_journal(used, flipped)
        try:
            assert read_journal(PosixQuarantine(world.files)).records == records[:-1] and index >= last_line
        except JournalDamaged:
            stopped += 1
    assert stopped >= last_line // 11


def test_a_damaged_end_of_a_line_does_not_cost_the_record_before_it(used: World) -> None:
    content = content_of(used)
    before_last = content.rstrip(b"\n").rfind(b"\n")
    for bit in range(8):
        flipped = content[:before_last] + bytes([ord("\n") ^ (1 << bit)]) + content[before_last + 1 :]
        with pytest.raises(JournalDamaged):
            read_journal(PosixQuarantine(with_journal(used, flipped).files))


def test_lines_lost_repeated_or_swapped_stop_everything(used: World) -> None:
    lines = content_of(used).splitlines(keepends=True)
    for index in range(1, len(lines) - 1):
        for other in (
            lines[:index] + lines[index + 1 :],
            [*lines[:index], lines[index], *lines[index:]],
            [*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]],
        ):
            with pytest.raises(JournalDamaged):
                with_journal(used, b"".join(other)).recover()


def test_a_damaged_journal_stops_every_command_and_touches_nothing(used: World) -> None:
    content = content_of(used)
    world = with_journal(used, b"x" + content)
    for command in (world.apply, world.drill, world.purge, world.restore, world.recover):
        with pytest.raises(JournalDamaged, match="record 0"):
            command()
    assert content_of(world) == b"x" + content


def test_another_format_is_not_guessed_at() -> None:
    world = memory_world()
    world.recover()
    line, _ = line_of(Opened(FORMAT + 1, 0), 0, 0)
    with pytest.raises(JournalDamaged, match=f"format {FORMAT + 1}"):
        with_journal(world, line).recover()


def test_paths_in_a_journal_are_checked_as_those_in_a_plan(used: World) -> None:
    intent = next(
        record for record in read_journal(PosixQuarantine(used.files)).records if isinstance(record, MoveIntended)
    )
    for location in ("../../etc", "/etc", ".r2d2-safety/quarantine", "a/../b"):
        assert why_unsafe(location)
        child = replace(intent.entry.child, location=location)
        record = replace(intent, entry=replace(intent.entry, child=child))
        with pytest.raises(codec.Malformed):
            decode_record(encode_record(record))


@pytest.mark.parametrize("value", [None, [], {}, {"kind": "Unknown"}, {"kind": "Purged"}, {"kind": ["Purged"]}])
def test_what_is_no_record_is_none(value: Any) -> None:
    with pytest.raises((codec.Malformed, TypeError)):
        decode_record(value)


def test_after_a_record_that_may_be_on_disk_or_not_nothing_is_done() -> None:
    world = memory_world()
    with world.lake() as lake:
        lake.journal._lines = PosixQuarantine(fail_at(world.files, 2, errno.EIO))  # the sync
        for _ in range(2):
            with pytest.raises(JournalStopped):
                lake.write(PlanStarted("p", "s", "Ann", 1, 0))
        assert lake.journal.is_stopped and not lake.registry.plans
    world.recover()


def test_only_stories_that_can_be_are_believed(used: World) -> None:
    """Every record in every state: only the pairs of the protocol pass."""
    records = read_journal(PosixQuarantine(used.files)).records
    intent = next(record for record in records if isinstance(record, MoveIntended))
    slot, content = intent.slot, intent.entry.expected
    commit, undone = Committed(slot, content, 0.0, 1), MoveUndone(slot, "", 1)
    purging, restoring = PurgeIntended(slot, 1), RestoreIntended(slot, "x", 1, 1)
    states: dict[State | None, list[Any]] = {
        None: [],
        State.MOVING: [intent],
        State.UNDONE: [intent, undone],
        State.QUARANTINED: [intent, commit],
        State.PURGING: [intent, commit, purging],
        State.PURGED: [intent, commit, purging, Purged(slot, 1)],
        State.RESTORING: [intent, commit, restoring],
        State.RESTORED: [intent, commit, restoring, Restored(slot, 1)],
    }
    moving, quarantined, purged = State.MOVING, State.QUARANTINED, State.PURGED
    allowed: list[tuple[Any, set[State | None]]] = [
        (intent, {None}),
        (commit, {moving}),
        (undone, {moving}),
        (CommitWithdrawn(slot, "", 1), {quarantined}),
        (Drilled(slot, "", 0.0, 1), {quarantined, purged}),
        (purging, {quarantined}),
        (PurgeUndone(slot, 1), {State.PURGING}),
        (Purged(slot, 1), {State.PURGING}),
        (restoring, {quarantined, purged}),
        (RestoreUndone(slot, "", 1), {State.RESTORING}),
        (Restored(slot, 1), {State.RESTORING}),
    ]
    for record, sources in allowed:
        for state, story in states.items():
            registry = Registry(story)
            if state in sources:
                registry.refuse_impossible(record)
                registry.learn(record)
            else:
                with pytest.raises(JournalDamaged, match="that cannot be"):
                    registry.refuse_impossible(record)
                with pytest.raises(JournalDamaged):
                    registry.learn(record)
                assert registry.slots.get(slot) == Registry(story).slots.get(slot)


def test_an_impossible_record_is_refused_before_it_is_written() -> None:
    world = memory_world()
    world.apply()
    before = content_of(world)
    with world.lake() as lake, pytest.raises(JournalDamaged):
        lake.write(Restored(next(iter(lake.registry.slots)), 0))
    assert content_of(world) == before


def test_nothing_is_moved_back_while_the_journal_is_stopped() -> None:
    world = memory_world(["a/small"])
    with pytest.raises(Killed):
        world.apply(kill_at(world.files, _call_after_move(world.fork())))
    with hold(world.files, world.clock) as lake:
        lake.journal._lines = PosixQuarantine(fail_at(world.files, 1, errno.EIO))
        with pytest.raises(JournalStopped):
            lake.write(PlanStarted("p", "s", "Ann", 1, 0))
        with pytest.raises(JournalStopped):
            undo_move(lake, lake.registry.active[0], "")
        assert world.files.stat("a/small") is None
    world.recover()
    assert world.rows_at("a/small") == world.original["a/small"]


def _call_after_move(world: World) -> int:
    moves: list[int] = []
    files = count(world.files)
    files.before = lambda number, name, given: moves.append(number) if name == "move" else None
    world.apply(files)
    return moves[0] + 1
