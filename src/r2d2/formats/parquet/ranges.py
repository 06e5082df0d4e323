"""Between which values a column of one slice lies, from the file's metadata: a slice out of range need not be read."""

from __future__ import annotations

import os
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.errors import TableError
from r2d2.formats.parquet.arrow_types import flatten_fields
from r2d2.formats.parquet.exactness import Exactness
from r2d2.formats.parquet.read import FileSlice
from r2d2.formats.parquet.statistics import column_stats
from r2d2.model.schema import Token

Range = tuple[str, int, int]  # int or date (days since 1970), least, greatest


def slice_range(part: FileSlice, token: Token) -> Range | None:
    """The range of a column of whole numbers or dates, NULLs aside; None if it is not known."""
    for key, raw, kind in part["partition"]:
        if ((key.casefold() if part["fold"] else key),) == token:
            return _partition_range(raw, kind)
    try:
        with pq.ParquetFile(part["path"]) as file:
            return _stored_range(file, part, token)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{os.path.basename(part['path'])} cannot be read ({error})") from error


def _partition_range(raw: str | None, kind: str) -> Range | None:
    if raw is None or kind == "string":
        return None
    value = int(raw) if kind == "int64" else (date.fromisoformat(raw) - date(1970, 1, 1)).days
    return ("int" if kind == "int64" else "date"), value, value


def _stored_range(file: pq.ParquetFile, part: FileSlice, token: Token) -> Range | None:
    leaf = 0
    found = None
    for stored, kind, leaves in flatten_fields(file.schema_arrow):
        if token in (stored, tuple(name.casefold() for name in stored) if part["fold"] else stored):
            found = leaf, kind
        leaf += leaves
    if found is None or not (is_.is_integer(found[1]) or is_.is_date32(found[1])):
        return None
    stats = column_stats(file.metadata, _row_groups(file.metadata, part), *found, Exactness())
    if not isinstance(stats.low, int) or not isinstance(stats.high, int):
        return None
    return ("date" if is_.is_date32(found[1]) else "int"), stats.low, stats.high


def _row_groups(metadata: pq.FileMetaData, part: FileSlice) -> list[tuple[int, pq.RowGroupMetaData]]:
    groups, first = [], 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if part["first"] <= first < part["first"] + part["rows"]:
            groups.append((number, group))
        first += group.num_rows
    return groups
