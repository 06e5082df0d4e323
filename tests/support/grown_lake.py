"""A lake made several times larger with the same edges."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

COPY = "copy"


def grow(lake: Path, into: Path, times: int) -> None:
    """Write every table of a lake with each row so many times, told apart by the new column `copy`.

    Every table gains the same column, so schemas contain each other as before. A row (r, k) of a child is in a parent
    exactly if r was, for each k, and as often as r was: an edge holds in the grown lake if and only if it held before.
    """
    for path in sorted(lake.rglob("*.parquet")):
        target = into / path.relative_to(lake)
        target.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetFile(path) as file:
            _write_copies(file, target, times)


def _write_copies(file: pq.ParquetFile, target: Path, times: int) -> None:
    if COPY in file.schema_arrow.names:
        raise ValueError(f"{target.name} already has a column {COPY}")
    schema = file.schema_arrow.append(pa.field(COPY, pa.int32()))
    with pq.ParquetWriter(target, schema) as writer:
        for copy, group in product(range(times), range(file.num_row_groups)):
            rows = file.read_row_group(group)
            writer.write_table(rows.append_column(COPY, pa.repeat(pa.scalar(copy, pa.int32()), len(rows))))
