"""Draw the layout of a new table: single file, part files or Hive folders, mixed as in real lakes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from r2d2.synthetic.hive import partition_type
from r2d2.synthetic.layout import Layout

COMPRESSIONS = ("snappy", "snappy", "zstd", "gzip", "none")
ROW_GROUP_ROWS = (65_536, 20_000, 5_000)  # the first is the most rows in memory
HIVE_SHARE, FILE_SHARE = 0.15, 0.35
MOST_PARTITIONS, LONGEST_VALUE = 16, 40


def draw_layout(sample: pa.Table, *, rows: int, files_per_table: int, random: np.random.Generator) -> Layout:
    """A layout for about *rows* rows like those of the sample."""
    files = int(random.integers(1, files_per_table + 1))
    row_group_rows = ROW_GROUP_ROWS[random.integers(len(ROW_GROUP_ROWS))]
    compression = COMPRESSIONS[random.integers(len(COMPRESSIONS))]
    keys, kind = _partition_keys(sample), random.random()
    if keys and kind < HIVE_SHARE:
        return Layout(
            "hive",
            rows_per_file=0,
            row_group_rows=row_group_rows,
            compression=compression,
            partition_by=keys[random.integers(len(keys))],
        )
    rows_per_file = max(1, -(-rows // files))
    return Layout("file" if kind > 1 - FILE_SHARE else "folder", rows_per_file, row_group_rows, compression)


def _partition_keys(sample: pa.Table) -> list[str]:
    """Columns with few short values; at least one other column must remain for the files."""
    if sample.num_columns < 2:
        return []
    return [name for name in sample.column_names if _is_partition_key(sample[name])]


def _is_partition_key(column: pa.ChunkedArray) -> bool:
    # Booleans and floats are left out, and text that looks like a number: a folder name loses their type.
    if not (pt.is_string(column.type) or pt.is_integer(column.type) or pt.is_date32(column.type)):
        return False
    values = pc.unique(column.cast(pa.string())).to_pylist()
    texts = [value for value in values if value is not None]
    if pt.is_string(column.type) and partition_type(texts) != pa.string():
        return False
    few = 1 < len(values) <= min(MOST_PARTITIONS, len(column) // 2)
    return few and all(0 < len(text) <= LONGEST_VALUE for text in texts)
