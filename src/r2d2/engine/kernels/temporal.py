"""Canonical form of dates, times, timestamps and durations: one word, the same for every unit.

A date is its day, a time of day its nanoseconds. A timestamp or duration is, in this order,
1. its nanoseconds if they are not a multiple of 1,000 (only the unit ns can carry such a value);
2. its microseconds if they fit in 64 bits; 3. its milliseconds if they fit; 4. its seconds.
Each is a kind of its own, and the order decides by value alone. Instants (with a zone), local timestamps and
durations never equal one another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import Numbers
from r2d2.engine.kernels.keys import Kind, NotComparable
from r2d2.engine.kernels.numeric import Canonical
from r2d2.model.types import NANOSECONDS

_MILLISECONDS_PER_DAY = 86_400_000
_MICRO, _NANO, _MILLI, _SECOND = 0, 1, 2, 3  # added to the kind


def canonical_date(values: Numbers, *, in_milliseconds: bool) -> Canonical:
    """Canonical form of dates: their day; date64 must be a whole day, as its definition demands."""
    days = values.astype(np.int64)
    if in_milliseconds:
        days = values // _MILLISECONDS_PER_DAY
        if (days * _MILLISECONDS_PER_DAY != values).any():
            raise NotComparable("a date64 value is not a whole day")
    return Canonical(days.view(np.uint64), Kind.DATE)


def canonical_time(values: Numbers, unit: str) -> Canonical:
    """Canonical form of times: nanoseconds since midnight."""
    nanoseconds = values.astype(np.int64) * np.int64(NANOSECONDS[unit])
    return Canonical(nanoseconds.view(np.uint64), Kind.TIME)


def canonical_moment(values: NDArray[np.int64], unit: str, kind: Kind) -> Canonical:
    """Canonical form of timestamps or durations, of the *kind* INSTANT, LOCAL or DURATION."""
    if unit == "us":
        return Canonical(values.view(np.uint64), kind + _MICRO)
    if unit == "ns":
        return _from_nanoseconds(values, kind)
    return _from_coarse(values, unit, kind)


def _from_nanoseconds(values: NDArray[np.int64], kind: Kind) -> Canonical:
    microseconds = values // np.int64(1_000)
    whole = microseconds * np.int64(1_000) == values
    if whole.all():
        return Canonical(microseconds.view(np.uint64), kind + _MICRO)
    words = np.where(whole, microseconds, values).view(np.uint64)
    return Canonical(words, np.where(whole, np.uint8(kind + _MICRO), np.uint8(kind + _NANO)))


def _from_coarse(values: NDArray[np.int64], unit: str, kind: Kind) -> Canonical:
    """Canonical form of seconds and milliseconds: in the finest unit without overflow."""
    words, fits = _scaled(values, NANOSECONDS[unit] // NANOSECONDS["us"])
    if fits.all():
        return Canonical(words.view(np.uint64), kind + _MICRO)
    milliseconds, fits_milliseconds = _scaled(values, NANOSECONDS[unit] // NANOSECONDS["ms"])
    words = np.where(fits, words, np.where(fits_milliseconds, milliseconds, values))
    step = np.where(fits, np.uint8(_MICRO), np.where(fits_milliseconds, np.uint8(_MILLI), np.uint8(_SECOND)))
    return Canonical(words.view(np.uint64), step + np.uint8(kind))


def _scaled(values: NDArray[np.int64], factor: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    lowest, highest = -(2**63 // factor), (2**63 - 1) // factor
    return values * np.int64(factor), (values >= lowest) & (values <= highest)
