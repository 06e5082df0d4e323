"""Arrow's buffers as NumPy arrays. A buffer may be longer than its content, so the count is always given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[Any]  # of whatever type of number
Live = NDArray[np.bool_] | None  # True where a row is not NULL; None: everywhere


def live_rows(array: pa.Array) -> Live:
    """The validity of an array's own rows."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.bool_)
    return bits(array, 0) if array.null_count else None


def bits(array: pa.Array, buffer: int) -> NDArray[np.bool_]:
    """A buffer of one bit per row."""
    first, skip = divmod(array.offset, 8)
    count = (skip + len(array) + 7) // 8
    packed = np.frombuffer(array.buffers()[buffer], np.uint8, count=count, offset=first)
    return np.unpackbits(packed, bitorder="little")[skip : skip + len(array)].view(np.bool_)


def values(array: pa.Array, dtype: str, per_row: int = 1, extra: int = 0) -> Numbers:
    """The second buffer: *per_row* items for each row, and *extra* ones (the last bound of a list)."""
    begin = array.offset * np.dtype(dtype).itemsize * per_row
    return np.frombuffer(array.buffers()[1], dtype, count=len(array) * per_row + extra, offset=begin)
