"""Figures of growth: the exponent between two measurements, and a whole from a sample of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any


def exponent(before: Mapping[str, Any], after: Mapping[str, Any], *, of: str, by: str) -> float | None:
    """The power of *by* that *of* grows with; None if there is nothing to compare.

    >>> exponent({"GB": 1, "seconds": 3}, {"GB": 4, "seconds": 6}, of="seconds", by="GB")
    0.5
    """
    measured = (before[of], after[of], before[by], after[by])
    if min(measured) <= 0 or before[by] == after[by]:
        return None
    return round(math.log(after[of] / before[of]) / math.log(after[by] / before[by]), 2)


def with_exponents(rows: Sequence[Mapping[str, Any]], *, of: str, by: str) -> list[dict[str, Any]]:
    """The rows, each but the first with its exponent since the one before."""
    later = [{**after, "exponent": exponent(before, after, of=of, by=by)} for before, after in pairwise(rows)]
    return [*map(dict, rows[:1]), *later]


def extrapolate(sample: Sequence[float], of: int) -> float:
    """The sum over *of* things, judged by the mean of the sample."""
    return sum(sample) / len(sample) * of if sample else 0.0
