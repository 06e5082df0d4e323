"""Checks of values: each returns the fault of a value in words, or None."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

Check = Callable[[Any], str | None]


def at_least(least: float) -> Check:
    """Check of a finite number with a lower bound."""
    return lambda value: None if least <= value < math.inf else f"must be at least {least}{_finite(value)}"


def _finite(value: float) -> str:
    """Words that are added to refuse infinity."""
    return ", and finite" if value == math.inf else ""


def between(least: float, most: float) -> Check:
    """Check of a number below an upper bound."""
    return lambda value: None if least <= value < most else f"must be at least {least} and below {most}"


def from_to(least: float, most: float) -> Check:
    """Check of a number up to an upper bound."""
    return lambda value: None if least <= value <= most else f"must be at least {least} and at most {most}"


def share_of_rows(value: float) -> str | None:
    """Refuse shares that need samples of millions of rows: comparing every row is then cheaper."""
    return None if value == 0 or 1e-6 <= value < 1 else "must be 0, or at least 0.000001 and below 1"


def one_of(*words: str) -> Check:
    """Check of a word from a list."""
    return lambda value: None if value in words else f"must be one of {', '.join(words)}"


def starts_with(*words: str) -> Check:
    """Check of how a text starts."""
    return lambda value: None if value.startswith(words) else f"must start with {' or '.join(words)}"


_MASTERS = re.compile(r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?|spark://[^\s,/]+(,[^\s,/]+)*|yarn|k8s://[^\s/]\S*")
_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_LEAST_HEAP = 512 * 2**20  # Spark does not start with less


def spark_master(value: str) -> str | None:
    """Check the address of a Spark master."""
    return None if _MASTERS.fullmatch(value) else "must be local[N], local[*], spark://host:7077, yarn or k8s://host"


def size_in_bytes(size: str) -> int | None:
    """Bytes of a size as Java takes it; None if it is not one.

    >>> size_in_bytes("2g"), size_in_bytes("lots")
    (2147483648, None)
    """
    found = re.fullmatch(r"([0-9]{1,12})([kmgt])", size.lower())
    return int(found[1]) * _UNITS[found[2]] if found else None


def heap_size(value: str) -> str | None:
    """Check a size of memory that Spark starts with."""
    return None if (size_in_bytes(value) or 0) >= _LEAST_HEAP else "must be a size of at least 512m, such as 2g"


def nothing_or(check: Check) -> Check:
    """Check of a text that may be empty."""
    return lambda value: check(value) if value else None
