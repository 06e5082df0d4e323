"""How packed blocks get from the tasks that make them to those that compare them.

Through Spark's shuffle, which copies each of them half a dozen times; or, where all tasks run on one machine, through
files of a folder that lives as long as the job, and only the blocks' places go through the shuffle. A task that Spark
runs again writes a file of its own.
"""

from __future__ import annotations

import os
import struct
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from r2d2.engine.run.contract import NOTE, Block, Packed
from r2d2.engine.spark.cluster import works_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACE = struct.Struct("<4sQQ")  # magic, first byte and length, followed by the file's path
_MAGIC = b"R2HP"
_BUFFER_BYTES = 1 << 20

Message = tuple[int, int, int, bytes]  # a block on its way through the shuffle: its bytes, or their place


@contextmanager
def exchange_folder(spark: SparkSession) -> Iterator[str]:
    """A folder that all tasks of the session share, or "" if they may run on several machines."""
    if not works_here(spark):
        yield ""
        return
    beside_the_shuffle = (spark.conf.get("spark.local.dir", "") or "").partition(",")[0]
    where = beside_the_shuffle if os.path.isdir(beside_the_shuffle) else None
    with tempfile.TemporaryDirectory(prefix="r2d2-blocks-", dir=where, ignore_cleanup_errors=True) as folder:
        yield folder


def send(blocks: Iterable[Block], *, folder: str) -> Iterator[Message]:
    """Message that goes through the shuffle for each block: its bytes, or their place in a file of *folder*."""
    if not folder:
        for projection, part, table, pieces in blocks:
            yield projection, part, table, b"".join(pieces)
        return
    path, position = os.path.join(folder, uuid.uuid4().hex), 0
    with open(path, "wb", buffering=_BUFFER_BYTES) as file:
        for projection, part, table, pieces in blocks:
            if projection == NOTE:
                yield projection, part, table, b"".join(pieces)
                continue
            size = sum(map(len, pieces))
            file.writelines(pieces)
            yield projection, part, table, _PLACE.pack(_MAGIC, position, size) + os.fsencode(path)
            position += size


class Receiver:
    """Finds the blocks of messages. Files stay open until `close`."""

    def __init__(self) -> None:
        self._files: dict[bytes, int] = {}

    def block(self, sent: memoryview) -> Packed:
        """The block of a message."""
        if sent[:4] != _MAGIC:
            return InMemory(sent)
        _, start, size = _PLACE.unpack_from(sent)
        path = bytes(sent[_PLACE.size :])
        if path not in self._files:
            self._files[path] = os.open(path, os.O_RDONLY)
        return _InFile(self._files[path], start, size)

    def close(self) -> None:
        """Close all files; their blocks are gone."""
        for handle in self._files.values():
            os.close(handle)
        self._files.clear()


class InMemory:
    """A block that lies in memory."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data).cast("B")  # a buffer of Arrow is one of signed bytes

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self._data)

    def fill(self, start: int, into: Sequence[memoryview]) -> None:
        """Write its bytes, from *start* on, into memory, one piece after another."""
        for piece in into:
            piece[:] = self._data[start : start + len(piece)]
            start += len(piece)

    def all(self) -> memoryview:
        """All its bytes."""
        return self._data


class _InFile:
    """A block that lies in an open file."""

    def __init__(self, handle: int, start: int, size: int) -> None:
        self._handle = handle
        self._start = start
        self.size = size

    def fill(self, start: int, into: Sequence[memoryview]) -> None:
        """Write its bytes, from *start* on, into memory, one piece after another."""
        wanted = sum(map(len, into))
        if os.preadv(self._handle, into, self._start + start) != wanted:
            raise OSError(f"a file of the exchange ends within a block of {self.size} bytes")

    def all(self) -> bytes:
        """All its bytes."""
        return os.pread(self._handle, self.size, self._start)
