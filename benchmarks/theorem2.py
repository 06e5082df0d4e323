"""`make experiments`: how often a child that lacks a share ε of its rows slips through the sample (section 4.3).

The theorem: with ln(1/δ) / ln(1/(1−ε)) rows drawn uniformly, at most with probability δ. Here a child with exactly
that share planted is pruned again and again, with another key and thus another sample each time, by the product's own
step, sampling and look-up; only Spark is left out. Rows drawn from few places of the child do not earn the bound.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results import save
from r2d2.engine.content import Content, TableContent
from r2d2.engine.hash_slices import Hashing, Piece
from r2d2.lake.discover import discover
from r2d2.lake.read_metadata import read_metadata
from r2d2.lake.read_slice import read_slice
from r2d2.lake.table_profile import table_profile
from r2d2.lake_tools import table_content
from r2d2.model.graph import ContainmentGraph, Edges
from r2d2.model.profile import TableProfile
from r2d2.model.scan import Scan
from r2d2.steps.prune_by_content import prune_by_content, rows_to_sample

CASES = ((0.26, 0.05), (0.1, 0.05), (0.1, 0.01), (0.05, 0.05), (0.02, 0.1), (0.01, 0.05))
TRIALS = 2_000
CHILD_ROWS, CHILD_FILES = 2_000, 5
PARENT, CHILD = 0, 1
CONFIDENCE = 0.999


@dataclass(frozen=True)
class Planted:
    """A parent and a child that lacks a share of its rows in it, all lying together in the child's first files.

    Paths in the slices are below `folder`: samples depend on them, and are to be the same wherever this is run.
    """

    folder: Path
    profiles: tuple[TableProfile, TableProfile]
    contents: tuple[TableContent, TableContent]
    graph: ContainmentGraph


class PlainContent(Content):
    """The product's reader of content, its tasks called one after another instead of by Spark."""

    def _run(self, pieces: Sequence[Piece], task: Callable[..., Iterable[str]]) -> Iterator[dict[str, Any]]:
        yield from map(json.loads, task(pieces, hashing=self.hashing))


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    rows = [row for case in CASES for row in experiment(*case, trials)]
    save("theorem2", rows, data=f"a child of {CHILD_ROWS:,} rows in {CHILD_FILES} files, {trials:,} samples each")


def experiment(epsilon: float, delta: float, trials: int) -> Iterator[dict[str, Any]]:
    """Miss rates of one planted share: drawn uniformly, from the two places of the cheap sample, from one."""
    wanted = rows_to_sample(missing_share=epsilon, risk=delta)
    with tempfile.TemporaryDirectory(prefix="r2d2-theorem-") as folder:
        planted = plant(Path(folder), epsilon)
        for drawn in ("uniformly", "from two places", "from one place"):
            tried = trials if drawn == "uniformly" else trials // 10  # a gross failure needs no fine measure
            misses = count_misses(planted, rows=wanted, trials=tried, drawn=drawn)
            low, high = clopper_pearson(misses, tried, CONFIDENCE)
            row = {
                "ε": epsilon,
                "δ": delta,
                "rows": wanted,
                "drawn": drawn,
                "trials": tried,
                "missed": misses,
                "miss rate": misses / tried,
                f"{CONFIDENCE:.1%} from": low,
                "to": high,
                "in theory": (1 - epsilon) ** wanted if drawn == "uniformly" else "",
                "bound": "holds" if low <= delta else "broken",
            }
            print(row, flush=True)
            yield row


