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

from r2d2.formats.parquet.exactness import Exactness, Flags
from r2d2.formats.parquet.old_calendar import is_old, old_calendar
from r2d2.model.profile import ColumnStats, Value
from r2d2.model.types import NANOSECONDS

_DIGITS = Context(prec=100)  # decimal256 has 76

# Arrow leaves a text bound out rather than cut it. Before version 12 its bounds of dictionary columns could be wrong.
_NEVER_CUTS = re.compile(r"parquet-cpp-arrow version (?:1[2-9]|[2-9]\d)")
_OLD_ARROW = re.compile(r"parquet-cpp(?!-arrow version (?:1[2-9]|[2-9]\d))")
# Before 1.10, or without a version as the oldest were: "parquet-mr (build abcd)".
_OLD_PARQUET_MR = re.compile(r"parquet-mr(?! version (?:1\.[1-9]\d|[2-9]|[1-9]\d))")
# Writers whose exactness flags hold. DuckDB before 2.0 flags the bounds of an ENUM type as those of the column.
_FLAGS_HOLD = re.compile(r"DuckDB version v(?:[2-9]|[1-9]\d)|parquet-rs|delta-rs")
_STATES_NO_FLAGS = re.compile(r"Polars|parquet-mr")  # and may cut text at any length
_UNSIGNED_DECIMALS = re.compile(r"Polars")  # versions before 2.1 compared negative ones wrongly across pages
_WRONG_PAGES = re.compile(r"Arrow2")  # what Polars was built on: stated the bounds of some pages as those of all
_BYTES = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")


def needs_flags(created_by: str) -> bool:
    """Whether the exactness flags of a file by this writer can change what is known of its bounds."""
    return not (_NEVER_CUTS.match(created_by) or _STATES_NO_FLAGS.match(created_by))


_Bound = tuple[Value, bool]  # and whether that very value is in the column


def column_stats(
    metadata: pq.FileMetaData,
    groups: Sequence[tuple[int, pq.RowGroupMetaData]],
    leaf: int,
    kind: pa.DataType,
    exactness: Exactness,
) -> ColumnStats:
    """Statistics of one leaf over some row groups, each with its number: exact, valid or unknown."""
    if is_.is_null(kind):
        return ColumnStats(nulls=metadata.num_rows)
    required = metadata.schema.column(leaf).max_definition_level == 0
    nulls: int | None = 0
    bounds: list[tuple[_Bound, _Bound] | None] = []
    for number, group in groups:
        if group.num_rows == 0:
            continue
        stats = group.column(leaf).statistics
        group_nulls = 0 if required else (stats.null_count if stats and stats.has_null_count else None)
        if group_nulls is not None and not 0 <= group_nulls <= group.num_rows:
            group_nulls = None
        nulls = None if nulls is None or group_nulls is None else nulls + group_nulls
        if group_nulls != group.num_rows:
            bounds.append(_bounds(stats, kind, metadata.created_by or "", exactness.of(number, leaf)))
    known = [both for both in bounds if both is not None]
    if not known or len(known) < len(bounds):
        return ColumnStats(nulls)
    low, low_inexact = min((low, not exact) for (low, exact), _ in known)  # on a tie the exact one
    high, high_exact = max(high for _, high in known)
    if is_old(low, kind) and any(old_calendar(metadata.metadata)):
        return ColumnStats(nulls)
    return ColumnStats(nulls, low, high, not low_inexact, high_exact)


def _bounds(
    stats: pq.Statistics | None, kind: pa.DataType, created_by: str, flags: Flags
) -> tuple[_Bound, _Bound] | None:
    """Both bounds of one row group, or None: if one is odd, the other is suspect."""
    if stats is None or not stats.has_min_max or stats.physical_type == "INT96" or _WRONG_PAGES.match(created_by):
        return None
    if stats.physical_type in _BYTES and not _byte_bounds_hold(kind, created_by, flags):
        return None
    low, high = _canonical(stats.min_raw, kind), _canonical(stats.max_raw, kind)
    if low is None or high is None or low > high:  # type: ignore[operator]
        return None
    low_flag, high_flag = flags
    return (low, _is_exact(low, low_flag, created_by)), (high, _is_exact(high, high_flag, created_by))


def _byte_bounds_hold(kind: pa.DataType, created_by: str, flags: Flags) -> bool:
    """Whether nothing lies beyond the bounds of a column that is stored as bytes."""
    if _OLD_PARQUET_MR.match(created_by) or _OLD_ARROW.match(created_by):  # the former took bytes for signed ones
        return False
    if is_.is_decimal(kind) or is_.is_floating(kind):  # a number that was cut is another number
        return False not in flags and not _UNSIGNED_DECIMALS.match(created_by)
    return True


def _is_exact(bound: Value, flag: bool | None, created_by: str) -> bool:
    """Whether a bound is in the column: text may be cut, and a cut maximum is raised and may be of any length."""
    if flag is False or not isinstance(bound, bytes):
        return flag is not False
    return bool(_NEVER_CUTS.match(created_by) or (flag and _FLAGS_HOLD.match(created_by)))


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
        return int(raw) * NANOSECONDS[kind.unit]
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogateescape")
    return bytes(raw) if isinstance(raw, bytes) else None
