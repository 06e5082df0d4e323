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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from r2d2.engine.run.contract import NOTE, Block
from r2d2.engine.spark.cluster import works_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLACE = struct.Struct("<4sQQ")  # magic, first byte and length, followed by the file's path
_MAGIC = b"R2HP"


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


def send(blocks: Iterable[Block], *, folder: str) -> Iterator[Block]:
    """Message that goes through the shuffle for each block: itself, or its place in a file of *folder*."""
    if not folder:
        yield from blocks
        return
    path = os.path.join(folder, uuid.uuid4().hex)
    with open(path, "wb") as file:
        for projection, part, table, block in blocks:
            if projection == NOTE:
                yield projection, part, table, block
            else:
                yield projection, part, table, _PLACE.pack(_MAGIC, file.tell(), len(block)) + os.fsencode(path)
                file.write(block)


def receive(sent: memoryview) -> bytes | memoryview:
    """The block again."""
    if sent[:4] != _MAGIC:
        return sent
    _, start, size = _PLACE.unpack_from(sent)
    with open(os.fsdecode(bytes(sent[_PLACE.size :])), "rb") as file:
        file.seek(start)
        return file.read(size)
