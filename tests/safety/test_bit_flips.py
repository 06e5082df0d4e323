"""One bit that flips after everything was verified is found before the last good copy goes (HAZARDS 13).

`make torture-safety` raises the number: SAFETY_FLIPS.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r2d2.safety.doctor import BAD, NOTE, doctor
from r2d2.safety.errors import DiskError
from r2d2.safety.locked_lake import read_registry
from r2d2.safety.paths import join
from r2d2.safety.quarantine import in_quarantine
from tests.safety.hooked import Hooked
from tests.safety.tally import TALLY
from tests.safety.world import CHILDREN, World, memory_world, posix_world

pytestmark = pytest.mark.usefixtures("remembered_lines")

FLIPS = int(os.environ.get("SAFETY_FLIPS", 300))
DISK_FLIPS = max(6, FLIPS // 50)  # of real Parquet files
PARENTS = {parent for _, parent in CHILDREN.values()}


@pytest.fixture(scope="module")
def prepared() -> dict[str, World]:
    """A lake right after the deletion, and one that was drilled as well."""
    deleted = memory_world()
    deleted.apply()
    drilled = deleted.fork()
    drilled.drill()
    return {"deleted": deleted, "drilled": drilled}


def flip_on_disk(world: World, path: str, place: int, bit: int) -> None:
    """Flip a bit and put the times back, as a disk does that forgets."""
    at = os.path.join(world.files.root, path)
    before = os.stat(at)
    with open(at, "r+b") as file:
        file.seek(place)
        old = file.read(1)[0]
        file.seek(place)
        file.write(bytes([old ^ 1 << bit]))
    os.utime(at, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip_in_memory(world: World, path: str, place: int, bit: int) -> None:
    content = bytearray(b"".join(world.files.chunks(path)))
    content[place] ^= 1 << bit
    # under its old time, or a new one, or by a failing disk, so that no time tells
    (world.files.scribble, world.files.put, world.files.rot)[bit % 3](path, bytes(content))


def flip(world: World, chance: random.Random, how: Callable[[World, str, int, int], None]) -> tuple[str, bool]:
    """Flip a bit of a parent, or of a table in quarantine: whose it was, and which of the two."""
    slots = read_registry(world.files).active
    parents = {
        join(parent.location, f.path): parent.name
        for e in world.plan.entries for parent in e.parents for f in parent.files
    }  # fmt: skip
    aside = {join(in_quarantine(s.slot), f.path): s.entry.child.name for s in slots for f in s.entry.child.files}
    in_parent = chance.random() < 0.5
    owners = parents if in_parent else aside
    path = chance.choice([path for path in sorted(owners) if world.files.stat(path).size_bytes])
    how(world, path, chance.randrange(world.files.stat(path).size_bytes), chance.randrange(8))
    return owners[path], in_parent


def check_caught(world: World, flipped: str, in_parent: bool, *, drill: bool) -> None:
    """The flip is named, what it concerns is neither drilled nor purged, and everything comes back as it was."""
    concerned = {child for child, (_, parent) in CHILDREN.items() if flipped == (parent if in_parent else child)}
    found = {finding.table for finding in doctor(world.files) if finding.severity == BAD}
    assert found == concerned
    if drill:
        assert {one.table for one in world.drill() if not one.is_exact} == concerned
    purged = {one.table for one in world.purge() if one.is_purged}
    assert purged == CHILDREN.keys() - concerned
    for one in world.restore():
        assert one.is_restored, one.because
        damaged = one.table in concerned and not in_parent
        assert one.by == ("recipe" if damaged or one.table in purged else "quarantine")
        assert ("damaged" in one.because) == damaged
    for child in CHILDREN:
        assert world.rows_at(child) == world.original[child]
    TALLY["flipped bits caught"] += 1


@pytest.mark.parametrize("when", ["deleted", "drilled"])
def test_a_bit_that_flips_is_found_before_the_purge(when: str, prepared: dict[str, World]) -> None:
    chance = random.Random(f"{os.environ.get('SAFETY_SEED', 13)} {when}")
    for number in range(FLIPS // 2):
        world = prepared[when].fork()
        flipped, in_parent = flip(world, chance, flip_in_memory)
        check_caught(world, flipped, in_parent, drill=when == "deleted" or number % 2 == 0)


def test_a_bit_that_flips_in_a_parquet_file_is_found_before_the_purge(fast_folder: Path) -> None:
    chance = random.Random(f"{os.environ.get('SAFETY_SEED', 13)} disk")
    for number in range(DISK_FLIPS):
        world = posix_world(fast_folder / "one" / "lake")
        world.apply()
        if number % 2:
            world.drill()
        flipped, in_parent = flip(world, chance, flip_on_disk)
        check_caught(world, flipped, in_parent, drill=number % 2 == 0)
        world.files.close()
        shutil.rmtree(fast_folder / "one")


def unreadable(world: World, prefix: str) -> Hooked:
    """A disk that cannot give back what lies below a path."""

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "chunks" and given[0].startswith(prefix):
            raise OSError(errno.EIO, os.strerror(errno.EIO), given[0])

    return Hooked(world.files, before)


def test_a_copy_in_quarantine_that_the_disk_cannot_read_is_rebuilt_by_its_recipe(prepared: dict[str, World]) -> None:
    world = prepared["deleted"].fork()
    files = unreadable(world, in_quarantine(""))
    assert {finding.table for finding in doctor(files) if finding.severity == BAD} == set(CHILDREN)
    for one in world.restore(files):
        assert one.is_restored and one.by == "recipe" and "cannot be read" in one.because
    for child in CHILDREN:
        assert world.rows_at(child) == world.original[child]
    left = [finding for finding in doctor(world.files) if finding.what == "leftover"]
    assert {(one.severity, one.table) for one in left} == {(NOTE, child) for child in CHILDREN}


def test_what_can_be_read_neither_in_quarantine_nor_in_its_parent_is_left_alone(prepared: dict[str, World]) -> None:
    world = prepared["deleted"].fork()

    def before(number: int, name: str, given: tuple[Any, ...]) -> None:
        if name == "chunks" and not given[0].endswith("journal.jsonl"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), given[0])

    with pytest.raises(DiskError, match="cannot be read"):
        world.restore(Hooked(world.files, before), tables=["a/small"])
    left = world.restore(Hooked(world.files, before))
    assert len(left) == len(CHILDREN) and not any(one.is_restored for one in left)
    assert all(one.is_restored and one.by == "quarantine" for one in world.restore())
