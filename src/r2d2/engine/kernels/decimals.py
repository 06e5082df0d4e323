"""Convert decimals to their canonical form (numeric.py), without a Python loop unless they exceed 128 bits.

Dividing by 5^k is multiplying by its inverse modulo 2^64 (or 2^128): multiples of 5^k, and only they,
land on a quotient of at most limit / 5^k.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import Live
from r2d2.engine.kernels.keys import LARGEST_SCALE, Kind, Kinds
from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import Words
from r2d2.engine.kernels.numeric import Canonical, Wide
from r2d2.engine.kernels.words128 import (
    Unsigned128,
    divide_by_power_of_five,
    exact_double,
    negate,
    shift_right,
    take,
)

_LARGEST = 2**63 - 1
_BEYOND = 255  # no kind: the unscaled value takes more than 64 bits


def canonical_decimal(limbs: NDArray[np.uint64], scale: int, live: Live) -> Canonical:
    """Canonical form of unscaled values, given as little-endian limbs (rows, 1 | 2 | 4); *live* flags non-NULL rows."""
    if scale < 0 or scale > LARGEST_SCALE:
        return _one_by_one(limbs, scale, live)
    if LOOPS.compiled and scale > 0:
        return _compiled(LOOPS.compiled, limbs, scale, live)
    low = np.ascontiguousarray(limbs[:, 0]).view(np.int64)
    if limbs.shape[1] == 1:
        return Canonical(*_canonical_64(low, scale))
    beyond = (limbs[:, 1:] != (low >> 63).view(np.uint64)[:, None]).any(axis=1)
    if live is not None:
        beyond &= live
    words, kinds = _canonical_64(low, scale)
    if not beyond.any():
        return Canonical(words, kinds)
    return _replace_beyond(words, kinds, np.flatnonzero(beyond), limbs, scale)


def _compiled(loops: ModuleType, limbs: NDArray[np.uint64], scale: int, live: Live) -> Canonical:
    words, kinds = np.empty(len(limbs), np.uint64), np.empty(len(limbs), np.uint8)
    power = _inverse_64(scale) if 5**scale <= _LARGEST else (np.uint64(1), np.uint64(0))
    loops.decimals(
        np.ascontiguousarray(limbs).reshape(-1),
        limbs.shape[1],
        min(scale, 63),
        np.array([*power, *_inverse_64(1)], np.uint64),
        2.0**-scale,
        np.array([Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL + scale, _BEYOND], np.uint64),
        words,
        kinds,
    )
    rows = np.flatnonzero(kinds == _BEYOND)
    kinds[rows] = Kind.INTEGER  # also where it is NULL, and stays
    rows = rows if live is None else rows[live[rows]]
    return _replace_beyond(words, kinds, rows, limbs, scale) if len(rows) else Canonical(words, kinds)


def _canonical_64(values: NDArray[np.int64], scale: int) -> tuple[Words, Kinds]:
    """Canonical form of unscaled values of 64 bits."""
    if scale == 0:
        return values.view(np.uint64), Kind.INTEGER
    words = values.view(np.uint64).copy()
    quotients, divides = _divide_64(words, scale)
    kinds = np.full(len(words), Kind.DECIMAL + scale, np.uint8)
    if not divides.all():
        _strip_zeros(words, kinds, ~divides)
    if divides.any():
        _put_binary_fractions(words, kinds, np.flatnonzero(divides), quotients, scale)
    return words, kinds


def _put_binary_fractions(
    words: Words, kinds: NDArray[np.uint8], rows: NDArray[np.intp], quotients: Words, scale: int
) -> None:
    """Set the rows q / 2^scale: integers, and doubles if q fits into 53 bits; other rows stay as they are."""
    q = quotients[rows].view(np.int64)
    shift = min(scale, 63)  # beyond scale 27 only q = 0 is left
    whole = (q & np.int64((1 << shift) - 1)) == 0
    if whole.all():
        words[rows], kinds[rows] = (q >> shift).view(np.uint64), Kind.INTEGER
        return
    words[rows[whole]], kinds[rows[whole]] = (q[whole] >> shift).view(np.uint64), Kind.INTEGER
    rows, q = rows[~whole], q[~whole]
    doubles = q.astype(np.float64)
    exact = doubles.astype(np.int64) == q
    words[rows[exact]] = np.ldexp(doubles[exact], -scale).view(np.uint64)
    kinds[rows[exact]] = Kind.DOUBLE
    if not exact.all():
        inexact = np.zeros(len(words), np.bool_)
        inexact[rows[~exact]] = True
        _strip_zeros(words, kinds, inexact)


def _strip_zeros(words: Words, kinds: NDArray[np.uint8], among: NDArray[np.bool_]) -> None:
    """Divide the rows *among* by ten as long as possible: none is a whole number, so the scale stays positive."""
    tenths, fifth = _divide_64(words, 1)
    rows = np.flatnonzero(among & fifth & ((tenths & np.uint64(1)) == 0))
    current = tenths[rows]
    while len(rows):
        current = (current.view(np.int64) >> np.int64(1)).view(np.uint64)
        words[rows] = current
        kinds[rows] -= 1
        fifths, fifth = _divide_64(current, 1)
        again = fifth & ((fifths & np.uint64(1)) == 0)
        rows, current = rows[again], fifths[again]


def _divide_64(words: Words, power: int) -> tuple[Words, NDArray[np.bool_]]:
    """Signed words / 5^power, and flags of those without remainder."""
    if 5**power > _LARGEST:
        return words, words == 0
    inverse, limit = _inverse_64(power)
    quotients = words * inverse
    return quotients, (quotients + limit) <= limit + limit


@cache
def _inverse_64(power: int) -> tuple[np.uint64, np.uint64]:
    return np.uint64(pow(5**power, -1, 2**64)), np.uint64(_LARGEST // 5**power)


def _replace_beyond(
    words: Words,
    kinds: Kinds,
    rows: NDArray[np.intp],
    limbs: NDArray[np.uint64],
    scale: int,
) -> Canonical:
    """Correct the rows whose unscaled value exceeds 64 bits; the others are final."""
    words = words.copy()
    kinds = np.full(len(words), kinds, np.uint8) if isinstance(kinds, int) else kinds
    sign = (limbs[rows, 1].view(np.int64) >> 63).view(np.uint64)
    beyond_128 = (limbs[rows, 2:] != sign[:, None]).any(axis=1)
    wide = _canonical_128(words, kinds, rows[~beyond_128], limbs, scale)
    if beyond_128.any():
        slow = rows[beyond_128]
        some = _one_by_one(limbs[slow], scale, None)
        words[slow], kinds[slow] = some.words, some.kinds
        wide += [Wide(slow[part.rows], part.words) for part in some.wide]
    return Canonical(words, kinds, tuple(wide))


def _canonical_128(
    words: Words, kinds: NDArray[np.uint8], rows: NDArray[np.intp], limbs: NDArray[np.uint64], scale: int
) -> list[Wide]:
    negative = limbs[rows, 1] >> np.uint64(63) != 0
    size = Unsigned128(limbs[rows, 1].copy(), limbs[rows, 0].copy())
    size = negate(size, where=negative)
    scales = _strip_zeros_128(size, np.full(len(rows), scale, np.uint8))
    wide = []
    for t in np.unique(scales):
        here = np.flatnonzero(scales == t)
        part = _canonical_128_of_scale(words, kinds, rows[here], take(size, here), negative[here], int(t))
        if len(part.rows):
            wide.append(part)
    return wide


def _strip_zeros_128(size: Unsigned128, scales: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Strip trailing zeros off *size* (in place) as far as the scales allow; return the remaining scales."""
    for zeros in (32, 16, 8, 4, 2, 1):  # 38 is the most that 128 bits can have
        rows = np.flatnonzero(scales >= zeros)
        quotient, divides = divide_by_power_of_five(take(size, rows), zeros)
        divides &= (quotient.low & np.uint64((1 << zeros) - 1)) == 0
        rows, quotient = rows[divides], shift_right(take(quotient, divides), zeros)
        size.high[rows], size.low[rows] = quotient
        scales[rows] -= zeros
    return scales


