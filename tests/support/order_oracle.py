"""Is a list of rows sorted? By plain Python, value by value: what everything fast is compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from r2d2.model.recipe import SortKey

Row = dict[str, Any]


def compared(one: Row, other: Row, keys: Sequence[SortKey]) -> int:
    """-1, 0 or 1: which of two rows comes first."""
    for key in keys:
        a, b = (value_of(row, key) for row in (one, other))
        if a is None or b is None:
            way = 0 if a is b else (-1 if (a is None) == key.nulls_first else 1)
        else:
            way = _values(a, b) * (-1 if key.descending else 1)
        if way:
            return way
    return 0


def value_of(row: Any, key: SortKey) -> Any:
    for part in key.column:
        row = None if row is None else row[part]
    return row.encode() if isinstance(row, str) else row


def _values(a: Any, b: Any) -> int:
    """NaN is above all numbers; both zeros are one."""
    if isinstance(a, float):
        a, b = ((math.isnan(value), 0.0 if math.isnan(value) else value) for value in (a, b))
    return int(a > b) - int(a < b)


def is_sorted(rows: Sequence[Row], keys: Sequence[SortKey]) -> bool:
    return all(compared(one, other, keys) <= 0 for one, other in pairwise(rows))


def in_order(rows: Sequence[Row], keys: Sequence[SortKey]) -> list[Row]:
    """Sorted by the keys; ties stay as they are."""
    return sorted(rows, key=cmp_to_key(lambda one, other: compared(one, other, keys)))
