"""The contract of r2d2.safety.ports.Quarantine, held by every implementation: a new one is added to QUARANTINES.

Each call may be killed anywhere and made again, nothing is ever replaced, and a table is whole at one place at least.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TypeVar, cast

import pytest

from r2d2.model.rebuild import Content
from r2d2.safety.errors import Busy, Changed, NotMoved
from r2d2.safety.files import FOLDER, Files
from r2d2.safety.journal import open_journal, read_journal
from r2d2.safety.locked_lake import posix_files
from r2d2.safety.paths import JOURNAL, join, slot_of
from r2d2.safety.plan import Entry, TableSeen
from r2d2.safety.ports import Quarantine, Where
from r2d2.safety.posix import PosixFiles, rename_new_by_link
from r2d2.safety.posix_quarantine import PosixQuarantine
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.records import FORMAT, Opened, PlanStarted, Record, RestoreIntended
from r2d2.safety.registry import Slot, State
from r2d2.safety.snapshots import below, see_table
from tests.safety.hooked import Hooked, Killed, kill_at
from tests.safety.memory import MemoryFiles

Bytes = dict[str, bytes]
Begun = TypeVar("Begun")

FOLDER_TABLE = {"part-0": b"some rows", "day=1/part-1": b"more rows", "_SUCCESS": b""}
FILE_TABLE = {"": b"all rows"}
TABLES = {"a/folder": FOLDER_TABLE, "file": FILE_TABLE}
SLOT = slot_of("plan", "table")
ASIDE = in_quarantine(SLOT)


@dataclass(frozen=True)
class Kept:
    """An empty lake with its quarantine, and how a test acts as everybody else."""

    quarantine: Quarantine
    write: Callable[[str, bytes], None]  # make or overwrite a file, as any program does
    remove: Callable[[str], None]  # remove a file
    content: Callable[[str], Bytes]  # the files at a place, by their path below it; '' is the place itself
    see: Callable[[str], TableSeen]  # the table at a location, as a plan lists it
    killed_at: Callable[[int], Quarantine]  # the same lake for a process that is killed before its n-th effect
    tear: Callable[[bytes], None]  # leave this beginning of a record behind; where writes are whole, do nothing
    survivors: Callable[
        [], Iterable[Kept]
    ]  # lakes that a loss of power may leave now; where none is modelled, this one


def over(files: Files, killed_at: Callable[[int], Files] | None = None) -> Kept:
    """A lake on POSIX files."""

    def write(path: str, content: bytes) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            with suppress(FileExistsError):
                files.make_folder("/".join(parts[:depth]))
        with suppress(FileExistsError):
            files.create(path, ())
        files.truncate(path, 0)
        files.append(path, content)

    def content(place: str) -> Bytes:
        found = files.stat(place)
        if found is None:
            return {}
        paths = [path for path in below(files, place) if path[-1] != "/"] if found.kind == FOLDER else [""]
        return {path: b"".join(files.chunks(join(place, path))) for path in paths}

    def survivors() -> Iterable[Kept]:
        if not isinstance(files, MemoryFiles):
            return [over(files)]
        return [over(left) for left in files.survivors(random.Random(23), most=200)]

    killed_at = killed_at or (lambda number: cast(Files, kill_at(files, number)))
    return Kept(
        PosixQuarantine(files),
        write,
        files.unlink,
        content,
        lambda location: see_table(files, location, location),
        lambda number: PosixQuarantine(killed_at(number)),
        lambda line: files.append(JOURNAL, line),
        survivors,
    )


def on_disk(folder: Path, ends: ExitStack) -> Kept:
    return over(ends.enter_context(posix_files(str(folder))))


def on_disk_by_links(folder: Path, ends: ExitStack) -> Kept:
    """Without renameat2. A process can also be killed between `link` and `unlink`."""

    def opened(rename_new: Callable[[int, str, int, str], None]) -> PosixFiles:
        files = PosixFiles(str(folder), rename_new=rename_new)
        ends.callback(files.close)
        return files

    def killed_at(number: int) -> Files:
        effects = count(1)

        def effect(*given: object) -> None:
            if next(effects) >= number:
                raise Killed

        def by_links(from_folder: int, name: str, to_folder: int, new_name: str) -> None:
            if (folder / ASIDE).is_dir():  # folders are renamed
                rename_new_by_link(from_folder, name, to_folder, new_name)
            else:
                os.link(name, new_name, src_dir_fd=from_folder, dst_dir_fd=to_folder)
                effect()
                os.unlink(name, dir_fd=from_folder)

        return cast(Files, Hooked(opened(by_links), effect))

    return over(opened(rename_new_by_link), killed_at)


def in_memory(folder: Path, ends: ExitStack) -> Kept:
    return over(MemoryFiles())


QUARANTINES: dict[str, Callable[[Path, ExitStack], Kept]] = {
    "posix": on_disk,
    "posix, by links": on_disk_by_links,
    "posix, in memory": in_memory,
}

Fresh = Callable[[], Kept]


@pytest.fixture(params=QUARANTINES)
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fresh]:
    """Makes lakes with two tables, a folder and a file, ready for deletions and safely on disk."""
    numbers, ends = count(), ExitStack()

    def make() -> Kept:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        kept = QUARANTINES[request.param](folder, ends)
        for location, files in TABLES.items():
            for path, content in files.items():
                kept.write(join(location, path), content)
        with kept.quarantine.lock("a test"):
            kept.quarantine.open_records(0)
        for location in TABLES:
            kept.quarantine.make_durable(kept.see(location))
        return kept

    with ends:
        yield make


@pytest.fixture
def kept(fresh: Fresh) -> Kept:
    return fresh()


both = pytest.mark.parametrize("location", TABLES)


def moving(table: TableSeen) -> Slot:
    entry = Entry(table, (), {}, "", Content(0, 0, ""))
    return Slot(SLOT, "plan", entry, State.MOVING, 0)


def restoring(table: TableSeen, identity: str) -> Slot:
    return replace(moving(table), state=State.RESTORING, restore=RestoreIntended(SLOT, ASIDE, identity, 0))


def taken(kept: Kept, location: str) -> TableSeen:
    table = kept.see(location)
    kept.quarantine.take(table, SLOT)
    return table


def put_back(quarantine: Quarantine, location: str, identity: str | None = None) -> str:
    """Put a table back as restore does; return its identity."""
    identity = identity or quarantine.prepare(ASIDE, location)
    assert identity is not None
    quarantine.put_back(ASIDE, location, identity)
    return identity


def is_home(kept: Kept, location: str) -> bool:
    return kept.content(location) == TABLES[location] and kept.content(ASIDE) == {}


def is_aside(kept: Kept, location: str) -> bool:
    return kept.content(ASIDE) == TABLES[location] and kept.content(location) == {}


def kill_everywhere(
    fresh: Fresh, begin: Callable[[Kept], Begun], act: Callable[[Quarantine, Begun], object]
) -> list[tuple[Kept, Begun]]:
    """Lakes that are left if a process is killed before each of its effects in turn, and what had begun there."""
    left: list[tuple[Kept, Begun]] = []
    for number in count(1):
        kept = fresh()
        begun = begin(kept)
        try:
            act(kept.killed_at(number), begun)
        except Killed:
            left.append((kept, begun))
        else:
            assert left, "nothing was killed"
            return left
    raise AssertionError


# --- take


@both
def test_a_taken_table_is_whole_in_quarantine_and_no_longer_in_the_lake(kept: Kept, location: str) -> None:
    assert kept.quarantine.slots() == ()
    taken(kept, location)
    assert is_aside(kept, location) and kept.quarantine.slots() == (SLOT,)
    assert kept.quarantine.identity(ASIDE) is not None and kept.quarantine.identity(location) is None


@both
def test_a_table_that_is_taken_twice_is_taken_once(kept: Kept, location: str) -> None:
    kept.quarantine.take(taken(kept, location), SLOT)
    assert is_aside(kept, location)


@both
def test_a_take_replaces_nothing(kept: Kept, location: str) -> None:
    taken(kept, location)
    kept.write(join(location, "" if location == "file" else "part-0"), b"new")
    new = kept.see(location)
    with pytest.raises((OSError, NotMoved)):
        kept.quarantine.take(new, SLOT)
    assert kept.content(ASIDE) == TABLES[location] and list(kept.content(location).values()) == [b"new"]


@both
def test_a_table_that_is_gone_is_not_taken_and_the_journal_gets_the_reason(kept: Kept, location: str) -> None:
    with pytest.raises(NotMoved) as raised:
        kept.quarantine.take(replace(kept.see(location), location="gone"), SLOT)
    assert raised.value.because and kept.quarantine.slots() == ()


@both
@pytest.mark.parametrize("undo", [False, True])
def test_a_take_that_was_killed_anywhere_can_be_made_again_or_undone(fresh: Fresh, location: str, undo: bool) -> None:
    for kept, table in kill_everywhere(fresh, lambda kept: kept.see(location), lambda it, table: it.take(table, SLOT)):
        if undo:
            assert kept.quarantine.settle(moving(table)) is Where.HOME
            assert is_home(kept, location)
        else:
            kept.quarantine.take(table, SLOT)
            assert is_aside(kept, location)


# --- undo a take


@both
def test_a_taken_table_that_is_settled_is_home_and_stays_there(kept: Kept, location: str) -> None:
    table = taken(kept, location)
    for _ in range(2):
        assert kept.quarantine.settle(moving(table)) is Where.HOME
        assert is_home(kept, location)


@both
def test_a_taken_table_whose_place_is_taken_waits_whole_in_quarantine(kept: Kept, location: str) -> None:
    table = taken(kept, location)
    kept.write(location, b"new")
    assert kept.quarantine.settle(moving(table)) is Where.ASIDE
    assert kept.content(ASIDE) == TABLES[location] and kept.content(location) == {"": b"new"}


def test_a_table_that_is_at_neither_place_is_nowhere(kept: Kept) -> None:
    table = taken(kept, "file")
    identity = kept.quarantine.prepare(ASIDE, "file") or ""
    kept.remove(ASIDE)
    assert kept.quarantine.settle(moving(table)) is Where.NOWHERE
    assert kept.quarantine.is_stranded(restoring(table, identity))
    assert kept.quarantine.settle(restoring(table, identity)) is Where.NOWHERE


# --- put back


@both
def test_a_table_that_is_put_back_is_whole_at_its_place_and_no_longer_in_quarantine(kept: Kept, location: str) -> None:
    table = taken(kept, location)
    identity = put_back(kept.quarantine, location)
    assert is_home(kept, location) and kept.quarantine.slots() == ()
    assert kept.quarantine.settle(restoring(table, identity)) is Where.HOME


@both
def test_a_table_that_is_put_back_twice_is_put_back_once(kept: Kept, location: str) -> None:
    taken(kept, location)
    put_back(kept.quarantine, location, put_back(kept.quarantine, location))
    assert is_home(kept, location)


@both
def test_putting_back_replaces_nothing(kept: Kept, location: str) -> None:
    table = taken(kept, location)
    identity = kept.quarantine.prepare(ASIDE, location) or ""
    kept.write(location, b"new")
    with pytest.raises(NotMoved) as raised:
        kept.quarantine.put_back(ASIDE, location, identity)
    assert raised.value.because and kept.content(ASIDE) == TABLES[location]
    assert kept.content(location) == {"": b"new"}
    assert kept.quarantine.settle(restoring(table, identity)) is Where.ASIDE


def test_another_table_at_its_place_is_not_taken_for_the_one_that_was_put_back(kept: Kept) -> None:
    taken(kept, "file")
    identity = kept.quarantine.prepare(ASIDE, "file") or ""
    kept.write("file", b"new")
    kept.remove(ASIDE)
    with pytest.raises(OSError):
        kept.quarantine.put_back(ASIDE, "file", identity)


@both
def test_a_table_can_be_put_back_where_no_folder_is_left(kept: Kept, location: str) -> None:
    taken(kept, location)
    put_back(kept.quarantine, "folders/that are/gone")
    assert kept.content("folders/that are/gone") == TABLES[location] and kept.content(ASIDE) == {}


def test_nothing_in_a_slot_has_no_identity(kept: Kept) -> None:
    assert kept.quarantine.prepare(ASIDE, "a/folder") is None


@both
@pytest.mark.parametrize("settle", [False, True])
def test_putting_back_that_was_killed_anywhere_can_be_made_again_or_settled(
    fresh: Fresh, location: str, settle: bool
) -> None:
    def begin(kept: Kept) -> tuple[TableSeen, str]:
        return taken(kept, location), kept.quarantine.prepare(ASIDE, location) or ""

    for kept, (table, identity) in kill_everywhere(
        fresh, begin, lambda it, begun: it.put_back(ASIDE, location, begun[1])
    ):
        if settle:
            where = kept.quarantine.settle(restoring(table, identity))
            assert is_home(kept, location) if where is Where.HOME else is_aside(kept, location)
            assert not kept.quarantine.is_stranded(restoring(table, identity))
        else:
            kept.quarantine.put_back(ASIDE, location, identity)
            assert is_home(kept, location)


# --- purge


@both
def test_a_purged_table_is_gone_from_quarantine_however_often_it_is_purged(kept: Kept, location: str) -> None:
    table = taken(kept, location)
    look = kept.quarantine.snapshot(table, ASIDE)
    for known in (look, look, None):
        kept.quarantine.purge(table, SLOT, known)
        assert kept.content(ASIDE) == {} and kept.quarantine.slots() == ()


@pytest.mark.parametrize("by_look", [True, False])
def test_a_purge_removes_only_the_listed_files(kept: Kept, by_look: bool) -> None:
    table = taken(kept, "a/folder")
    look = kept.quarantine.snapshot(table, ASIDE) if by_look else None
    kept.write(f"{ASIDE}/day=1/foreign", b"not listed")
    kept.write(f"{ASIDE}/part-0", b"same size")
    kept.quarantine.purge(table, SLOT, look)
    assert kept.content(ASIDE) == {"day=1/foreign": b"not listed", "part-0": b"same size"}
    assert kept.content("file") == FILE_TABLE


@both
def test_a_purge_that_was_killed_anywhere_is_finished_by_the_next(fresh: Fresh, location: str) -> None:
    for kept, table in kill_everywhere(
        fresh, lambda kept: taken(kept, location), lambda it, table: it.purge(table, SLOT, None)
    ):
        whole = kept.content(ASIDE) == TABLES[location]
        where = kept.quarantine.settle(replace(moving(table), state=State.PURGING))
        assert where is (Where.ASIDE if whole else Where.NOWHERE)
        kept.quarantine.purge(table, SLOT, None)
        assert kept.content(ASIDE) == {} and kept.quarantine.slots() == ()


# --- snapshots


@both
def test_a_snapshot_changes_with_every_write_and_with_nothing_else(kept: Kept, location: str) -> None:
    table, quarantine = kept.see(location), kept.quarantine
    before = quarantine.snapshot(table, location)
    assert quarantine.snapshot(table, location) == before and before.others == ()
    first = join(location, table.files[-1].path)
    kept.write(first, TABLES[location][table.files[-1].path][::-1])
    assert quarantine.snapshot(table, location) != before
    kept.write(first, b"of another size")
    with pytest.raises(Changed):
        quarantine.snapshot(table, location)
    kept.remove(first)
    with pytest.raises(Changed):
        quarantine.snapshot(table, location)


def test_a_snapshot_names_files_that_are_not_listed(kept: Kept) -> None:
    table = kept.see("a/folder")
    kept.write("a/folder/foreign", b"")
    assert kept.quarantine.snapshot(table, "a/folder").others == ("foreign",)


def test_a_hash_is_that_of_the_bytes_there_now(kept: Kept) -> None:
    listed = kept.see("file").files[0]
    assert kept.quarantine.sha256("file") == listed.sha256
    kept.write("file", b"ALL ROWS")
    assert kept.quarantine.sha256("file") != listed.sha256


# --- the loss of power


def test_effects_survive_a_loss_of_power(fresh: Fresh) -> None:
    kept = fresh()
    table = taken(kept, "a/folder")
    assert all(is_aside(left, "a/folder") for left in kept.survivors())
    put_back(kept.quarantine, "a/folder")
    assert all(is_home(left, "a/folder") for left in kept.survivors())
    kept.quarantine.take(kept.see("a/folder"), SLOT)
    kept.quarantine.settle(moving(table))
    assert all(is_home(left, "a/folder") for left in kept.survivors())
    kept.quarantine.append_record(b"a line\n")
    assert all(b"".join(left.quarantine.records()) == b"a line\n" for left in kept.survivors())
    kept.write("new/part-0", b"rows")
    kept.quarantine.make_durable(kept.see("new"))
    assert all(left.content("new") == {"part-0": b"rows"} for left in kept.survivors())


# --- records


def records(number: int) -> list[Record]:
    return [Opened(FORMAT, 0), *(PlanStarted(f"plan-{n}", "", "Ann", 1, 0) for n in range(1, number))]


def write_records(kept: Kept, number: int) -> None:
    first, *others = records(number)
    journal, _ = open_journal(kept.quarantine, read_journal(kept.quarantine), lambda: first)
    for record in others:
        journal.append(record)


def test_there_are_no_records_at_first(kept: Kept) -> None:
    assert b"".join(kept.quarantine.records()) == b"" and read_journal(kept.quarantine).records == ()


def test_records_come_back_in_order(kept: Kept) -> None:
    write_records(kept, 4)
    assert list(read_journal(kept.quarantine).records) == records(4)


def test_a_torn_last_record_is_ignored_and_the_next_one_follows_those_before_it(kept: Kept) -> None:
    write_records(kept, 3)
    kept.tear(b'{"crc":"0000')
    told = read_journal(kept.quarantine)
    assert list(told.records) == records(3)
    journal, _ = open_journal(kept.quarantine, told, lambda: Opened(FORMAT, 0))
    journal.append(records(4)[-1])
    told = read_journal(kept.quarantine)
    assert list(told.records) == records(4) and told.torn_bytes == 0


# --- the lock


def test_a_lake_is_held_once_and_its_holder_is_named(kept: Kept) -> None:
    with kept.quarantine.lock("the first"), pytest.raises(Busy, match="the first"), kept.quarantine.lock("another"):
        raise AssertionError("both hold it")
    with kept.quarantine.lock("another"):
        pass
