"""A folder of unrelated tables in files that are named like parts, with a few planted edges."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CHILD_SHARE = 0.05  # of the files; the others have rows of their own
WORDS = 3_000  # column names to draw from: most are in several files, as in tables from the web
TYPES: dict[str, tuple[Any, ...]] = {
    "mixed": (pa.string(), pa.int64(), pa.float64()),
    "text": (pa.string(),),  # as of CSV files: no type tells the files apart
}

Edge = tuple[str, str]


def write_folder(lake: Path, files: int, *, types: str = "mixed", seed: int = 12) -> set[Edge]:
    """Files `1-10006830-1.parquet` of a few columns and rows each; which of them hold which, parent first."""
    rng = random.Random(seed)
    lake.mkdir(parents=True)
    planted: set[Edge] = set()
    roots: list[tuple[str, pa.Table]] = []
    for number in range(files):
        name = f"{number % 7}-{10_000_000 + 37 * number}-{number % 3}.parquet"
        if roots and rng.random() < CHILD_SHARE:
            parent, content = roots.pop(rng.randrange(len(roots)))  # one child at most: no chains, no siblings
            content = _some_of(rng, content)
            planted.add((parent, name))
        else:
            content = _own(rng, number, TYPES[types])
            roots.append((name, content))
        pq.write_table(content, lake / name)
    return planted


def _own(rng: random.Random, number: int, types: tuple[Any, ...]) -> pa.Table:
    """Columns drawn at random, each of a type drawn at random, and values that no other file has."""
    names = rng.sample(range(WORDS), rng.randint(2, 7))
    rows = rng.randint(4, 12)
    columns = {}
    for name in names:
        kind = rng.choice(types)
        values = [number * 1000 + row for row in range(rows)]
        columns[f"word{name}"] = pa.array([f"v{value}" for value in values] if kind == pa.string() else values, kind)
    return pa.table(columns)


def _some_of(rng: random.Random, table: pa.Table) -> pa.Table:
    """Fewer rows, and now and then fewer columns."""
    rows = sorted(rng.sample(range(table.num_rows), table.num_rows - 1))
    columns = table.column_names if rng.random() < 0.5 else table.column_names[: max(2, table.num_columns - 1)]
    return table.select(columns).take(rows)
