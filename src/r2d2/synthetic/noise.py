"""Add noise to numbers, in their own type and within its range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

Moves = npt.NDArray[np.float64]


def jitter(column: pa.Array, moves: Moves) -> pa.Array:
    """Add its move to each value, in the column's type; NULL stays NULL.

    A whole number changes by at least one, a decimal by at least its last digit.
    """
    if pt.is_integer(column.type):
        return _jitter_integers(column, moves)
    if pt.is_decimal(column.type):
        return _jitter_decimals(column, moves)
    moved = pc.add(column.cast(pa.float64()), pa.array(moves))
    return pc.add(moved, 0.0).cast(column.type, safe=False)  # -0.0 becomes 0.0


def _jitter_integers(column: pa.Array, moves: Moves) -> pa.Array:
    limits = np.iinfo(column.type.to_pandas_dtype())
    values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    steps = np.clip(_at_least_one(moves), -(2.0**62), 2.0**62).astype(np.int64)
    # Clipped before the sum: a sum past the end of int64 would wrap around.
    steps = np.clip(steps, limits.min - np.minimum(values, 0), limits.max - np.maximum(values, 0))
    return pa.array(values + steps, mask=_nulls(column)).cast(column.type)


def _jitter_decimals(column: pa.Array, moves: Moves) -> pa.Array:
    digit = 10.0**-column.type.scale
    limit = 10.0 ** (column.type.precision - column.type.scale) * 0.999
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
    moved = np.clip(values + _at_least_one(moves / digit) * digit, -limit, limit)
    return pa.array(moved, mask=_nulls(column)).cast(column.type, safe=False)


def _at_least_one(moves: Moves) -> Moves:
    return np.copysign(np.maximum(np.rint(np.abs(moves)), 1.0), moves)


def _nulls(column: pa.Array) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return nulls
