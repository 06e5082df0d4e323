"""Each guard earns its place: with it the harm does not happen, without it it does.

A scenario returns whether the harm happened. docs/safety.md lists every guard with its hazard and its test.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import r2d2.safety
from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Comparison, Placed
from r2d2.safety import codec
from r2d2.safety import snapshots as tables
from r2d2.safety.apply import Approval
from r2d2.safety.drill import drill
from r2d2.safety.errors import Changed, JournalDamaged, Refused
from r2d2.safety.forget import forget
from r2d2.safety.guards import check_plan
from r2d2.safety.journal import line_of, read_journal
from r2d2.safety.paths import JOURNAL, SAFETY
from r2d2.safety.plan import Plan, parse_plan, plan_bytes, recipe_digest, seal
from r2d2.safety.posix import PosixFiles
from r2d2.safety.posix_quarantine import PosixQuarantine
from r2d2.safety.purge import purge
from r2d2.safety.records import FORMAT, MoveIntended, Opened, PlanStarted, Restored, decode_record, encode_record
from r2d2.safety.registry import Registry, State
from tests.safety.hooked import Hooked
from tests.safety.memory import MemoryFiles
from tests.safety.rebuilders import content_of
from tests.safety.world import SIZE, World, memory_world

MODULES = [importlib.import_module(f"r2d2.safety.{found.name}") for found in pkgutil.iter_modules(r2d2.safety.__path__)]


def is_deleted(world: World, plan: Plan | None = None, *, files: Any = None, approval: Approval | None = None) -> bool:
    """Whether a plan that should be refused, or rolled back, deletes something."""
    with suppress(R2D2Error):
        return any(one.is_deleted for one in world.apply(files, plan=plan, approval=approval))
    return False


def is_taken(plan: Plan) -> bool:
    with suppress(Refused):
        parse_plan(plan_bytes(plan))
        return True
    return False


def resealed(world: World, **changes: Any) -> Plan:
    return seal(replace(world.plan, **changes))


def before_record(world: World, kind: str, act: Callable[[], None]) -> Hooked:
    """Act right before a record of this kind is written."""

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "append" and f'"kind":"{kind}"'.encode() in given[1]:
            act()

    return Hooked(world.files, before)


def scribble(files: MemoryFiles, path: str) -> None:
    content = b"".join(files.chunks(path))
    files.scribble(path, content.replace(b"x", b"y"))


# --- plans


def an_unsealed_plan() -> bool:
    world = memory_world()
    return is_taken(replace(world.plan, created="yesterday"))


def a_plan_of_another_version() -> bool:
    return is_taken(resealed(memory_world(), version=1))


def a_journal_of_another_version() -> bool:
    world = memory_world()
    world.recover()
    world.files.unlink(JOURNAL)
    world.files.create(JOURNAL, [line_of(Opened(FORMAT - 1, 0), 0, 0)[0]])
    with suppress(JournalDamaged):
        world.recover()
        return True
    return False


def a_plan_with_a_path_that_leads_out() -> bool:
    world = memory_world()
    entry = world.plan.entries[0]
    child = replace(entry.child, location="../../etc")
    return is_taken(resealed(world, entries=(replace(entry, child=child),)))


def a_journal_with_a_path_that_leads_out() -> bool:
    entry = memory_world().plan.entries[0]
    record = MoveIntended("0" * 64, "p", replace(entry, child=replace(entry.child, location="../x")), 1)
    with suppress(codec.Malformed):
        decode_record(encode_record(record))
        return True
    return False


def a_plan_of_another_lake() -> bool:
    world = memory_world()
    return is_deleted(world, resealed(world, lake_root="/another/lake"))


def a_lake_in_a_lake() -> bool:
    world = memory_world()
    world.files.above[SAFETY] = "/"
    return is_deleted(world)


def a_lake_between() -> bool:
    world = memory_world()
    world.files.put("a/.r2d2-safety/journal.jsonl", b"")
    return is_deleted(world)


def a_plan_used_before() -> bool:
    world = memory_world()
    with world.lake() as lake:
        lake.write(PlanStarted(world.plan.plan_id, world.plan.sha256, "Bob", 3, 1))
    return is_deleted(world)


def a_plan_nobody_approved() -> bool:
    return is_deleted(memory_world(), approval=Approval(" ", typed=3))


def a_large_plan() -> bool:
    world = memory_world()
    lie = resealed(world, lake_tables=10**6, lake_bytes=10**12)  # what the plan states of the lake decides nothing
    return is_deleted(world, approval=Approval("Ann", typed=2)) or is_deleted(world, lie, approval=Approval("Ann"))


def a_table_twice() -> bool:
    world = memory_world(["a/small"])
    entry = world.plan.entries[0]
    with suppress(Refused):
        world.apply(plan=resealed(world, entries=(entry, entry)), approval=Approval("Ann", typed=2))
        return True
    return False


def chained(world: World) -> Plan:
    """`top` holds b/copy; b/copy is to go and to be rebuilt from `other`, and so is `leaf`, from b/copy."""
    world.files.put("leaf/part-0.rows", b"".join(world.files.chunks("b/copy/part-0.rows")))
    copy = next(entry for entry in world.plan.entries if entry.child.location == "b/copy")
    leaf = tables.see_table(world.files, "leaf", "leaf")
    return resealed(world, entries=(replace(copy, child=leaf, parents=(copy.child,)), copy))


def a_parent_in_the_same_plan() -> bool:
    world = memory_world()
    return is_deleted(world, chained(world), approval=Approval("Ann", typed=2))


def a_table_that_is_its_own_parent() -> bool:
    world = memory_world(["b/copy"])
    entry = world.plan.entries[0]
    world.files.put("mirror/part-0.rows", b"")
    own = replace(entry, parents=(replace(entry.child, location="mirror"),))  # the same files under another name
    with suppress(R2D2Error):
        check_plan(
            resealed(world, entries=(own,)),
            Registry(),
            lake_root="/lake",
            lake_size=SIZE,
            approved_by="A",
            typed=1,
            empty_too=False,
        )
        return True
    return False


def a_parent_that_is_deleted() -> bool:
    world = memory_world(["b/copy"])
    plan = chained(world)
    world.apply()
    world.files.put("b/copy/part-0.rows", b"".join(world.files.chunks("other/part-0.rows")))  # there again, as new
    parent = tables.see_table(world.files, "b/copy", "b/copy")
    entry = replace(plan.entries[0], parents=(parent,))
    return is_deleted(world, resealed(world, plan_id="second", entries=(entry,)))


def a_child_that_is_pinned() -> bool:
    world = memory_world(["b/copy"])
    world.files.put("top/part-0.rows", b"".join(world.files.chunks("other/part-0.rows")))
    entry = world.plan.entries[0]
    world.apply()  # b/copy is rebuilt from other, which therefore stays, even if somebody has written it anew
    header, *rows = b"".join(world.files.chunks("other/part-0.rows")).splitlines(keepends=True)
    world.files.unlink("other/part-0.rows")
    world.files.put("other/part-5.rows", header + b"".join(reversed(rows)))
    child, parent = (tables.see_table(world.files, name, name) for name in ("other", "top"))
    other = replace(entry, child=child, parents=(parent,))
    return is_deleted(world, resealed(world, plan_id="second", entries=(other,)))


def a_parent_that_was_renamed() -> bool:
    world = memory_world(["b/copy"])
    world.files.put("top/part-0.rows", b"".join(world.files.chunks("other/part-0.rows")))
    entry = world.plan.entries[0]
    world.apply()
    world.drill()
    world.purge()  # b/copy is rebuilt from other
    world.files.make_folder("2024")
    world.files.move("other", "2024/other")
    child, parent = (tables.see_table(world.files, name, name) for name in ("2024/other", "top"))
    return is_deleted(
        world, resealed(world, plan_id="second", entries=(replace(entry, child=child, parents=(parent,)),))
    )


def a_checksum_beside_a_file() -> bool:
    world = memory_world(["flat.rows"])
    world.files.put(".flat.rows.crc", b"crc")
    return is_deleted(world)


def a_journal_that_lost_its_end() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    node = world.files._file(JOURNAL)
    node.content = node.content.splitlines(keepends=True)[0]  # `Opened`
    with suppress(JournalDamaged), world.lake():
        return True
    return False


def a_table_that_can_be_rebuilt() -> bool:
    world = purged(memory_world(["a/small"]))
    with world.lake() as lake, suppress(Refused):
        return bool(forget(lake, tables=["a/small"], approved_by="Ann"))
    return False


def an_empty_table() -> bool:
    world = memory_world(["b/copy"])
    world.files.put("none/part-0.rows", world.rebuilder.encode(("id", "name", "n"), []))
    recipe = {"columns": ["id", "name", "n"], "modulus": 1000, "rest": 999}
    child = tables.see_table(world.files, "none", "none")
    expected = content_of(world.rebuilder.rows(tables.placed(world.files, child, "none")))
    entry = replace(
        world.plan.entries[0], child=child, recipe=recipe, recipe_sha256=recipe_digest(recipe), expected=expected
    )
    return is_deleted(world, resealed(world, entries=(entry,)))


def a_file_that_nobody_read() -> bool:
    world = memory_world(["a/small"])
    world.files.put("a/small/_notes.txt", b"the only copy")
    child = tables.see_table(world.files, "a/small", "a/small", data=["part-0.rows", "day=1/part-1.rows"])
    return is_deleted(world, resealed(world, entries=(replace(world.plan.entries[0], child=child),)))


# --- tables


def content_that_nobody_read() -> bool:
    world = memory_world(["a/small"])
    world.files.put("a/small/_hidden/notes.txt", b"the only copy")
    return is_deleted(world)


def bytes_that_changed_under_the_same_size_and_time() -> bool:
    world = memory_world(["a/small"])
    # The rows still fit: the change is in a row that the recipe does not take. Only the hash tells.
    content = b"".join(world.files.chunks("big/part-1.rows"))
    assert content.count(b'[7, "x1"') == 1
    world.files.rot("big/part-1.rows", content.replace(b'[7, "x1"', b'[7, "z1"'))
    return is_deleted(world, world.plan)


def a_writer_right_before_the_commit() -> bool:
    world = memory_world(["a/small"])
    files = before_record(world, "Committed", lambda: scribble(world.files, "big/part-0.rows"))
    return is_deleted(world, files=files)


def a_file_of_another_size() -> bool:
    """Seen at a look, before every byte is read again."""
    world = memory_world(["a/small"])
    world.files.append("a/small/part-0.rows", b"more")
    with suppress(Changed):
        tables.look_at(world.files, world.plan.entries[0].child, "a/small")
        return True
    return False


def a_parent_in_use_under_another_name() -> bool:
    world = memory_world(["b/copy"])
    world.files.put("top/part-0.rows", b"".join(world.files.chunks("other/part-0.rows")))
    world.apply()  # b/copy is rebuilt from other
    world.files.make_folder("alias")
    world.files.hard_link("other/part-0.rows", "alias/part-0.rows")
    alias, top = (tables.see_table(world.files, name, name) for name in ("alias", "top"))
    entry = replace(world.plan.entries[0], child=alias, parents=(top,))
    with pytest.MonkeyPatch.context() as patch:  # a bind mount: another name without another link
        patch.setattr("r2d2.safety.preflight.refuse_hard_links", lambda child, look: None)
        return is_deleted(world, resealed(world, plan_id="second", entries=(entry,)))


def a_file_put_there_anew() -> bool:
    world = memory_world(["a/small"])
    content = b"".join(world.files.chunks("a/small/part-0.rows"))
    world.files.unlink("a/small/part-0.rows")
    world.files.put("a/small/part-0.rows", content)
    return is_deleted(world)


def a_table_written_a_moment_ago() -> bool:
    world = memory_world(["a/small"])
    world.start = world.files.ticks / 1e9 + 60
    return is_deleted(world)


class TwoDisks(MemoryFiles):
    def stat(self, path: str) -> Any:
        found = super().stat(path)
        return replace(found, file_system="8") if found and path.startswith("a/small") else found


def a_table_on_another_disk() -> bool:
    world = memory_world(["a/small"])
    world.files.__class__ = TwoDisks
    return is_deleted(world)


def a_file_with_a_second_name() -> bool:
    world = memory_world(["flat.rows"])
    world.files.hard_link("flat.rows", "b/second-name")
    return is_deleted(world)


def two_names_of_the_same_files() -> bool:
    """Found by the files as they are now, whatever inodes the plan speaks of."""
    world = memory_world(["b/copy"])
    entry = world.plan.entries[0]
    look = tables.look_at(world.files, entry.child, entry.child.location)
    with suppress(Refused):
        tables.refuse_shared_files(entry.child, look, entry.parents[0], look)
        return True
    return False


# --- verifying


def a_recipe_that_makes_other_rows() -> bool:
    world = memory_world(["a/small"])
    recipe = {"columns": ["id", "name", "n"], "modulus": 3, "rest": 1}
    entry = replace(world.plan.entries[0], recipe=recipe, recipe_sha256=recipe_digest(recipe))
    return is_deleted(world, resealed(world, entries=(entry,)))


def a_digest_that_is_not_the_table_s() -> bool:
    world = memory_world(["a/small"])
    entry = world.plan.entries[0]
    wrong = replace(entry, expected=replace(entry.expected, digest="0" * 64))
    return is_deleted(world, resealed(world, entries=(wrong,)))


def a_writer_who_puts_the_bytes_back() -> bool:
    world = memory_world(["a/small"])
    verify, path = world.rebuilder.verify, "big/part-0.rows"

    def while_somebody_writes(**given: Any) -> Comparison:
        content = b"".join(world.files.chunks(path))
        scribble(world.files, path)
        world.files.scribble(path, content)
        return verify(**given)

    world.rebuilder.verify = while_somebody_writes  # type: ignore[method-assign]
    return is_deleted(world)


def a_table_written_anew_at_its_old_place() -> bool:
    world = memory_world(["a/small"])
    return is_deleted(
        world, files=before_record(world, "Committed", lambda: world.files.put("a/small/part-9.rows", b"new"))
    )


# --- after the deletion


def purged(world: World) -> World:
    world.apply()
    world.drill()
    world.purge()
    return world


def is_restored(world: World, files: Any = None) -> bool:
    with suppress(R2D2Error):
        return all(one.is_restored for one in world.restore(files, tables=["a/small"]))
    return False


def a_rebuilder_that_leaves_something_behind() -> bool:
    world = purged(memory_world(["a/small"]))
    rebuild = world.rebuilder.rebuild

    def untidy(*, into: str, **given: Any) -> Any:
        world.files.put(f"{into.removeprefix('/lake/')}/_temporary", b"")
        return rebuild(into=into, **given)

    world.rebuilder.rebuild = untidy  # type: ignore[method-assign]
    return is_restored(world)


def a_rebuilder_that_makes_other_rows() -> bool:
    world = purged(memory_world(["a/small"]))
    rebuild = world.rebuilder.rebuild

    def wrong(*, recipe: Any, **given: Any) -> Any:
        return rebuild(recipe={**recipe, "rest": 2}, **given)

    world.rebuilder.rebuild = wrong  # type: ignore[method-assign]
    return is_restored(world)


def a_parent_written_to_while_it_is_read() -> bool:
    world = purged(memory_world(["a/small"]))
    measure = world.rebuilder.measure

    def meanwhile(table: Placed) -> Any:
        scribble(world.files, "big/part-0.rows")
        return measure(table)

    world.rebuilder.measure = meanwhile  # type: ignore[method-assign]
    return is_restored(world)


def is_purged(world: World) -> bool:
    return any(one.is_purged for one in world.purge())


def a_purge_on_the_first_day() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    world.drill()
    with world.lake() as lake:
        return any(one.is_purged for one in purge(lake))


def a_purge_without_a_drill() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    return is_purged(world)


def a_purge_after_the_parent_changed() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    world.drill()
    world.files.append("big/part-1.rows", b'[20, "x", 1]\n')
    return is_purged(world)


def a_table_whose_place_is_taken() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    world.files.put("a/small/part-0.rows", b"somebody's")
    with suppress(Refused):
        world.restore(tables=["a/small"])
    with world.lake() as lake:  # the move itself refuses, too; but nothing should even be begun
        return b"RestoreIntended" in b"".join(lake.files.chunks(JOURNAL))


def a_copy_into_the_safety_folder() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    to = MemoryFiles("/lake/.r2d2-safety/quarantine")
    with suppress(Refused):
        return all(one.is_restored for one in world.restore(to=to))
    return False


def a_copy_to_its_own_place() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    with suppress(Refused):
        return all(one.is_restored for one in world.restore(to=world.files))
    return False


def a_table_that_recovery_left_alone() -> bool:
    world = memory_world(["a/small"])
    with suppress(R2D2Error):
        world.apply(before_record(world, "Committed", lambda: world.files.put("a/small/x", b"new")))
    with world.lake() as lake:
        (slot,) = lake.registry.active
        assert slot.state is State.MOVING
        try:
            drill(lake, rebuilder=world.rebuilder, tables=[slot.slot])
        except Refused:
            return False
        except JournalDamaged:  # a record that cannot be: the user would look for a backup of the journal
            return True
        raise AssertionError("it was drilled")


def a_journal_damaged_in_the_middle() -> bool:
    world = memory_world()
    world.apply()
    node = world.files._file(JOURNAL)
    node.content = node.content.replace(b"Ann", b"Bob", 1)
    try:
        return len(read_journal(PosixQuarantine(world.files)).records) < 4  # as if it had never been written
    except JournalDamaged:
        return False


def a_record_that_cannot_be() -> bool:
    world = memory_world(["a/small"])
    world.apply()
    with world.lake() as lake, suppress(JournalDamaged):
        lake.write(Restored(next(iter(lake.registry.slots)), 1))
    try:
        world.recover()
    except JournalDamaged:
        return True
    return False


def a_lake_in_an_object_store() -> bool:
    try:
        PosixFiles("s3://bucket/lake")
    except Refused as error:
        return "not supported yet" not in str(error)
    return True


def a_system_that_follows_links() -> bool:
    with pytest.MonkeyPatch.context() as patch, suppress(Refused):
        patch.delattr("os.O_NOFOLLOW")
        PosixFiles("/")
        return True
    return False


GUARDS: dict[str, Callable[[], bool]] = {
    "refuse_remote": a_lake_in_an_object_store,
    "refuse_no_posix": a_system_that_follows_links,
    "refuse_other_version": a_plan_of_another_version,
    "refuse_other_format": a_journal_of_another_version,
    "refuse_unsealed": an_unsealed_plan,
    "refuse_malformed": a_plan_with_a_path_that_leads_out,
    "refuse_malformed_entry": a_journal_with_a_path_that_leads_out,
    "refuse_other_lake": a_plan_of_another_lake,
    "refuse_lake_above": a_lake_in_a_lake,
    "refuse_lake_between": a_lake_between,
    "refuse_used": a_plan_used_before,
    "refuse_nameless": a_plan_nobody_approved,
    "refuse_large": a_large_plan,
    "refuse_overlapping": a_table_twice,
    "refuse_deleting_parents": a_parent_in_the_same_plan,
    "refuse_same_table": a_table_that_is_its_own_parent,
    "refuse_deleted_parent": a_parent_that_is_deleted,
    "refuse_pinned_child": a_child_that_is_pinned,
    "refuse_empty": an_empty_table,
    "refuse_unread": a_file_that_nobody_read,
    "refuse_unexplained": content_that_nobody_read,
    "refuse_other_content": bytes_that_changed_under_the_same_size_and_time,
    "refuse_moving_target": a_writer_right_before_the_commit,
    "refuse_other_file": a_file_of_another_size,
    "refuse_rewritten": a_file_put_there_anew,
    "refuse_pinned_files": a_parent_in_use_under_another_name,
    "refuse_recent": a_table_written_a_moment_ago,
    "refuse_other_device": a_table_on_another_disk,
    "refuse_hard_links": a_file_with_a_second_name,
    "refuse_checksum_beside": a_checksum_beside_a_file,
    "refuse_last_copy": a_parent_that_was_renamed,
    "refuse_recoverable": a_table_that_can_be_rebuilt,
    "refuse_unknown_slots": a_journal_that_lost_its_end,
    "refuse_shared_files": two_names_of_the_same_files,
    "refuse_different": a_recipe_that_makes_other_rows,
    "refuse_unexpected": a_digest_that_is_not_the_table_s,
    "refuse_written": a_writer_who_puts_the_bytes_back,
    "refuse_reappeared": a_table_written_anew_at_its_old_place,
    "refuse_odd_output": a_rebuilder_that_leaves_something_behind,
    "refuse_inexact": a_rebuilder_that_makes_other_rows,
    "refuse_parent_in_motion": a_parent_written_to_while_it_is_read,
    "refuse_early": a_purge_on_the_first_day,
    "refuse_undrilled": a_purge_without_a_drill,
    "refuse_drifted_parent": a_purge_after_the_parent_changed,
    "refuse_occupied": a_table_whose_place_is_taken,
    "refuse_inside_safety": a_copy_into_the_safety_folder,
    "refuse_the_lake_itself": a_copy_to_its_own_place,
    "refuse_unsettled": a_table_that_recovery_left_alone,
    "refuse_damage": a_journal_damaged_in_the_middle,
    "refuse_impossible": a_record_that_cannot_be,
}


def switch_off(monkeypatch: pytest.MonkeyPatch, guard: str) -> None:
    """Make a guard say yes to everything, wherever it is called."""
    yes: Any = lambda *given, **named: None  # noqa: E731
    if guard == "refuse_drifted_parent":  # it also returns how the parent looks

        def yes(parents: Any, slot: Any) -> Any:
            return (tables.Look((), ()),)

        monkeypatch.setattr("r2d2.safety.purge._look_again", lambda *given: None)
    if guard == "refuse_impossible":
        monkeypatch.setattr(Registry, guard, yes)
        return
    holders = [module for module in MODULES if hasattr(module, guard)]
    assert holders, guard
    for module in holders:
        monkeypatch.setattr(module, guard, yes)


@pytest.mark.parametrize("guard", GUARDS)
def test_with_the_guard_the_harm_does_not_happen(guard: str) -> None:
    assert not GUARDS[guard]()


@pytest.mark.parametrize("guard", GUARDS)
def test_without_the_guard_it_does(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    switch_off(monkeypatch, guard)
    assert GUARDS[guard]()


def test_every_guard_in_the_code_is_here() -> None:
    source = "\n".join(Path(str(module.__file__)).read_text() for module in MODULES)
    assert set(re.findall(r"def (refuse_\w+)", source)) == set(GUARDS)


def test_every_guard_is_in_the_docs_with_its_test() -> None:
    page = (Path(__file__).parents[2] / "docs" / "safety.md").read_text()
    page = page.partition("## Guards of safe deletion")[2].partition("### Guards of reading")[0]
    listed = dict(re.findall(r"^\| `(refuse_\w+)` \|.*\| `(\w+)` \|$", page, flags=re.MULTILINE))
    assert listed == {guard: scenario.__name__ for guard, scenario in GUARDS.items()}
