"""The tasks that a child process can do, and the program that it runs: this module.

They are the very tasks that Spark's workers run. Little work is done sooner so than Spark has started.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from r2d2.engine.run.child_process import Program, serve
from r2d2.engine.run.contract import Exchange, Given, Task
from r2d2.lake.fresh_python import command, environment
from r2d2.model.work import Failed, MetadataWork, Profiled, SliceWork

if TYPE_CHECKING:
    from r2d2.engine.rows.hash_slices import Hashing

LITTLE_BYTES = 16 << 20  # of files, compressed
LITTLE_ROWS = 5_000_000
LITTLE_PIECES = 2_000


def is_little(items: Sequence[object]) -> bool:
    """Whether work items about slices take less than starting Spark."""
    from r2d2.engine.rows.table_content import about_rows

    parts = [item["slice"] for item in cast("Sequence[SliceWork]", items)]
    if len(parts) > LITTLE_PIECES:
        return False
    return sum(part["bytes"] for part in parts) <= LITTLE_BYTES and sum(map(about_rows, parts)) <= LITTLE_ROWS


def child_program() -> Program:
    """How the process is started."""
    return Program(command(__name__), environment())


def reading_metadata(seconds: float) -> Task[MetadataWork, Profiled | Failed]:
    """The task that reads the metadata of files, *seconds* for one file at most."""
    from r2d2.lake.read_metadata import FILES_PER_TASK, read_bundle

    run = partial(read_bundle, timeout_seconds=seconds)
    return Task("metadata", run, lambda item: len(item["paths"]), FILES_PER_TASK, {"seconds": seconds})


def hashing_with(key: bytes, bits: int = 128) -> Hashing:
    """How rows become hashes under a state's key."""
    from r2d2.engine.rows.hash_slices import Hashing
    from r2d2.formats.registry import read_bytes, read_slice, slice_range

    return Hashing(read_slice, key, bits, slice_range, read_bytes)


def _metadata(given: Given) -> Task[Any, Any]:
    return reading_metadata(cast(float, given["seconds"]))


def _sample(given: Given) -> Task[Any, Any]:
    from r2d2.engine.rows.hash_slices import sampling

    return sampling(_hashing(given))


def _locate(given: Given) -> Task[Any, Any]:
    from r2d2.engine.rows.hash_slices import locating

    return locating(_hashing(given))


def _look_up(given: Given) -> Task[Any, Any]:
    from r2d2.engine.rows.hash_slices import looking_up

    return looking_up(_hashing(given))


def _digest(given: Given) -> Task[Any, Any]:
    from r2d2.engine.rows.same_bytes import digesting

    return digesting(_hashing(given))


def _hash(given: Given) -> Exchange[Any, Any]:
    from r2d2.engine.rows.compare_tables import comparing

    return comparing(_hashing(given))


def _hashing(given: Given) -> Hashing:
    return hashing_with(bytes.fromhex(cast(str, given["key"])), cast(int, given["bits"]))


TASKS: Mapping[str, Callable[[Given], Task[Any, Any] | Exchange[Any, Any]]] = {
    "metadata": _metadata,
    "sample": _sample,
    "locate": _locate,
    "look_up": _look_up,
    "digest": _digest,
    "hash": _hash,
}

if __name__ == "__main__":
    serve(TASKS, sys.stdin, sys.stdout)
