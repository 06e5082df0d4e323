"""Bounds of one column of a slice, from the file's metadata: a slice out of range need not be read."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.errors import TableError
from r2d2.formats.arrow_types import type_name
from r2d2.formats.contract import FileSlice, Range
from r2d2.formats.files import folded, partition_of, partition_range
from r2d2.formats.parquet.exactness import Exactness
from r2d2.formats.parquet.layout import layout_of
from r2d2.formats.parquet.statistics import column_stats, needs_flags
from r2d2.model.schema import Token
from r2d2.model.types import kind_of


def slice_range(part: FileSlice, token: Token) -> Range | None:
    """The range of a column, NULL and NaN aside; None if it is not known."""
    found = partition_of(part, token)
    if found is not None:
        return partition_range(*found)
    try:
        with pq.ParquetFile(part["path"]) as file:
            return _stored_range(file, part, token)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{os.path.basename(part['path'])} cannot be read ({error})") from error


def _stored_range(file: pq.ParquetFile, part: FileSlice, token: Token) -> Range | None:
    found = None
    for column in layout_of(file).columns:
        if token in (column.token, folded(column.token, part["fold"])):
            found = column.leaves.start, column.kind
    if found is None or (is_.is_decimal(found[1]) and needs_flags(file.metadata.created_by or "")):
        return None  # a decimal that was cut is another number, and the flags that say so are not read here
    stats = column_stats(file.metadata, _row_groups(file.metadata, part), *found, Exactness())
    if stats.low is None or stats.high is None:
        return None
    return kind_of(type_name(found[1])), stats.low, stats.high


def _row_groups(metadata: pq.FileMetaData, part: FileSlice) -> list[tuple[int, pq.RowGroupMetaData]]:
    groups, first = [], 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if part["first"] <= first < part["first"] + part["rows"]:
            groups.append((number, group))
        first += group.num_rows
    return groups
