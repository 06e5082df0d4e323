"""`make bench-wide`: tables of thousands of columns: how processor time grows with the number of columns.

Two tables of the same 70 rows in another order; and one table of 50 rows with 200 projections of it. The time of as
many tables of 16 columns (Python, Java, Spark, the files) is subtracted. The aim is an exponent of at most 1.2.
`python -m benchmarks.wide 375 750` takes these numbers of columns only.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results import save
from benchmarks.scans import Scanned, scan
from tests.support.growth import with_exponents

COLUMNS = {"two tables": (375, 750, 1_500, 3_000, 6_000), "projections": (1_500, 3_000)}
FEWEST = 16  # columns of the lake whose time is subtracted
PROJECTIONS = 200
Write = Callable[[Path, int], int]  # a lake of so many columns into a folder; the number of its edges


def main() -> None:
    wanted = {int(text) for text in sys.argv[1:]}
    rows = []
    for family, write in (("two tables", write_two), ("projections", write_projections)):
        sizes = [size for size in COLUMNS[family] if not wanted or size in wanted]
        rows += measure(family, write, sizes) if sizes else []
    save("wide-part" if wanted else "wide", rows)


def measure(family: str, write: Write, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """One family of lakes from few columns to many."""
    smallest = min(scanned(write, FEWEST).watched.cpu_seconds for _ in range(2))
    rows = []
    for size in sizes:
        done = scanned(write, size)
        cpu = done.watched.cpu_seconds
        rows.append({"lake": family, "columns": size, "CPU s": cpu, "CPU s more": cpu - smallest, **_rest(done)})
        print(rows[-1], flush=True)
    return with_exponents(rows, of="CPU s more", by="columns")


def scanned(write: Write, columns: int) -> Scanned:
    """A scan of a new lake, whose edges must be those that were planted."""
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as folder:
        planted = write(Path(folder) / "lake", columns)
        done = scan(Path(folder) / "lake", Path(folder) / "state")
    assert done.answer["edges"] == planted, f"{done.answer['edges']} edges, not {planted}"
    return done


def _rest(done: Scanned) -> dict[str, Any]:
    return {"seconds": done.seconds, "without session": done.without_session, **done.peaks}


def write_two(lake: Path, columns: int) -> int:
    """Two tables of the same rows, in another order: each is contained in the other."""
    table = _table(70, columns)
    _write(table, lake / "one")
    _write(table.take(pa.array(np.random.default_rng(2).permutation(table.num_rows))), lake / "other")
    return 2


def write_projections(lake: Path, columns: int) -> int:
    """A table and random halves of its columns: each half is contained in the table, none in another half."""
    table, draw = _table(50, columns), random.Random(3)
    _write(table, lake / "whole")
    names = table.column_names
    halves: set[tuple[str, ...]] = set()
    while len(halves) < PROJECTIONS:
        halves.add(tuple(sorted(draw.sample(names, columns // 2))))
    for number, half in enumerate(sorted(halves)):
        _write(table.select(list(half)), lake / f"half{number:03d}")
    return PROJECTIONS


def _table(rows: int, columns: int) -> pa.Table:
    values = np.random.default_rng(1).integers(0, 10**6, size=(columns, rows))
    return pa.table({f"column{number:05d}": pa.array(row) for number, row in enumerate(values)})


def _write(table: pa.Table, folder: Path) -> None:
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "part-0.parquet")


if __name__ == "__main__":
    main()