def plant(folder: Path, epsilon: float) -> Planted:
    """Write both tables and read their metadata as a scan does."""
    missing = round(epsilon * CHILD_ROWS)
    per_file = CHILD_ROWS // CHILD_FILES
    (folder / "child").mkdir()
    for number in range(CHILD_FILES):
        some = _table(range(number * per_file, (number + 1) * per_file))
        pq.write_table(some, folder / "child" / f"part-{number}.parquet")
    pq.write_table(_table([*range(missing, CHILD_ROWS), *range(-CHILD_ROWS, 0)]), folder / "parent.parquet")
    found = {table.name: table for table in discover([str(folder)]).tables}
    tables = [found["parent.parquet"], found["child"]]
    metadata, problems = read_metadata(tables, run_tasks=_run_here, timeout_seconds=30)
    assert not problems, problems
    known = [table_profile(table, metadata[table.name]) for table in tables]
    scan = Scan(roots=(str(folder),))
    parent, child = (profile for _, profile in known)
    held, wanted = (_below(folder, table_content(table, profile, scan)) for table, profile in known)
    edge = Edges.of(array("I", [PARENT]), array("I", [CHILD]))
    graph = ContainmentGraph((parent.table, child.table), edge, "planted")
    return Planted(folder, (parent, child), (held, wanted), graph)


def _below(folder: Path, content: TableContent) -> TableContent:
    real = folder.resolve()
    slices = tuple({**part, "path": str(Path(part["path"]).relative_to(real))} for part in content.slices)
    return replace(content, slices=slices)


def _table(numbers: Iterable[int]) -> pa.Table:
    listed = list(numbers)
    return pa.table({"id": listed, "name": [f"n{number}" for number in listed], "even": [n % 2 == 0 for n in listed]})


def _run_here(pieces: Sequence[Any], *, task: Callable[[Any], Iterable[str]], **how: Any) -> list[str]:
    return list(task(pieces))


def count_misses(planted: Planted, *, rows: int, trials: int, drawn: str, seed: int = 1) -> int:
    """In how many of the trials the step left the edge standing, although rows of the child are missing."""
    rng = random.Random(f"{seed} {drawn} {rows}")
    read = _reading_once(planted.folder)
    return sum(_is_missed(planted, Hashing(read, rng.randbytes(32)), rows, drawn, rng) for _ in range(trials))


def _is_missed(planted: Planted, hashing: Hashing, rows: int, drawn: str, rng: random.Random) -> bool:
    parent, child = planted.contents
    if drawn == "from one place":
        child = replace(child, slices=(rng.choice(child.slices),))
    content = PlainContent(_no_spark, (parent, child), hashing, lambda parts: {})
    pruned = prune_by_content(
        planted.graph,
        profiles=planted.profiles,
        width=4,
        rows=rows,
        uniform=drawn == "uniformly",
        content=content,
    )
    assert not content.failed, content.failed
    return len(pruned) == 1


def _no_spark() -> Any:
    raise AssertionError("no session is needed here")


def _reading_once(folder: Path) -> Callable[[Mapping[str, Any], Iterable[Any]], Mapping[Any, Any]]:
    """The product's reader, which reads no slice twice."""
    kept: dict[Any, Mapping[Any, Any]] = {}

    def read(part: Mapping[str, Any], tokens: Iterable[Any]) -> Mapping[Any, Any]:
        asked = part["path"], part["first"], tuple(sorted(tokens))
        if asked not in kept:
            kept[asked] = read_slice({**part, "path": str(folder / part["path"])}, asked[2])
        return kept[asked]

    return read


def clopper_pearson(hits: int, trials: int, confidence: float) -> tuple[float, float]:
    """An interval that holds the true rate with at least this confidence, whatever the rate.

    >>> [round(end, 3) for end in clopper_pearson(5, 100, 0.95)]
    [0.016, 0.113]
    """
    tail = (1 - confidence) / 2
    low = _root(lambda p: 1 - _at_most(hits - 1, trials, p) >= tail) if hits else 0.0
    high = _root(lambda p: _at_most(hits, trials, p) <= tail) if hits < trials else 1.0
    return low, high


def _root(is_beyond: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return (low + high) / 2


def _at_most(hits: int, trials: int, p: float) -> float:
    """The probability of at most so many hits."""
    if p <= 0 or p >= 1:
        return float(p <= 0 or hits >= trials)
    logs = (
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * math.log(p)
        + (trials - k) * math.log1p(-p)
        for k in range(hits + 1)
    )  # fmt: skip
    return math.fsum(map(math.exp, logs))


if __name__ == "__main__":
    main()
