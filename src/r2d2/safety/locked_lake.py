"""Hold a lake for one command: lock it and open its journal."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from r2d2.safety.errors import JournalDamaged, disk_error
from r2d2.safety.files import Files
from r2d2.safety.journal import Journal, Told, open_journal, read_journal, refuse_other_format
from r2d2.safety.paths import QUARANTINE
from r2d2.safety.ports import Quarantine
from r2d2.safety.posix import PosixFiles
from r2d2.safety.posix_quarantine import PosixQuarantine
from r2d2.safety.records import FORMAT, MoveIntended, Opened, Record
from r2d2.safety.registry import Registry


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock and monotonic clock; passed in so that tests can skip 30 days."""

    now: Callable[[], float] = time.time
    tick: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Lake:
    """A locked lake: quarantine, journal, registry and clock. Holding one means holding the lock.

    Rebuilt tables and copies are written through *files*; all else goes through *quarantine*.
    """

    files: Files
    quarantine: Quarantine
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
    quarantine = PosixQuarantine(files)
    try:
        refuse_other_format(quarantine)
        with quarantine.lock(f"process {os.getpid()} on {socket.gethostname()}"):
            told = _read(quarantine)
            journal, told = open_journal(quarantine, told, lambda: Opened(FORMAT, int(clock.now())))
            yield Lake(files, quarantine, journal, Registry(told.records), clock)
    except OSError as error:
        raise disk_error(error) from error


def read_registry(files: Files) -> Registry:
    """The registry as the journal has it now; needs no lock and changes nothing."""
    try:
        return Registry(_read(PosixQuarantine(files)).records)
    except OSError as error:
        raise disk_error(error) from error


def _read(quarantine: Quarantine) -> Told:
    aside = quarantine.slots()  # list before reading the journal: a table in quarantine was announced there first
    told = read_journal(quarantine)
    refuse_unknown_slots(aside, told)
    return told


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


@contextmanager
def posix_files(root: str) -> Iterator[PosixFiles]:
    """The file layer of a lake on a POSIX file system."""
    files = PosixFiles(root)
    try:
        yield files
    finally:
        files.close()
