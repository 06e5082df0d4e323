"""Files of this machine, and what it mounts. The only place that knows device, inode and the times of files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from r2d2.model.versions import FileVersion
from r2d2.stores.contract import FILE, FOLDER, LINK, OTHER, Entry, Stored

if TYPE_CHECKING:
    import pyarrow as pa

CLOCK_NS = 20_000_000  # file times come in steps of a few milliseconds …
WHOLE_SECONDS_NS = 2_000_000_000  # … or, on some file systems, of one or two seconds

# Never block and follow no link: a name may have become a pipe or a link since it was listed (HAZARDS 31).
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class LocalStore:
    """The local file system, as of one listing: files written later than *listed_ns* are not settled."""

    listed_ns: int | None = None  # None: each file is judged at the time it is asked for

    @property
    def is_local(self) -> bool:
        """True: any library can open its paths."""
        return True

    def list(self, folder: str) -> Sequence[Entry]:
        """Entries of a folder, by name; links as links."""
        with os.scandir(folder) as entries:
            return sorted(Entry(entry.name, _kind(entry)) for entry in entries)

    def stat(self, path: str) -> Stored:
        """Size, time and version of a file; of a link its own."""
        found = os.lstat(path)  # not what scandir has: on Windows that lacks the inode
        return Stored(found.st_size, found.st_mtime_ns, version_of(found, self._now_ns()))

    def version(self, path: str) -> FileVersion | None:
        """The version of a file as it is now; None if it is gone."""
        try:
            return self.stat(path).version
        except OSError:
            return None

    def open(self, path: str) -> pa.NativeFile:
        """Open a file for reading at any place."""
        import pyarrow as pa

        return pa.OSFile(path)

    def ranges(self, path: str, wanted: Iterable[tuple[int, int]]) -> Sequence[bytes]:
        """Bytes of a file by (start, length)."""
        handle = os.open(path, _READ)
        try:
            return [_range(handle, start, length) for start, length in wanted]
        finally:
            os.close(handle)

    def _now_ns(self) -> int:
        return time.time_ns() if self.listed_ns is None else self.listed_ns


def version_of(stat: os.stat_result, listed_ns: int) -> FileVersion:
    """The version of a file that was listed at this time."""
    state = f"{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"
    return FileVersion(f"posix:{stat.st_dev}:{stat.st_ino}", state, is_settled(stat, listed_ns))


def is_settled(stat: os.stat_result, listed_ns: int) -> bool:
    """Whether any write after the listing would move a time of the file.

    A file's time moves in steps; one that was written within a step of the listing may have changed right after. A time
    after the listing tells nothing; the system's own, which no writer can set, then tells when it was written.
    """
    written_ns = stat.st_mtime_ns
    if written_ns > listed_ns and stat.st_ctime_ns:
        written_ns = stat.st_ctime_ns
    return written_ns <= listed_ns - (CLOCK_NS if written_ns % 1_000_000_000 else WHOLE_SECONDS_NS)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return FOLDER
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


def _range(handle: int, start: int, length: int) -> bytes:
    if start < 0:
        start = max(0, os.fstat(handle).st_size + start)
    return os.pread(handle, length, start)