def _canonical_128_of_scale(
    words: Words,
    kinds: NDArray[np.uint8],
    rows: NDArray[np.intp],
    size: Unsigned128,
    negative: NDArray[np.bool_],
    scale: int,
) -> Wide:
    """Set words and kinds of the values ±size / 10^scale without trailing zeros; return those that are wide."""
    signed = negate(size, where=negative)
    fits = signed.high == (signed.low.view(np.int64) >> np.int64(63)).view(np.uint64)
    small = rows[fits]
    words[small], kinds[small] = _canonical_64(signed.low[fits].view(np.int64), scale)
    rest = np.flatnonzero(~fits)
    quotient, divides = divide_by_power_of_five(take(size, rest), scale)
    doubles, exact = exact_double(quotient)
    exact &= divides
    doubles = np.ldexp(np.where(negative[rest], -doubles, doubles), -scale)
    words[rows[rest[exact]]], kinds[rows[rest[exact]]] = doubles[exact].view(np.uint64), Kind.DOUBLE
    left = rest[~exact]
    scale_word = np.full(len(left), scale, np.uint64)
    return Wide(rows[left], np.stack([scale_word, signed.low[left], signed.high[left]]))


def _one_by_one(limbs: NDArray[np.uint64], scale: int, live: Live) -> Canonical:
    """Canonical form by Python's integers, for negative scales and values beyond 128 bits. Slow, and rare."""
    count = len(limbs)
    words, kinds = np.zeros(count, np.uint64), np.zeros(count, np.uint8)
    wide: dict[int, list[tuple[int, list[int]]]] = {}
    content = np.ascontiguousarray(limbs).view(np.uint8).reshape(count, -1)
    for row in range(count):
        if live is not None and not live[row]:
            continue
        unscaled = int.from_bytes(content[row].tobytes(), "little", signed=True)
        form, payload = canonical_number(unscaled, scale)
        if form is None:
            wide.setdefault(len(payload), []).append((row, payload))
        else:
            words[row], kinds[row] = payload[0], form
    parts = [
        Wide(
            np.array([row for row, _ in found], np.intp),
            np.array([words for _, words in found], np.uint64).reshape(len(found), length).T.copy(),
        )
        for length, found in wide.items()
    ]
    return Canonical(words, kinds, tuple(parts))


