"""Somebody writes to a table or its parent while a command runs: what was changed is not committed, and nothing is lost.

Writers are programs that know nothing of us and work by path (HAZARDS 14).
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r2d2.errors import R2D2Error
from r2d2.safety.errors import Changed
from r2d2.safety.paths import SAFETY
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.registry import Slot, State
from r2d2.safety.snapshots import PosixTables, below, examine
from tests.safety.hooked import Hooked, act_at, count
from tests.safety.memory import MemoryFiles
from tests.safety.tally import TALLY
from tests.safety.world import World, memory_world, posix_world

DISK_RACES = int(os.environ.get("SAFETY_DISK_RACES", 6))

TARGETS = {"child": "a/small/part-0.rows", "parent": "big/part-0.rows", "file": "flat.rows"}


def append(files: MemoryFiles, path: str) -> None:
    files.append(path, b'[1, "new", 1]\n')


def replace_in_place(files: MemoryFiles, path: str) -> None:
    content = b"".join(files.chunks(path))
    files.scribble(path, content[:-4] + b"7" + content[-3:])  # same size, same time, same inode


def replace(files: MemoryFiles, path: str) -> None:
    content = b"".join(files.chunks(path))
    files.unlink(path)
    files.create(path, [content])  # even the same bytes: somebody is at work there


def delete(files: MemoryFiles, path: str) -> None:
    files.unlink(path)


def rename(files: MemoryFiles, path: str) -> None:
    files.move(path, path + ".old")


def new_file(files: MemoryFiles, path: str) -> None:
    files.put(os.path.dirname(path) + "/part-9.rows" if "/" in path else path, b'["id", "name", "n"]\n')


def new_folder(files: MemoryFiles, path: str) -> None:
    files.put(os.path.dirname(path) + "/_temporary/0/x" if "/" in path else path, b"half")


def rename_table(files: MemoryFiles, path: str) -> None:
    table = path.rpartition("/")[0] or path
    files.move(table, "elsewhere")


WRITERS = (append, replace_in_place, replace, delete, rename, new_file, new_folder, rename_table)


def all_contents(files: MemoryFiles) -> Counter[bytes]:
    """Every file in the lake or in quarantine; not our own notes."""
    paths = [path for path in below(files, "") if not path.endswith("/")]
    ours = (f"{SAFETY}/journal", f"{SAFETY}/lock", f"{SAFETY}/work")
    return Counter(b"".join(files.chunks(path)) for path in paths if not path.startswith(ours))


def last_record(world: World) -> int:
    """The call before which a writer must be noticed: the one that writes `Committed`."""
    appends: list[int] = []
    files = count(world.files)
    files.before = lambda number, name, given: appends.append(number) if name == "append" else None
    world.apply(files)
    return appends[-1]


def is_as_recorded(world: World, slot: Slot) -> bool:
    """Whether child and parent are, to the byte, what was proven and recorded."""
    try:
        examine(PosixTables(world.files), slot.entry.child, in_quarantine(slot.slot), alone=True)
        examine(PosixTables(world.files), slot.entry.parents[0], slot.entry.parents[0].location, alone=True)
    except Changed:
        return False
    return world.files.stat(slot.entry.child.location) is None


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_no_changed_table_is_committed(writer: Callable[..., None], target: str) -> None:
    path = TARGETS[target]
    child = "flat.rows" if target == "file" else "a/small"
    prepared = memory_world([child])
    committed = 0
    last = last_record(prepared.fork())
    for number in range(1, last + 2):
        world = prepared.fork()
        there: list[Counter[bytes]] = []

        def act(world: World = world, there: list[Counter[bytes]] = there) -> None:
            try:
                writer(world.files, path)
                there.append(all_contents(world.files))
            except FileNotFoundError:  # the table is in quarantine: the writer fails, as it should
                return

        with contextlib.suppress(R2D2Error):
            world.apply(act_at(world.files, number, act))
        with world.lake() as lake:
            deleted = [slot for slot in lake.registry.active if slot.state is State.QUARANTINED]
        assert all(is_as_recorded(world, slot) for slot in deleted), number
        TALLY["races"] += 1
        committed += len(deleted)
        if there:
            assert not there[0] - all_contents(world.files), f"content lost at call {number}"
        else:
            assert deleted  # who failed to write changed nothing
    assert committed < last  # most of these are refused or rolled back


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_no_table_is_purged_whose_parent_changes(writer: Callable[..., None]) -> None:
    prepared = memory_world(["a/small"])
    prepared.apply()
    prepared.drill()
    appends: list[int] = []
    probe = prepared.fork()
    files = count(probe.files)
    files.before = lambda number, name, given: appends.append(number) if name == "append" else None
    probe.purge(files)
    for number in range(1, appends[0] + 2):  # the last look comes right after this record
        world = prepared.fork()
        with contextlib.suppress(R2D2Error):
            world.purge(act_at(world.files, number, lambda world=world: writer(world.files, TARGETS["parent"])))
        with world.lake() as lake:
            (slot,) = lake.registry.active
        if slot.state is not State.QUARANTINED:  # then the parent's bytes are all there, whoever wrote them
            assert writer in (replace, new_file, new_folder), number
            examine(PosixTables(world.files), slot.entry.parents[0], "big", alone=False)


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_what_is_restored_is_exact_whatever_the_parent_does(writer: Callable[..., None]) -> None:
    prepared = memory_world(["a/small"])
    prepared.apply()
    prepared.drill()
    prepared.purge()
    probe = prepared.fork()
    files = count(probe.files)
    probe.restore(files)
    for number in range(1, files.calls + 1):
        world = prepared.fork()
        with contextlib.suppress(R2D2Error):
            world.restore(act_at(world.files, number, lambda world=world: writer(world.files, TARGETS["parent"])))
        if world.files.stat("a/small") is not None:
            assert world.rows_at("a/small") == world.original["a/small"]


def test_a_table_that_comes_to_lie_there_is_never_replaced() -> None:
    """Between any two calls of a restore somebody makes a table at the old place (HAZARDS 21)."""
    for steps in (("apply",), ("apply", "drill", "purge")):
        prepared = memory_world(["a/small"])
        for step in steps:
            getattr(prepared, step)()
        probe = prepared.fork()
        files = count(probe.files)
        probe.restore(files)
        for number in range(1, files.calls + 1):
            world = prepared.fork()
            made = []

            def make(world: World = world, made: list[bool] = made) -> None:
                if world.files.stat("a/small") is None:
                    world.files.put("a/small/part-0.rows", b'["id"]\n[42]\n')
                    made.append(True)

            world.restore(act_at(world.files, number, make))
            if made:
                assert b"".join(world.files.chunks("a/small/part-0.rows")) == b'["id"]\n[42]\n'
                world.files.move("a/small", "away")
                assert all(one.is_restored for one in world.restore())
            assert world.rows_at("a/small") == world.original["a/small"]


# --- the same on the real file system, with real writers


def scribble_on_disk(path: str) -> None:
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(8)
        byte = file.read(1)
        file.seek(8)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def append_on_disk(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(b"more")


def swap_on_disk(path: str) -> None:
    with open(path, "rb") as file:
        content = file.read()
    with open(path + ".new", "wb") as file:
        file.write(content[:8] + b"x" + content[9:])
    before = os.stat(path)
    os.utime(path + ".new", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(path + ".new", path)


def link_on_disk(path: str) -> None:
    os.rename(path, path + "-moved")
    os.symlink(path + "-moved", path)


def link_folder_on_disk(path: str) -> None:
    folder = os.path.dirname(path)
    os.rename(folder, folder + "-moved")
    os.symlink(folder + "-moved", folder)


def add_on_disk(path: str) -> None:
    with open(os.path.join(os.path.dirname(path), "part-9.rows"), "wb") as file:
        file.write(b"x")


DISK_WRITERS = (
    scribble_on_disk, append_on_disk, swap_on_disk, link_on_disk, link_folder_on_disk, add_on_disk, os.unlink,
)  # fmt: skip


@pytest.mark.parametrize("target", ["child", "parent"])
@pytest.mark.parametrize("writer", DISK_WRITERS, ids=lambda writer: writer.__name__)
def test_no_changed_table_is_committed_on_disk(writer: Callable[[str], None], target: str, fast_folder: Path) -> None:
    last = last_record(posix_world(fast_folder / "count" / "lake", ["a/small"]))
    chance = random.Random(writer.__name__ + target)
    for number in chance.sample(range(1, last + 2), k=DISK_RACES):
        world = posix_world(fast_folder / "one" / "lake", ["a/small"])
        path = os.path.join(world.files.root, TARGETS[target])

        def act(path: str = path) -> None:
            try:
                writer(path)
            except FileNotFoundError:
                return

        with contextlib.suppress(R2D2Error, OSError):
            world.apply(Hooked(world.files, _once(number, act)))
        with world.lake() as lake:
            deleted = [slot for slot in lake.registry.active if slot.state is State.QUARANTINED]
        assert all(is_as_recorded(world, slot) for slot in deleted), number
        TALLY["races"] += 1
        world.files.close()
        shutil.rmtree(fast_folder / "one")


def _once(number: int, act: Callable[[], None]) -> Any:
    return lambda now, name, given: act() if now == number else None
