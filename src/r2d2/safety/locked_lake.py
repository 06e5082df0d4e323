"""Hold a lake for one command: lock it and open its journal."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from r2d2.safety.errors import JournalDamaged, Refused, disk_error
from r2d2.safety.files import FOLDER, Files
from r2d2.safety.journal import Journal, Told, open_journal, read_journal, refuse_other_format
from r2d2.safety.paths import LOCK, QUARANTINE, SAFETY, WORK, is_slot
from r2d2.safety.posix import PosixFiles
from r2d2.safety.records import FORMAT, MoveIntended, Opened, Record
from r2d2.safety.registry import Registry


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock and monotonic clock; passed in so that tests can skip 30 days."""

    now: Callable[[], float] = time.time
    tick: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Lake:
    """A locked lake: files, journal, registry and clock. Holding one means holding the lock."""

    files: Files
    journal: Journal
    registry: Registry
    clock: Clock

    def write(self, record: Record) -> None:
        """Write a record to disk, then to the registry. A record that contradicts the registry is refused first."""
        self.registry.refuse_impossible(record)
        self.journal.append(record)
        self.registry.learn(record)

    def now(self) -> int:
        """The time for records, in whole seconds since 1970."""
        return int(self.clock.now())


@contextmanager
def hold(files: Files, clock: Clock | None = None) -> Iterator[Lake]:
    """Lock a lake and open its journal. `open_lake` is what commands use: it also recovers."""
    clock = clock or Clock()
    try:
        refuse_other_format(files)
        make_folders(files)
        with files.lock(LOCK, f"process {os.getpid()} on {socket.gethostname()}"):
            told = _read(files)
            journal, told = open_journal(files, told, lambda: Opened(FORMAT, int(clock.now())))
            yield Lake(files, journal, Registry(told.records), clock)
    except OSError as error:
        raise disk_error(error) from error


def read_registry(files: Files) -> Registry:
    """The registry as the journal has it now; needs no lock and changes nothing."""
    try:
        return Registry(_read(files).records)
    except OSError as error:
        raise disk_error(error) from error


def _read(files: Files) -> Told:
    aside = slots_aside(files)  # list before reading the journal: a table in quarantine was announced there first
    told = read_journal(files)
    refuse_unknown_slots(aside, told)
    return told


def slots_aside(files: Files) -> tuple[str, ...]:
    """Names in quarantine that have the form of a slot."""
    there = files.stat(SAFETY) is not None and files.stat(QUARANTINE) is not None
    return tuple(name for name in files.names(QUARANTINE) if is_slot(name)) if there else ()


def refuse_unknown_slots(aside: tuple[str, ...], told: Told) -> None:
    """Refuse a journal that does not know a table in quarantine: it has lost records (HAZARDS 22)."""
    known = {record.slot for record in told.records if isinstance(record, MoveIntended)}
    unknown = [name for name in aside if name not in known]
    if unknown:
        raise JournalDamaged(
            f"the journal has lost records: {len(unknown):,} in {QUARANTINE} are not in it, such as {unknown[0]}",
            hint="nothing was touched; restore the journal from a backup; if no backup knows them, move them out of "
            "there: each is a whole table",
        )


def make_folders(files: Files) -> None:
    """Make the folders that safety needs in the lake, durably, before anything is put there.

    They are synced even if they exist: the process that made them may have been killed before its sync.
    """
    for path, above in ((SAFETY, ""), (QUARANTINE, SAFETY), (WORK, SAFETY)):
        found = files.stat(path)
        if found is None:
            with suppress(FileExistsError):  # another process makes it just now
                files.make_folder(path)
        elif found.kind != FOLDER:
            raise Refused(f"{path} in {files.root} is not a folder", hint="find out what put it there")
        files.sync(above)


@contextmanager
def posix_files(root: str) -> Iterator[PosixFiles]:
    """The file layer of a lake on a POSIX file system."""
    files = PosixFiles(root)
    try:
        yield files
    finally:
        files.close()