def canonical_number(unscaled: int, scale: int) -> tuple[int | None, list[int]]:
    """The canonical form of unscaled / 10^scale: its kind and word, or None and its words.

    >>> canonical_number(150, 2) == (Kind.DOUBLE, [0x3FF8000000000000]), canonical_number(10, 2)
    (True, (19, [1]))
    """
    if scale < 0:
        unscaled, scale = unscaled * 10**-scale, 0
    while scale > 0 and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    if scale == 0 and -(2**63) <= unscaled < 2**63:
        return Kind.INTEGER, [unscaled % 2**64]
    double = _exact_double_of(unscaled, scale)
    if double is not None:
        return Kind.DOUBLE, [int(np.float64(double).view(np.uint64))]
    if scale <= LARGEST_SCALE and -(2**63) <= unscaled < 2**63:
        return Kind.DECIMAL + scale, [unscaled % 2**64]
    limbs = unscaled.bit_length() // 64 + 1 if unscaled >= 0 else (~unscaled).bit_length() // 64 + 1
    return None, [scale] + [(unscaled >> 64 * i) % 2**64 for i in range(limbs)]


def _exact_double_of(unscaled: int, scale: int) -> float | None:
    quotient, rest = divmod(unscaled, 5**scale)
    if rest:
        return None
    try:
        double = quotient / 2**scale  # Python rounds this correctly, so inexactness can be detected
    except OverflowError:
        return None
    numerator, denominator = double.as_integer_ratio()
    return double if numerator * 2**scale == quotient * denominator else None
