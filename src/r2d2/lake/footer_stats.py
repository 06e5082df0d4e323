"""Min, max and null count of a Parquet column, believed only as far as its writer can be (HAZARDS 27)."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.model.profile import ColumnStats, Value

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DIGITS = Context(prec=100)  # decimal256 has 76

# How long a text bound may be and still be known to be whole: longer ones may have been cut. Arrow and parquet-mr
# leave a bound out rather than cut it, but parquet-mr can be configured to cut; an unknown writer is not believed.
_WHOLE_BYTES = (
    (re.compile(r"parquet-cpp"), 1 << 30),
    (re.compile(r"DuckDB"), 250),  # cuts at 256 bytes
    (re.compile(r"Polars|parquet-rs|delta-rs"), 60),  # cut at 64 bytes, at a character's end
    (re.compile(r"parquet-mr"), 16),
)
# Before 1.10, or without a version as the oldest were: "parquet-mr (build abcd)".
_OLD_PARQUET_MR = re.compile(r"parquet-mr(?! version (?:1\.[1-9]\d|[2-9]|[1-9]\d))")


def column_stats(
    metadata: pq.FileMetaData, groups: Sequence[pq.RowGroupMetaData], leaf: int, kind: pa.DataType
) -> ColumnStats:
    """Statistics of one leaf over all row groups: exact, valid or unknown."""
    if is_.is_null(kind):
        return ColumnStats(nulls=metadata.num_rows)
    required = metadata.schema.column(leaf).max_definition_level == 0
    nulls: int | None = 0
    lows: list[Value | None] = []
    highs: list[Value | None] = []
    for group in groups:
        if group.num_rows == 0:
            continue
        stats = group.column(leaf).statistics
        group_nulls = 0 if required else (stats.null_count if stats and stats.has_null_count else None)
        if group_nulls is not None and not 0 <= group_nulls <= group.num_rows:
            group_nulls = None
        nulls = None if nulls is None or group_nulls is None else nulls + group_nulls
        if group_nulls != group.num_rows:
            low, high = _bounds(stats, kind, metadata.created_by or "")
            lows.append(low)
            highs.append(high)
    low = None if None in lows else min(lows, default=None)  # type: ignore[type-var]
    high = None if None in highs else max(highs, default=None)  # type: ignore[type-var]
    whole = _whole_bytes(metadata.created_by or "")
    return ColumnStats(nulls, low, high, _exact(low, whole), _exact(high, whole))


def _bounds(stats: pq.Statistics | None, kind: pa.DataType, created_by: str) -> tuple[Value | None, Value | None]:
    """The bounds of one row group, or unknown for both: one that is odd makes the other suspect."""
    if stats is None or not stats.has_min_max or stats.physical_type == "INT96":
        return None, None
    if stats.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and _OLD_PARQUET_MR.match(created_by):
        return None, None  # PARQUET-251 and the signed order of old writers
    low, high = _canonical(stats.min_raw, kind), _canonical(stats.max_raw, kind)
    if low is None or high is None or low > high:  # type: ignore[operator]
        return None, None
    return low, high


def _canonical(raw: Any, kind: pa.DataType) -> Value | None:
    """A raw bound in the form that compares (see r2d2.model.profile.Value); None where we do not know how."""
    if is_.is_boolean(kind):
        return int(raw)
    if is_.is_integer(kind):
        return int(raw) % (1 << kind.bit_width) if is_.is_unsigned_integer(kind) else int(raw)
    if is_.is_floating(kind):
        number = struct.unpack("<e", raw)[0] if isinstance(raw, bytes) else float(raw)
        return None if math.isnan(number) else number
    if is_.is_decimal(kind):
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else int(raw)
        return _DIGITS.scaleb(Decimal(unscaled), -kind.scale)
    if is_.is_date32(kind):
        return int(raw)
    if is_.is_timestamp(kind) or is_.is_time(kind) or is_.is_duration(kind):
        return int(raw) * _NANOSECONDS[kind.unit]
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogateescape")
    return bytes(raw) if isinstance(raw, bytes) else None


def _whole_bytes(created_by: str) -> int:
    return next((length for writer, length in _WHOLE_BYTES if writer.search(created_by)), 0)


def _exact(bound: Value | None, whole_bytes: int) -> bool:
    """Numbers are never cut; a text bound is exact if its writer cannot have cut it at that length."""
    return bound is not None and (not isinstance(bound, bytes) or len(bound) < whole_bytes)
