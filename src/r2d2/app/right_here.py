"""Little work, done at once: the tasks' own functions in a fresh Python process, where starting Spark takes longer.

A process of its own, because what it reads may kill it. Whatever goes wrong, there is no answer, and the caller asks
Spark instead.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from r2d2.lake.fresh_python import command, environment
from r2d2.model.containment import Missing

Pair = tuple[int, int]
Piece = Mapping[str, Any]

LITTLE_BYTES = 16 << 20  # of files, compressed
LITTLE_ROWS = 5_000_000
LITTLE_PIECES = 2_000
WAIT_SECONDS = 60.0


class NotHere(Exception):
    """There is no answer: it did not come in time, or what was read has killed the process."""


def is_little(pieces: Sequence[Piece]) -> bool:
    """Whether some pieces of work take less than starting Spark."""
    size = sum(piece["slice"]["bytes"] for piece in pieces)
    rows = sum(piece["slice"]["rows"] for piece in pieces)
    return len(pieces) <= LITTLE_PIECES and size <= LITTLE_BYTES and rows <= LITTLE_ROWS


def run_here(task: str, pieces: Sequence[Piece], *, key: bytes, bits: int) -> list[str]:
    """The answers of a task, by its name, about some pieces."""
    answers: list[str] = _ask({"task": task, "pieces": pieces, "key": key.hex(), "bits": bits})
    return answers


def read_here(pieces: Sequence[Any], *, seconds: float) -> list[str]:
    """What the metadata of files say, as `lake.read_metadata` reads them; *seconds* for one file at most."""
    answers: list[str] = _ask({"task": "read_bundle", "pieces": pieces, "seconds": seconds})
    return answers


def compare_here(
    pieces: Sequence[Piece], edges: Mapping[int, Iterable[Pair]], *, key: bytes, bits: int
) -> tuple[dict[Pair, Missing], list[str]]:
    """Missing rows and copies of every edge, and notes, as `engine.compare_tables` gives them."""
    asked = [[number, [list(pair) for pair in pairs]] for number, pairs in edges.items()]
    job = {"task": "compare", "pieces": pieces, "edges": asked, "key": key.hex(), "bits": bits}
    counts, notes = _ask(job)
    return {(parent, child): Missing(rows, copies) for parent, child, rows, copies in counts}, notes


def _ask(job: Mapping[str, Any]) -> Any:
    try:
        done = subprocess.run(
            command("r2d2.app.right_here"),
            input=json.dumps(job),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            timeout=WAIT_SECONDS,
            env=environment() | {"POLARS_MAX_THREADS": "1"},
            check=True,
        )
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise NotHere from error


def answer(job: Mapping[str, Any]) -> Any:
    """What the process says to a job."""
    if job["task"] == "read_bundle":
        from r2d2.lake.read_metadata import read_bundle

        return list(read_bundle(job["pieces"], timeout_seconds=job["seconds"]))
    from r2d2.engine.rows.compare_tables import compare_at_once
    from r2d2.engine.rows.hash_slices import Hashing, look_up_bundle, sample_bundle
    from r2d2.formats.parquet.ranges import slice_range
    from r2d2.formats.parquet.read import read_slice

    hashing = Hashing(read_slice, bytes.fromhex(job["key"]), job["bits"], slice_range)
    if job["task"] == "compare":
        edges = {number: [(parent, child) for parent, child in pairs] for number, pairs in job["edges"]}
        missing, notes = compare_at_once(job["pieces"], edges=edges, hashing=hashing)
        return [[*pair, *counts] for pair, counts in missing.items()], notes
    tasks = {"sample_bundle": sample_bundle, "look_up_bundle": look_up_bundle}
    return list(tasks[job["task"]](job["pieces"], hashing=hashing))


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
