"""A child that lacks a share of its rows, and how often a sample misses that (section 4.3, Theorem 4.2).

The step, the sampling and the look-up are the product's own; only Spark is left out. The planted rows differ from the
parent's in the least selective column only, which a comparison in the few most selective columns does not see.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.app.lake_tools import read_metadata, table_content
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.inline import Inline
from r2d2.formats.parquet.read import read_slice
from r2d2.lake.discover import discover
from r2d2.lake.table_profile import table_profile
from r2d2.model.graph import ContainmentGraph, Edges
from r2d2.model.profile import TableProfile
from r2d2.model.scan import Scan
from r2d2.steps.prune_by_content import prune_by_content

WIDTHS = (3, 8, 40)  # columns of the tables
SELECTED = 4  # columns that the cheap sample is compared in
CHILD_ROWS, CHILD_FILES = 2_000, 5
PARENT, CHILD = 0, 1
LEAST_SELECTIVE = "even"


@dataclass(frozen=True)
class Planted:
    """A parent and a child that lacks a share of its rows in it, all lying together in the child's first files.

    The parent has a row for each of them that differs in the least selective column.

    Paths in the slices are below `folder`: samples depend on them, and are to be the same wherever this is run.
    """

    folder: Path
    profiles: tuple[TableProfile, TableProfile]
    contents: tuple[TableContent, TableContent]
    graph: ContainmentGraph


def plant(folder: Path, epsilon: float, width: int = 3) -> Planted:
    """Write both tables and read their metadata as a scan does."""
    missing = round(epsilon * CHILD_ROWS)
    per_file = CHILD_ROWS // CHILD_FILES
    (folder / "child").mkdir()
    for number in range(CHILD_FILES):
        some = _table(range(number * per_file, (number + 1) * per_file), width)
        pq.write_table(some, folder / "child" / f"part-{number}.parquet")
    held = _table(range(-CHILD_ROWS, CHILD_ROWS), width, flipped=range(missing))
    pq.write_table(held, folder / "parent.parquet")
    found = {table.name: table for table in discover([str(folder)]).tables}
    tables = [found["parent.parquet"], found["child"]]
    metadata = read_metadata(tables, Inline(), timeout_seconds=30)
    assert not metadata.problems, metadata.problems
    known = [table_profile(table, metadata.merged[table.name]) for table in tables]
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


def _table(numbers: Iterable[int], width: int, flipped: Container[int] = ()) -> pa.Table:
    """Rows that are told apart by all columns but the last, whose value is the other one in the *flipped* rows."""
    listed = list(numbers)
    ids = {"id": listed, "name": [f"n{number}" for number in listed]}
    more = {f"amount_{place}": [n * (place + 7) for n in listed] for place in range(width - len(ids) - 1)}
    return pa.table(ids | more | {LEAST_SELECTIVE: [(n % 2 == 0) != (n in flipped) for n in listed]})


def count_misses(planted: Planted, *, rows: int, trials: int, drawn: str, seed: int = 1) -> int:
    """In how many of the trials the step left the edge standing, although rows of the child are missing."""
    width = len(planted.profiles[CHILD].schema.columns)
    rng = random.Random(f"{seed} {drawn} {rows} {width}")
    read = _reading_once(planted.folder)
    return sum(_is_missed(planted, Hashing(read, rng.randbytes(32)), rows, drawn, rng) for _ in range(trials))


def _is_missed(planted: Planted, hashing: Hashing, rows: int, drawn: str, rng: random.Random) -> bool:
    parent, child = planted.contents
    if drawn == "from one place":
        child = replace(child, slices=(rng.choice(child.slices),))
    content = Content(Inline(), (parent, child), hashing, lambda parts: {})
    pruned = prune_by_content(
        planted.graph,
        profiles=planted.profiles,
        width=SELECTED,
        rows=rows,
        guaranteed=drawn != "from two places",
        content=content,
    )
    assert not content.failed, content.failed
    return len(pruned) == 1


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
