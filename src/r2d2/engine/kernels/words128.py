"""Unsigned 128-bit arithmetic on pairs of uint64 arrays, as far as decimals need it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.mixing import Words

_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_TWO_TO_64 = 2.0**64


class Unsigned128(NamedTuple):
    """The numbers high * 2^64 + low."""

    high: Words
    low: Words


def take(numbers: Unsigned128, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Unsigned128:
    """Some of the numbers, copied."""
    return Unsigned128(numbers.high[rows], numbers.low[rows])


def negate(numbers: Unsigned128, *, where: NDArray[np.bool_]) -> Unsigned128:
    """Negate the numbers *where* it is set (two's complement)."""
    low = ~numbers.low + np.uint64(1)
    high = ~numbers.high + (low == 0)
    return Unsigned128(np.where(where, high, numbers.high), np.where(where, low, numbers.low))


def shift_right(numbers: Unsigned128, count: int) -> Unsigned128:
    """Shift right by 1 to 63 bits."""
    right, left = np.uint64(count), np.uint64(64 - count)
    return Unsigned128(numbers.high >> right, (numbers.low >> right) | (numbers.high << left))


def divide_by_power_of_five(numbers: Unsigned128, power: int) -> tuple[Unsigned128, NDArray[np.bool_]]:
    """Quotients numbers / 5^power, and flags of those without remainder; other quotients are meaningless."""
    if power == 0:
        return numbers, np.ones(len(numbers.low), np.bool_)
    if 5**power >= 2**128:
        return numbers, (numbers.high == 0) & (numbers.low == 0)
    inverse_high, inverse_low, limit_high, limit_low = _inverse_128(power)
    high = _multiply_high(numbers.low, inverse_low) + numbers.low * inverse_high + numbers.high * inverse_low
    low = numbers.low * inverse_low
    divides = (high < limit_high) | ((high == limit_high) & (low <= limit_low))
    return Unsigned128(high, low), divides


def exact_double(numbers: Unsigned128) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """A double near each number, and flags of those that are exact."""
    high, high_exact = _exact_double_64(numbers.high)
    low, low_exact = _exact_double_64(numbers.low)
    high *= _TWO_TO_64
    doubles = high + low
    nothing_lost = doubles - high == low  # exact, since high is 0 or larger than low
    return doubles, high_exact & low_exact & nothing_lost


def _exact_double_64(words: Words) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    doubles = words.astype(np.float64)
    fits = doubles < _TWO_TO_64  # words just below 2^64 round up to it, which exceeds uint64

    return doubles, fits & (np.where(fits, doubles, 0.0).astype(np.uint64) == words)


def _multiply_high(words: Words, factor: np.uint64) -> Words:
    """The upper 64 of the 128 bits of words * factor."""
    words_high, words_low = words >> _HALF, words & _LOW_HALF
    factor_high, factor_low = factor >> _HALF, factor & _LOW_HALF
    cross: Words = words_high * factor_low + (words_low * factor_low >> _HALF)
    other: Words = words_low * factor_high + (cross & _LOW_HALF)
    high: Words = words_high * factor_high + (cross >> _HALF) + (other >> _HALF)
    return high


@cache
def _inverse_128(power: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    inverse, limit = pow(5**power, -1, 2**128), (2**128 - 1) // 5**power
    parts = (inverse >> 64, inverse & (2**64 - 1), limit >> 64, limit & (2**64 - 1))
    return tuple(np.uint64(part) for part in parts)  # type: ignore[return-value]
