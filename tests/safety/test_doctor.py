"""Status and doctor: what is said of a healthy lake, and of each thing that can be wrong."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Comparison
from r2d2.safety.doctor import BAD, NOTE, doctor
from r2d2.safety.drill import drill
from r2d2.safety.errors import Changed, Refused
from r2d2.safety.files import Files
from r2d2.safety.locked_lake import hold
from r2d2.safety.paths import JOURNAL, QUARANTINE, SAFETY, WORK
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.records import PurgeIntended
from r2d2.safety.recovery import open_lake
from r2d2.safety.registry import State
from r2d2.safety.snapshots import below, see_table
from r2d2.safety.status import status
from tests.safety.hooked import Hooked, Killed
from tests.safety.memory import MemoryFiles
from tests.safety.rebuilders import content_of
from tests.safety.test_guards import before_record, scribble
from tests.safety.world import MONTH, World, memory_world


@pytest.fixture
def world() -> World:
    made = memory_world(["a/small"])
    made.apply()
    return made


def slot_in(world: World) -> str:
    (name,) = world.files.names(QUARANTINE)
    return name


def findings(world: World, **options: Any) -> set[tuple[str, str]]:
    return {(finding.severity, finding.what) for finding in doctor(world.files, **options)}


def test_of_a_lake_without_deletions_there_is_nothing_to_say() -> None:
    files = memory_world().files
    assert doctor(files) == ()
    assert status(files).tables == () and status(files).held_by is None
    assert files.stat(SAFETY) is None  # looking makes nothing


def test_a_healthy_deletion_only_lacks_its_drill(world: World) -> None:
    assert findings(world) == findings(world, deep=False) == {(NOTE, "drill")}
    world.drill()
    assert findings(world) == set()


def test_status_tells_where_every_table_is(world: World) -> None:
    (row,) = status(world.files).tables
    assert (row.table, row.state, row.parent, row.approved_by, row.rows) == ("a/small", "quarantined", "big", "Ann", 6)
    assert (row.drills, row.is_drilled, row.drill_seconds) == (0, False, None)
    assert row.purge_from == int(world.start + 30 * 86400)
    assert (row.place, row.committed_at, row.purged_at, row.restored_at, row.rebuilds) == (
        "quarantine", row.since, None, None, 0,
    )  # fmt: skip
    assert status(world.files).pins == (("big", 1),)
    assert status(world.files).quarantined_bytes == row.size_bytes > 0
    world.drill()
    world.purge()
    now = status(world.files)
    assert (now.quarantined_bytes, now.purged_bytes, now.plans) == (0, row.size_bytes, 1)
    assert now.tables[0].is_drilled and now.tables[0].drill_seconds is not None and now.tables[0].purge_from is None
    assert (now.tables[0].place, now.tables[0].rebuilds) == ("recipe", 1) and now.tables[0].purged_at
    world.restore()
    back = status(world.files).tables[0]
    assert status(world.files).pins == () and (back.state, back.place, back.rebuilds) == ("restored", "lake", 2)
    assert back.restored_at and back.committed_at == row.since and back.purged_at == now.tables[0].purged_at


def test_a_restore_from_quarantine_is_no_rebuild(world: World) -> None:
    world.restore()
    (row,) = status(world.files).tables
    assert (row.place, row.rebuilds, row.purged_at) == ("lake", 0, None)


def test_a_deletion_that_was_withdrawn_was_none() -> None:
    world = memory_world(["a/small"])
    world.apply(before_record(world, "Committed", lambda: scribble(world.files, "big/part-0.rows")))
    (row,) = status(world.files).tables
    assert (row.state, row.place, row.committed_at) == ("undone", "lake", None)
    assert b"CommitWithdrawn" in b"".join(world.files.chunks(JOURNAL))


def test_a_parent_that_is_not_what_it_was_is_read_once_for_all_its_children() -> None:
    world = memory_world()
    world.apply()
    world.drill()
    scribble(world.files, "big/part-1.rows")
    reads: Counter[str] = Counter()

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        reads[given[0]] += name == "chunks"

    bad = {finding.table for finding in doctor(Hooked(world.files, before)) if finding.severity == BAD}
    assert bad == {entry.child.name for entry in world.plan.entries if entry.parents[0].location == "big"}
    assert len(bad) > 1 and reads["big/part-1.rows"] == 1


def test_a_parent_of_several_children_is_read_once_by_purge_and_once_by_doctor() -> None:
    world = memory_world()
    world.apply()
    world.drill()
    assert [entry.parents[0].location for entry in world.plan.entries].count("big") > 1
    for act in (lambda files: doctor(files), lambda files: world.purge(files)):
        reads: Counter[str] = Counter()

        def before(number: int, name: str, given: tuple[Any, ...], reads: Counter[str] = reads) -> None:
            reads[given[0]] += name == "chunks"

        act(Hooked(world.files, before))
        rows = {path for path in reads if path.startswith("big/") and path.endswith(".rows")}
        assert {reads[path] for path in rows} == {1} and not reads["big/_SUCCESS"]


def test_a_damaged_copy_in_quarantine_is_bad_and_the_recipe_still_helps(world: World) -> None:
    path = f"{in_quarantine(slot_in(world))}/part-0.rows"
    content = b"".join(world.files.chunks(path))
    world.files.scribble(path, content[:-4] + b"9" + content[-3:])
    assert (BAD, "quarantine") in findings(world)
    assert (BAD, "quarantine") not in findings(world, deep=False)  # only reading every byte tells
    (drilled,) = world.drill()
    assert not drilled.is_exact and "holds other bytes" in drilled.because
    assert (BAD, "drill") in findings(world)
    (kept,) = world.purge()
    assert not kept.is_purged and "no drill has rebuilt" in kept.because
    (restored,) = world.restore()
    assert restored.by == "recipe" and "damaged" in restored.because
    assert world.rows_at("a/small") == world.original["a/small"]
    assert (NOTE, "leftover") in findings(world) and (BAD, "leftover") not in findings(world)


def test_a_missing_or_surplus_file_in_quarantine_is_bad(world: World) -> None:
    slot = in_quarantine(slot_in(world))
    world.files.put(f"{slot}/late", b"a writer that still had the folder open")
    assert (BAD, "quarantine") in findings(world, deep=False)
    world.drill()
    (kept,) = world.purge()
    assert not kept.is_purged
    world.files.unlink(f"{slot}/late")
    world.files.unlink(f"{slot}/part-0.rows")
    assert (BAD, "quarantine") in findings(world)


def test_a_parent_that_drifted_is_bad_and_restoring_from_quarantine_still_works(world: World) -> None:
    world.files.append("big/part-0.rows", b'[3, "x", 3]\n')
    found = [finding for finding in doctor(world.files) if finding.what == "parent"]
    assert [(one.severity, one.hint) for one in found] == [(BAD, "restore it from quarantine now")]
    assert world.restore()[0].by == "quarantine"


@pytest.mark.parametrize("what", ["parent", "quarantine"])
def test_what_was_written_anew_under_the_old_size_is_read_even_in_a_hurry(world: World, what: str) -> None:
    path = "big/part-0.rows" if what == "parent" else f"{in_quarantine(slot_in(world))}/part-0.rows"
    content = b"".join(world.files.chunks(path))
    world.files.unlink(path)
    world.files.put(path, content)
    assert (BAD, what) not in findings(world, deep=False)  # another time, the same bytes
    world.files.unlink(path)
    world.files.put(path, content[:-4] + b"9" + content[-3:])
    assert (BAD, what) in findings(world, deep=False)


def test_a_drifted_parent_of_a_purged_table_is_refused_until_it_is_back(world: World) -> None:
    world.drill()
    world.purge()
    before = b"".join(world.files.chunks("big/part-0.rows"))
    world.files.scribble("big/part-0.rows", before.replace(b"x", b"y"))
    assert any("backup" in finding.hint for finding in doctor(world.files) if finding.what == "parent")
    with pytest.raises(Changed, match="its parent 'big' has changed") as caught:
        world.restore(tables=["a/small"])
    assert "backup" in caught.value.hint and world.files.stat("a/small") is None
    assert not world.restore()[0].is_restored
    assert not world.drill()[0].is_exact
    world.files.scribble("big/part-0.rows", before)
    assert world.restore()[0].by == "recipe"
    assert world.rows_at("a/small") == world.original["a/small"]


def test_a_parent_that_came_back_from_a_backup_is_as_good_as_before(world: World) -> None:
    world.drill()
    world.purge()
    content = b"".join(world.files.chunks("big/part-0.rows"))
    world.files.unlink("big/part-0.rows")
    with pytest.raises(Changed, match="is missing"):
        world.restore(tables=["a/small"])
    world.files.put("big/part-0.rows", content)  # another inode, another time, the same bytes
    assert world.drill()[0].is_exact and world.restore()[0].by == "recipe"
    assert world.rows_at("a/small") == world.original["a/small"]


@pytest.mark.parametrize("steps", [(), ("drill",), ("drill", "purge")])
def test_a_lake_that_was_copied_to_another_disk_works_as_before(world: World, steps: tuple[str, ...]) -> None:
    for step in steps:
        getattr(world, step)()
    files = MemoryFiles()
    files.next_inode = 1000
    for path in below(world.files, ""):
        if path.endswith("/"):
            files.put(path + "x", b"")
            files.unlink(path + "x")
        else:
            files.put(path, b"".join(world.files.chunks(path)))
    files.all_durable()
    moved = world.with_files(files)
    assert not [finding for finding in doctor(files) if finding.severity == BAD]
    moved.drill()
    for purged in moved.purge():
        assert purged.is_purged, purged.because
    assert files.names(QUARANTINE) == []
    assert moved.restore()[0].is_restored
    assert moved.rows_at("a/small") == world.original["a/small"]


def test_a_parent_that_grew_is_fine_what_was_added_is_not_read(world: World) -> None:
    world.drill()
    world.files.put("big/part-9.rows", b'["id", "name", "n"]\n[3, "more", 1]\n')
    assert findings(world) == {(NOTE, "parent")}
    assert world.purge()[0].is_purged and world.drill()[0].is_exact
    assert world.restore()[0].is_restored
    assert world.rows_at("a/small") == world.original["a/small"]


def test_something_new_at_the_old_place_is_noted(world: World) -> None:
    world.files.put("a/small/part-0.rows", b"new")
    assert (NOTE, "place") in findings(world)
    with pytest.raises(Refused, match="is at '/lake/a/small' already"):
        world.restore(tables=["a/small"])


def test_leftovers_are_named_and_those_of_others_are_left_alone(world: World) -> None:
    world.drill()
    world.files.put(f"{QUARANTINE}/theirs/x", b"whose?")
    world.files.put(f"{WORK}/{'1' * 64}/x", b"half")
    world.files.put(f"{WORK}/notes", b"whose?")
    world.files.put(f"{SAFETY}/readme", b"whose?")
    found = [(one.severity, one.because.partition(" ")[0], one.hint) for one in doctor(world.files)]
    assert found == [
        (NOTE, f"{SAFETY}/readme", "R2D2 leaves it alone"),
        (BAD, f"{QUARANTINE}/theirs", "look into it; R2D2 leaves it alone"),
        (NOTE, f"{WORK}/{'1' * 64}", "the next apply, drill, purge or restore removes it"),
        (NOTE, f"{WORK}/notes", "R2D2 leaves it alone"),
    ]
    world.recover()
    assert world.files.names(WORK) == ["notes"]
    assert b"".join(world.files.chunks(f"{QUARANTINE}/theirs/x")) == b"whose?"


def test_an_empty_folder_where_a_lake_should_be_is_said() -> None:
    assert [(one.severity, one.hint) for one in doctor(MemoryFiles())] == [(BAD, "is its disk mounted there?")]


def test_a_journal_that_is_torn_or_damaged_is_said(world: World) -> None:
    world.files.append(JOURNAL, b'{"crc":')
    assert (NOTE, "journal") in findings(world)
    world.recover()
    assert (NOTE, "journal") not in findings(world)
    node = world.files._file(JOURNAL)
    node.content = b"x" + node.content
    assert findings(world) == {(BAD, "journal")}


def test_a_safety_folder_that_is_none_is_said() -> None:
    files = memory_world().files
    files.create(SAFETY, [b""])
    assert [(one.severity, one.what) for one in doctor(files)] == [(BAD, "folder")]


def test_a_safety_folder_without_quarantine_is_no_reason_to_fail(world: World) -> None:
    files = MemoryFiles()
    files.make_folder(SAFETY)
    assert doctor(files) == ()


def interrupted(world: World) -> World:
    with suppress(R2D2Error):
        world.apply(before_record(world, "Committed", lambda: world.files.put("a/small/x", b"new")))
    return world


def test_a_table_that_cannot_come_back_waits_and_comes_back_when_it_can() -> None:
    world = interrupted(memory_world(["a/small"]))
    bad = [finding for finding in doctor(world.files) if finding.severity == BAD]
    assert [(one.what, "put" in one.hint) for one in bad] == [("pending", True)]
    with open_lake(world.files, world.clock) as (_, recovered):
        assert [(one.did, "something else is at" in one.because) for one in recovered] == [("", True)]
    with pytest.raises(Refused, match="recovery could not settle it"):
        world.restore(tables=["a/small"])
    with world.lake() as lake, pytest.raises(Refused, match="recovery could not settle it"):
        drill(lake, rebuilder=world.rebuilder, tables=["a/small"])
    world.files.unlink("a/small/x")
    world.files.remove_folder("a/small")
    world.recover()
    assert world.rows_at("a/small") == world.original["a/small"]


def killed_while_moving(world: World) -> World:
    """Killed right after the table was moved."""
    with pytest.raises(Killed):
        world.apply(_killed_after(world, "move"))
    return world


def _killed_after(world: World, call: str) -> Any:
    seen: list[int] = []

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if seen:
            raise Killed
        if name == call:
            seen.append(number)

    return Hooked(world.files, before)


def test_pending_work_is_noted() -> None:
    world = killed_while_moving(memory_world(["a/small"]))
    assert (NOTE, "pending") in findings(world)


def test_a_folder_above_that_became_a_file_or_link_stops_only_its_own_table() -> None:
    world = killed_while_moving(memory_world(["a/small"]))
    world.files.remove_folder("a")
    world.files.create("a", [b"a file where a folder was"])
    with open_lake(world.files, world.clock) as (lake, recovered):
        assert recovered[0].did == "" and "is not a folder" in recovered[0].because
        assert lake.registry.active[0].state is State.MOVING
    world.files.unlink("a")
    world.recover()
    assert world.rows_at("a/small") == world.original["a/small"]


def test_a_table_that_somebody_took_from_quarantine_is_reported_and_nothing_is_touched() -> None:
    world = killed_while_moving(memory_world(["a/small"]))
    world.files.move(in_quarantine(slot_in(world)), "stolen")
    with open_lake(world.files, world.clock) as (_, recovered):
        assert recovered[0].did == "" and "someone else moved it" in recovered[0].because


def test_a_restore_whose_table_somebody_took_is_reported() -> None:
    world = memory_world(["a/small"])
    world.apply()
    with pytest.raises(Killed):
        world.restore(_killed_after(world, "append"))
    world.files.move(in_quarantine(slot_in(world)), "stolen")
    with open_lake(world.files, world.clock) as (_, recovered):
        assert recovered[0].did == "" and "someone else moved or replaced it" in recovered[0].because


def test_a_purge_is_not_finished_if_the_parent_changed_meanwhile(world: World) -> None:
    world.drill()
    with pytest.raises(Killed):
        world.purge(_killed_after(world, "unlink"))
    before = b"".join(world.files.chunks("big/part-0.rows"))
    world.files.append("big/part-0.rows", b'[1, "x", 1]\n')
    with open_lake(world.files, world.clock) as (lake, recovered):
        assert recovered[0].did == "" and "its parent has changed" in recovered[0].because
        assert lake.registry.active[0].state is State.PURGING
    (wrong,) = [one for one in doctor(world.files) if one.severity == BAD]
    assert wrong.what == "parent" and "bring the files of 'big' back from a backup" in wrong.hint
    assert in_quarantine(slot_in(world)) in wrong.hint  # what is left of the table can be had by hand
    assert world.files.names(in_quarantine(slot_in(world))) != []
    world.files.scribble("big/part-0.rows", before)
    world.recover()
    assert world.restore()[0].is_restored and world.rows_at("a/small") == world.original["a/small"]


def test_a_file_that_came_to_bear_a_listed_name_is_not_unlinked(world: World) -> None:
    world.drill()
    slot = slot_in(world)
    path = f"{in_quarantine(slot)}/part-0.rows"
    world.later += MONTH
    with hold(world.files, world.clock) as lake:
        lake.write(PurgeIntended(slot, lake.now()))
    world.files.unlink(path)
    world.files.put(path, b"another file of that name")
    world.recover()
    assert b"".join(world.files.chunks(path)) == b"another file of that name"
    assert (BAD, "leftover") in findings(world)


# --- which table is meant


def test_tables_are_found_by_name_place_or_slot_and_the_newest_counts(world: World) -> None:
    first = slot_in(world)
    small = see_table(world.files, "x", in_quarantine(first))
    for file in small.files:
        content = b"".join(world.files.chunks(f"{in_quarantine(first)}/{file.path}"))
        world.files.put(f"a/small/{file.path}", content)
    world.apply(plan=world.make_plan("second", ["a/small"]))
    with pytest.raises(Refused, match="not a deleted table"):
        world.restore(tables=["b/copy"])
    (copied,) = world.restore(tables=[first[:10]], to=MemoryFiles("/elsewhere"))
    assert copied.slot == first
    (restored,) = world.restore(tables=["a/small"])
    assert restored.slot != first
    twice = world.restore(tables=["a/small", "a/small"])  # one table, by whatever names
    assert [one.is_restored for one in twice] == [False]


def test_nothing_deleted_is_said_as_such() -> None:
    with pytest.raises(Refused, match="not a deleted table") as caught:
        memory_world().restore(tables=["big"])
    assert "none" in caught.value.hint


# --- rebuilders that are not what they should be


def test_a_rebuild_that_differs_only_when_compared_fails_the_drill(world: World) -> None:
    world.rebuilder.compare = lambda **given: replace(  # type: ignore[method-assign]
        _comparison(world), differs="column n was nullable"
    )
    (drilled,) = world.drill()
    assert not drilled.is_exact and "nullable" in drilled.because


def _comparison(world: World) -> Any:
    return Comparison("", content_of(world.original["a/small"]))


def test_a_table_that_should_be_one_file_is_rebuilt_as_one(world: World) -> None:
    made = memory_world(["flat.rows"])
    made.apply()
    made.drill()
    made.purge()
    rebuild = made.rebuilder.rebuild

    def as_folder(*, one_file: bool, **given: Any) -> Any:
        return rebuild(one_file=False, **given)

    made.rebuilder.rebuild = as_folder  # type: ignore[method-assign]
    with pytest.raises(Refused, match="unexpected files"):
        made.restore(tables=["flat.rows"])
    made.rebuilder.rebuild = rebuild  # type: ignore[method-assign]
    made.restore()
    assert made.rows_at("flat.rows") == made.original["flat.rows"]


def test_what_vanishes_right_before_the_move_is_noticed(world: World) -> None:
    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "stat" and given == (in_quarantine(slot),) and not gone:
            gone.append(number)
            world.files.move(in_quarantine(slot), "stolen")

    slot, gone = slot_in(world), []  # type: ignore[var-annotated]
    with pytest.raises(Changed, match="has vanished"):
        world.restore(Hooked(world.files, before), tables=["a/small"])


def test_a_place_that_is_taken_at_the_last_moment_is_refused_for_copies_too(world: World) -> None:
    to = MemoryFiles("/elsewhere")

    class Taken(MemoryFiles):
        def move(self, source: str, target: str) -> None:
            self.put(target, b"somebody's")
            super().move(source, target)

    to.__class__ = Taken
    with pytest.raises(Refused, match="appeared at"):
        world.restore(tables=["a/small"], to=to)
    assert to.names("") == ["a"]


def test_a_quarantine_folder_that_vanishes_is_refused() -> None:
    world = memory_world(["a/small"])

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "stat" and given == (QUARANTINE,) and number > 20:
            world.files.remove_folder(QUARANTINE)

    with pytest.raises(Refused, match="quarantine folder is gone"):
        world.apply(Hooked(world.files, before))


def test_there_is_no_table_where_there_is_none() -> None:
    files: Files = memory_world().files
    with pytest.raises(Refused, match="no table at"):
        see_table(files, "x", "nowhere")
