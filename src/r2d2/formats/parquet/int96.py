"""INT96 timestamps: moments, as Spark writes and reads them (docs/decisions/0015-int96.md).

pyarrow takes them for readings of a wall clock, since the format does not say. And it reads them into nanoseconds,
which end in 2262 and then start again in 1677: the 9999-12-31 that stands for "for ever" would become another day. So
they are read twice, into milliseconds as well, which hold all of INT96 and tell whether a finer unit holds the column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.formats.arrow_types import is_listlike

_MOST = np.iinfo(np.int64).max
_MOST_MILLIS = {"ns": _MOST // 10**6 - 1, "us": _MOST // 10**3 - 1}  # that fit the finer unit


def as_instant(kind: pa.DataType, leaf: pq.ColumnSchema) -> pa.DataType:
    """The type of a column's values, which it has as one leaf, not in a list: with a zone if they are INT96."""
    return pa.timestamp(kind.unit, kind.tz or "UTC") if _is_moment(kind, leaf) else kind


def _is_moment(kind: pa.DataType, leaf: pq.ColumnSchema) -> bool:
    return leaf.physical_type == "INT96" and leaf.max_repetition_level == 0 and bool(is_.is_timestamp(kind))


def exact_moments(nanos: pa.ChunkedArray, read_as: Callable[[str], pa.ChunkedArray]) -> pa.ChunkedArray:
    """The column in the unit that holds every value of it; ValueError if there is none.

    *nanos* is modulo 2^64. *read_as* reads the column again into another unit.
    """
    millis = read_as("ms")
    if _is_within(millis, _MOST_MILLIS["ns"]):
        return _as_moments(nanos)
    if not _is_within(millis, _MOST_MILLIS["us"]):
        raise ValueError("an INT96 timestamp lies beyond microseconds, some 290,000 years from now")
    micros = read_as("us")
    pairs = zip(times_inside(nanos), times_inside(micros), strict=True)
    if any(fine.type != coarse.type and _is_finer(fine, coarse) for fine, coarse in pairs):
        raise ValueError("INT96 timestamps reach beyond the year 2262 or 1677, and others are finer than microseconds")
    return _as_moments(micros)


def times_inside(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The dates and timestamps of a column, at any depth."""
    for chunk in column.chunks:
        yield from _inside(chunk)


def _inside(array: pa.Array) -> Iterator[pa.Array]:
    kind = array.type
    if is_.is_date(kind) or is_.is_timestamp(kind):
        yield array
    elif is_.is_map(kind):
        yield from _inside(array.keys)
        yield from _inside(array.items)
    elif is_.is_struct(kind) or is_listlike(kind):
        inner = array.flatten()
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _inside(one)


def _as_moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with a zone; inside a list or a map it has none (docs/row-identity.md)."""
    return column.cast(pa.timestamp(column.type.unit, "UTC")) if is_.is_timestamp(column.type) else column


def _is_within(millis: pa.ChunkedArray, most: int) -> bool:
    """Whether no value is further from 1970 than *most* milliseconds; what is in another unit is no INT96."""
    return all(
        pc.all(pc.less_equal(pc.abs_checked(times.cast(pa.int64())), most)).as_py() is not False
        for times in times_inside(millis)
        if is_.is_timestamp(times.type) and times.type.unit == "ms"
    )


def _is_finer(nanos: pa.Array, micros: pa.Array) -> bool:
    """Whether a value has nanoseconds that microseconds lack."""
    fine, coarse = (np.ascontiguousarray(one.cast(pa.int64()).fill_null(0).to_numpy()) for one in (nanos, micros))
    return bool((fine.view(np.uint64) != coarse.view(np.uint64) * np.uint64(1000)).any())
