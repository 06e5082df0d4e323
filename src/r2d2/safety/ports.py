"""Interfaces to the rest of the world: the store that tables are deleted from, and the reader of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Compare, Comparison, Content, Placed, Rebuild, Verify
from r2d2.safety.plan import TableSeen
from r2d2.safety.registry import Slot
from r2d2.safety.snapshots import Look, Tables


class Where(StrEnum):
    """Place of a table that was on its way, once the way has ended."""

    HOME = "home"  # at its location
    ASIDE = "aside"  # where it came from, or was taken to; whole
    NOWHERE = "nowhere"  # whole at neither place


class Records(Protocol):
    """The journal of a lake, line by line, and the lock that its only writer holds."""

    def lock(self, note: str) -> AbstractContextManager[None]:
        """Prepare the lake for deletions and hold it; raises Busy, with the holder's note, if another does."""

    def records(self) -> Iterator[bytes]:
        """All lines, piece by piece, with a last one that was torn; nothing before the first."""

    def open_records(self, size_bytes: int) -> None:
        """Prepare for appending: cut off a torn line behind *size_bytes*, and make the lines before it durable."""

    def append_record(self, line: bytes) -> None:
        """Add a line that survives a loss of power. After an OSError it may be there, in whole or in part."""


class Quarantine(Tables, Records, Protocol):
    """A lake that tables are deleted from, and the place where they wait; POSIX fills it in `posix_quarantine.py`.

    A place is a path below the root: the location of a table, or a path made by `in_quarantine` or `in_work`. Each
    call can be killed anywhere and made again; a call whose work is done changes nothing. Effects are durable when a
    call returns. Nothing is ever replaced. OSError means that the store failed.
    """

    def slots(self) -> tuple[str, ...]:
        """The slots in quarantine."""

    def identity(self, place: str) -> str | None:
        """The identity of the file or folder at a place; None if nothing is there."""

    def make_durable(self, table: TableSeen) -> None:
        """Make a table in the lake survive a loss of power: it is about to hold the only copy of some rows."""

    def take(self, table: TableSeen, slot: str) -> None:
        """Take a table out of the lake into a slot; raises NotMoved if it is certainly still in the lake."""

    def prepare(self, source: str, location: str) -> str | None:
        """Prepare to put the table at *source* back; return its identity, or None if nothing is there."""

    def put_back(self, source: str, location: str, identity: str) -> None:
        """Put a table with this identity into the lake; raises NotMoved if it is certainly still at *source*."""

    def is_stranded(self, slot: Slot) -> bool:
        """Whether a table that was being put back is whole neither in quarantine nor at its location."""

    def settle(self, slot: Slot) -> Where:
        """End the way of a table that was moving, restoring or purging, and return its place.

        A moving table goes home; ASIDE means that its location is taken. A restoring one is HOME, or ASIDE where it
        came from. A purging one is ASIDE as long as it is whole, else NOWHERE.
        """

    def purge(self, table: TableSeen, slot: str, look: Look | None) -> None:
        """Remove the listed files from a slot; a file that differs from its snapshot, or from its hash, stays."""


class Rebuilder(Protocol):
    """Reader that runs recipes and compares tables by values. It gets many tables at once and may read them together.

    It answers for each table by itself, in the order asked: with an R2D2Error if it cannot answer, never with a
    guess. A fault of one table does not affect the answer for another.
    """

    def verify_many(self, asked: Sequence[Verify]) -> Sequence[Comparison | R2D2Error]:
        """Run each recipe on its parents and compare with the child: every row with its copies, and the schema."""

    def rebuild_many(self, asked: Sequence[Rebuild]) -> Sequence[tuple[str, ...] | R2D2Error]:
        """Run each recipe and write its output. Returns the files, below the folder that was given.

        No other file may be left there: a file that is not returned is not trusted.
        """

    def compare_many(self, asked: Sequence[Compare]) -> Sequence[Comparison | R2D2Error]:
        """Compare every row with its copies, and the schema. The returned content is the rebuilt table's."""

    def measure_many(self, tables: Sequence[Placed]) -> Sequence[Content | R2D2Error]:
        """Counts and digest of tables on disk. The digest depends on rows and schema, not on files or order."""
