"""The journal: append-only lines of JSON, each numbered and checksummed, on disk before the effect it announces.

A line is `{"crc":"…","record":{…},"seq":n}`. The CRC covers number and record and continues the CRC of the line
before, so that a lost, repeated or moved line is noticed. A last line that is incomplete JSON was torn by a crash:
nothing followed it, so it counts as not written. Any other line that does not fit stops everything.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from r2d2.safety import codec
from r2d2.safety.errors import JournalDamaged, JournalStopped
from r2d2.safety.paths import JOURNAL, SAFETY
from r2d2.safety.ports import Records
from r2d2.safety.records import FORMAT, Opened, Record, decode_record, encode_record


@dataclass(frozen=True, slots=True)
class Told:
    """Content of a journal."""

    records: tuple[Record, ...]
    size_bytes: int  # of the lines that fit
    crc: int  # of the last one
    torn_bytes: int  # of a last line that does not fit


def read_journal(lines: Records) -> Told:
    """Read the journal without changing it; a missing journal is empty."""
    refuse_other_format(lines)
    content = b"".join(lines.records())
    records: list[Record] = []
    size, crc = 0, 0
    while size < len(content):
        end = content.find(b"\n", size) + 1
        line = content[size : end or len(content)]
        fitting = _fits(line, len(records), crc)
        if fitting is None:
            refuse_damage(content, line, end, len(records))
            break
        record, crc = fitting
        records.append(record)
        size = end
    return Told(tuple(records), size, crc, len(content) - size)


def refuse_other_format(lines: Records) -> None:
    """Refuse a journal of another format: its words may mean something else (HAZARDS 22)."""
    first = _fits(next(lines.records(), b"").partition(b"\n")[0] + b"\n", 0, 0)
    if first is not None and isinstance(first[0], Opened) and first[0].format != FORMAT:
        raise JournalDamaged(
            f"the journal in {SAFETY} is of format {first[0].format}, and this version of R2D2 uses format {FORMAT}",
            hint="nothing was touched; restore every table with the version that wrote it first, and then move "
            f"{SAFETY} out of the lake",
        )


class Journal:
    """A journal open for writing; the lake's lock is held."""

    def __init__(self, lines: Records, told: Told) -> None:
        self._lines = lines
        self._length, self._crc = len(told.records), told.crc
        self._stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether a write failed, so that it is unknown if the record is on disk; nothing more may be done."""
        return self._stopped

    def append(self, record: Record) -> None:
        """Write a record and make it durable. After a failure this journal refuses further records."""
        if self._stopped:
            raise JournalStopped("an earlier record could not be written", hint="run the command again")
        line, crc = line_of(record, self._length, self._crc)
        self._stopped = True
        self._write(line)
        self._stopped = False
        self._crc, self._length = crc, self._length + 1

    def _write(self, line: bytes) -> None:
        try:
            self._lines.append_record(line)
        except OSError as error:
            raise JournalStopped(
                f"cannot write the journal ({error.strerror or error})",
                hint="nothing was lost; fix that and run any command, which recovers first",
            ) from error


def open_journal(lines: Records, told: Told, first: Callable[[], Record]) -> tuple[Journal, Told]:
    """Open the journal that was just read; write its first record if it is new. The lock is held."""
    lines.open_records(told.size_bytes)
    journal = Journal(lines, told)
    if not told.records:
        record = first()
        journal.append(record)
        told = Told((record,), 0, 0, told.torn_bytes)
    return journal, told


def line_of(record: Record, number: int, crc_before: int) -> tuple[bytes, int]:
    """The line of a record, and its CRC."""
    body = codec.canonical(encode_record(record))
    crc = zlib.crc32(b"%d:%b" % (number, body), crc_before)
    return b'{"crc":"%08x","record":%b,"seq":%d}\n' % (crc, body, number), crc


def _fits(line: bytes, number: int, crc_before: int) -> tuple[Record, int] | None:
    """The record of a line and its CRC, if the line is exactly the bytes that `line_of` writes; else None."""
    try:
        record = decode_record(codec.parse(line)["record"])
    except (codec.Malformed, KeyError, TypeError):
        return None
    expected, crc = line_of(record, number, crc_before)
    return (record, crc) if line == expected else None


def refuse_damage(content: bytes, line: bytes, end: int, number: int) -> None:
    """Refuse a line that does not fit, unless a crash tore it: then it is the last one, and incomplete JSON."""
    if (end and end < len(content)) or _is_whole(line) or _goes_on(line):
        raise JournalDamaged(
            f"record {number} of {JOURNAL} is damaged",
            hint="nothing was touched; bring the journal back from a backup",
        )


def _goes_on(line: bytes) -> bool:
    """Whether a complete record is followed by more in its line: then its newline was damaged, and a record follows."""
    text = line.decode("utf-8", "replace")
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return False
    return bool(text[end:].strip("\0\n"))


def _is_whole(line: bytes) -> bool:
    try:
        codec.parse(line)
    except codec.Malformed:
        return False
    return line.endswith(b"\n")
