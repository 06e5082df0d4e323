"""Canonical form of numbers, whatever type carried them.

A number is, in this order,
1. INTEGER if it is a whole number in [-2^63, 2^63): the 64 bits of the int;
2. DOUBLE if a double is exactly this number: its bits (also NaN, as one pattern; -0.0, which is not 0; ±inf);
3. DECIMAL of scale t if it is u / 10^t with the smallest such t >= 0, u in 64 bits, t <= 76: the bits of u;
4. else the sequence of words (t, limbs of u), two's complement, as few limbs as hold u.
The order decides by value alone, so the form is unique. The decimal 0.1 is DECIMAL (1, scale 1); the double
0.1 is another number, 0.1000000000000000055…, and DOUBLE. Decimals: decimals.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import Numbers
from r2d2.engine.kernels.keys import Kind, Kinds
from r2d2.engine.kernels.mixing import Words

NAN_BITS = np.uint64(0x7FF8000000000000)
SIGN_BIT = np.uint64(1 << 63)
_EVEN_IN_DOUBLE = np.uint64((1 << 11) - 1)  # a 64-bit integer is a double if its lowest 11 bits are zero


class Wide(NamedTuple):
    """The values of form 4 in a block."""

    rows: NDArray[np.intp]
    words: Words  # (words per value, rows): the scale, then the limbs


class Canonical(NamedTuple):
    """A block of numbers in canonical form."""

    words: Words
    kinds: Kinds
    wide: tuple[Wide, ...] = ()


def canonical_signed(values: Numbers) -> Canonical:
    """Canonical form of int8 to int64."""
    return Canonical(values.astype(np.int64, copy=False).view(np.uint64), Kind.INTEGER)


def canonical_unsigned(values: Numbers) -> Canonical:
    """Canonical form of uint8 to uint64; from 2^63 on they are doubles, or wide."""
    words = values.astype(np.uint64, copy=False)
    large = np.flatnonzero(words >= SIGN_BIT)
    return _with_large(words, large) if len(large) else Canonical(words, Kind.INTEGER)


def canonical_float(values: Numbers) -> Canonical:
    """Canonical form of half, single and double, by value after widening to double."""
    doubles = values.astype(np.float64, copy=False)
    bits = doubles.view(np.uint64)
    with np.errstate(invalid="ignore"):  # NaN and overflowing values are replaced below
        whole = doubles.astype(np.int64)
        integer = (whole == doubles) & (bits != SIGN_BIT) & (doubles >= -(2.0**63)) & (doubles < 2.0**63)
    not_a_number = np.isnan(doubles)
    if not_a_number.any():
        bits = np.where(not_a_number, NAN_BITS, bits)
    if not integer.any():
        return Canonical(bits, Kind.DOUBLE)
    words = np.where(integer, whole.view(np.uint64), bits)
    return Canonical(words, np.where(integer, np.uint8(Kind.INTEGER), np.uint8(Kind.DOUBLE)))


def _with_large(values: Words, large: NDArray[np.intp]) -> Canonical:
    words = values.copy()
    kinds = np.full(len(words), Kind.INTEGER, np.uint8)
    is_double = (words[large] & _EVEN_IN_DOUBLE) == 0
    doubles, rest = large[is_double], large[~is_double]
    words[doubles] = words[doubles].astype(np.float64).view(np.uint64)
    kinds[doubles] = Kind.DOUBLE
    limbs = np.zeros((3, len(rest)), np.uint64)  # scale 0, the low limb, a high limb of 0
    limbs[1] = values[rest]
    return Canonical(words, kinds, (Wide(rest, limbs),))
