"""INT96 timestamps: moments, as Spark writes and reads them (docs/decisions/0015-int96.md).

pyarrow takes them for readings of a wall clock, since the format does not say. And it reads them into nanoseconds,
which end in 2262 and then begin anew in 1677: the 9999-12-31 that stands for "for ever" would become another day. So
they are read twice, into microseconds as well, and what does not fit the one is taken from the other.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.lake.types import flatten_fields
from r2d2.model.schema import Token

_MOST_MICROS = np.iinfo(np.int64).max // 1000 - 1  # that fit as nanoseconds


def as_instant(kind: pa.DataType, leaf: pq.ColumnSchema) -> pa.DataType:
    """The type of a column's values, which it has as one leaf, not in a list: with a zone if they are INT96."""
    return pa.timestamp(kind.unit, kind.tz or "UTC") if _is_moment(kind, leaf) else kind


def _is_moment(kind: pa.DataType, leaf: pq.ColumnSchema) -> bool:
    return leaf.physical_type == "INT96" and leaf.max_repetition_level == 0 and bool(is_.is_timestamp(kind))


def moments_of(file: pq.ParquetFile) -> dict[Token, str]:
    """The INT96 columns, and in which column of the file's top level each stands."""
    found, number = {}, 0
    for token, kind, count in flatten_fields(file.schema_arrow):
        if count == 1 and _is_moment(kind, file.schema.column(number)):
            found[token] = token[0]
        number += count
    return found


def exact_moments(nanos: pa.ChunkedArray, micros: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in the unit that holds every value of it; ValueError if there is none."""
    small, large = _counts(nanos), _counts(micros)
    finer = (small.view(np.uint64) - large.view(np.uint64) * np.uint64(1000)).view(np.int64)  # modulo 2^64, as read
    if ((finer < 0) | (finer > 999)).any():
        raise ValueError("an INT96 timestamp lies beyond all time")
    if ((large >= -_MOST_MICROS) & (large <= _MOST_MICROS)).all():
        return nanos.cast(pa.timestamp("ns", "UTC"))
    if finer.any():
        raise ValueError("INT96 timestamps reach beyond the year 2262, and others are finer than microseconds")
    return micros.cast(pa.timestamp("us", "UTC"))


def _counts(column: pa.ChunkedArray) -> np.ndarray:
    """Since 1970, in the column's unit; 0 where it is NULL."""
    plain = pa.timestamp(column.type.unit)
    counts = column.cast(plain).cast(pa.int64()).fill_null(0)
    return np.ascontiguousarray(counts.to_numpy())
