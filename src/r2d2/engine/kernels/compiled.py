"""Loops of the row hash, compiled by Numba: the same results as the NumPy forms, without their temporary arrays.

`loops.py` decides when they are used. Each function is compiled for one signature when this module is imported, or
loaded from Numba's cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_0, _1, _3, _4, _8 = np.uint64(0), np.uint64(1), np.uint64(3), np.uint64(4), np.uint64(8)
_INLINE = np.uint64(12)  # bytes that a view holds itself
_LENGTH = np.uint64(0xFFFFFFFF)
_4G = np.uint64(1 << 32)

_WORD = types.uint64
_WORDS = types.Array(types.uint64, 1, "C")
_READ = types.Array(types.uint64, 1, "C", readonly=True)
_FLAGS = types.Array(types.boolean, 1, "C", readonly=True)
_KINDS = types.Array(types.uint8, 1, "C", readonly=True)
_KINDS_OUT = types.Array(types.uint8, 1, "C")
_WORDS_2 = types.Array(types.uint64, 2, "C")
_ADDRESSES = types.Array(types.uint64, 2, "C", readonly=True)
_HASHES_3 = types.Array(types.uint64, 3, "C")
_INTS = types.Array(types.int64, 1, "C", readonly=True)
_BUCKETS = types.Array(types.uint16, 1, "C")
_INTS_OUT = types.Array(types.int64, 1, "C")
_BOUNDS = types.Array(types.int64, 1, "C", readonly=True)


def _loop(*signature: Any) -> Callable[[Function], Function]:
    """Compile for one signature, with a cache on disk where one can be written."""

    def compile_it(function: Function) -> Function:
        try:
            return cast(Function, njit([types.void(*signature)], cache=True, nogil=True)(function))
        except RuntimeError:  # no folder for the cache: compiled in every process, then
            return cast(Function, njit([types.void(*signature)], nogil=True)(function))

    return compile_it


@intrinsic
def _load(typing_context: Any, address: Any) -> Any:
    """Load the eight bytes at an address, aligned or not."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        return builder.load(builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(64))), align=1)

    return types.uint64(types.uint64), generate


@intrinsic
def _load_byte(typing_context: Any, address: Any) -> Any:
    """Load the byte at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        byte = builder.load(builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(8))), align=1)
        return builder.zext(byte, ir.IntType(64))

    return types.uint64(types.uint64), generate


@intrinsic
def _bits(typing_context: Any, number: Any) -> Any:
    """The bits of a double."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), generate


@njit(inline="always")
def _mix(word: Any) -> Any:
    word ^= word >> _S30
    word *= _MULTIPLY_1
    word ^= word >> _S27
    word *= _MULTIPLY_2
    return word ^ (word >> _S31)


@njit(inline="always")
def _secret(known: Any, seed: Any, position: Any) -> Any:
    """The secret of a position; only the first ones are worked out beforehand."""
    return known[position] if position < np.uint64(len(known)) else _mix(seed + (position + _1) * _GOLDEN)


@njit(inline="always")
def _pair(word: Any, a: Any, b: Any) -> Any:
    half = _mix(word ^ a)
    return half, _mix(half ^ b)


@njit(inline="always")
def _bytes(at: Any, skip: Any, length: Any, most: Any) -> Any:
    """Up to *most* bytes of a value from *skip* on, as one word; nothing beyond its end is touched."""
    word = _0
    if length >= skip + _8:
        word = _load(at + skip)
        if most < _8:
            word &= (_1 << (_8 * most)) - _1
        return word
    place = skip
    while place < length and place < skip + most:
        word |= _load_byte(at + place) << (_8 * (place - skip))
        place += _1
    return word


@njit
def _rest(at: Any, length: Any, a: Any, b: Any, seed_a: Any, seed_b: Any) -> Any:
    """The sums of the words from 2 on of a value of more than 12 bytes; the last may be partial."""
    one, two = _0, _0
    position, place = np.uint64(2), _INLINE
    while place < length:
        if place + _8 <= length:
            word = _load(at + place)
        else:  # the last eight bytes, without those that came before
            word = _load(at + length - _8) >> (_8 * (place + _8 - length))
        half = _mix(word ^ _secret(a, seed_a, position))
        one += half
        two += _mix(half ^ _secret(b, seed_b, position))
        position += _1
        place += _8
    return one, two


@njit
def _scatter(first: Any, second: Any, low: Any, high: Any, buckets: Any, out_first: Any, out_second: Any) -> Any:
    """Move rows *low* to *high* into buckets by their first half, as even as its range allows; the buckets' bounds."""
    bounds = np.zeros(buckets + 1, np.int64)
    least, most = first[low], first[low]
    for row in range(low, high):
        least, most = min(least, first[row]), max(most, first[row])
    shift = _0
    while (most - least) >> shift >= _4G:
        shift += _1
    factor = (np.uint64(buckets) << _S32) // (((most - least) >> shift) + _1)
    for row in range(low, high):
        bounds[np.int64((((first[row] - least) >> shift) * factor) >> _S32) + 1] += 1
    bounds[0] = low
    for bucket in range(buckets):
        bounds[bucket + 1] += bounds[bucket]
    places = bounds[:-1].copy()
    for row in range(low, high):
        mine = np.int64((((first[row] - least) >> shift) * factor) >> _S32)
        place = places[mine]
        out_first[place], out_second[place] = first[row], second[row]
        places[mine] = place + 1
    return bounds


@_loop(_READ, _WORD, _WORD, _WORDS, _WORDS)
def mix_pair(words: Any, a: Any, b: Any, first: Any, second: Any) -> None:
    """Write both halves of words under one pair of secrets."""
    for row in range(len(words)):
        half = _mix(words[row] ^ a)
        first[row] = half
        second[row] = _mix(half ^ b)


@_loop(_READ, _KINDS, _READ, _READ, _WORDS, _WORDS)
def mix_by_kind(words: Any, kinds: Any, a: Any, b: Any, first: Any, second: Any) -> None:
    """Write both halves of words, each under the secrets of its kind."""
    for row in range(len(words)):
        kind = kinds[row]
        half = _mix(words[row] ^ a[kind])
        first[row] = half
        second[row] = _mix(half ^ b[kind])


@_loop(_HASHES_3, _INTS, _INTS, _INTS, _INTS, types.int64, _READ, _HASHES_3, _HASHES_3)
def add_up(
    hashes: Any, order: Any, bases: Any, columns: Any, ends: Any, begin: Any, mixing: Any, sums: Any, out: Any
) -> None:
    """Sum the column hashes of a block for each projection, and mix the sums so that each half depends on both.

    *hashes*: (columns, 2, rows). The projections come in *order*; each starts from the sum of an earlier one (bases;
    -1: from zero), adds columns, and subtracts those given as -1 - column. *mixing*: the secrets of both halves
    and the bits to keep of each. *sums*: memory. *out*: (projections, 2, all rows), written from row *begin* on.
    """
    rows, tile = hashes.shape[2], sums.shape[2]
    for low in range(0, rows, tile):
        count = min(tile, rows - low)
        place = 0
        for step in range(len(order)):
            first, second = sums[order[step], 0], sums[order[step], 1]
            base = bases[step]
            for row in range(count):
                first[row] = sums[base, 0, row] if base >= 0 else _0
                second[row] = sums[base, 1, row] if base >= 0 else _0
            while place < ends[step]:
                column = columns[place]
                if column >= 0:
                    one, other = hashes[column, 0], hashes[column, 1]
                    for row in range(count):
                        first[row] += one[low + row]
                    for row in range(count):
                        second[row] += other[low + row]
                else:
                    one, other = hashes[-1 - column, 0], hashes[-1 - column, 1]
                    for row in range(count):
                        first[row] -= one[low + row]
                    for row in range(count):
                        second[row] -= other[low + row]
                place += 1
        for projection in range(len(order)):
            first, second = out[projection, 0], out[projection, 1]
            for row in range(count):
                half = _mix(sums[projection, 0, row] ^ mixing[0])
                last = _mix(sums[projection, 1, row] ^ mixing[1] ^ half)
                first[begin + low + row] = (half + last) & mixing[2]
                second[begin + low + row] = last & mixing[3]


@_loop(_READ, _READ, _FLAGS, _READ, _READ, _WORD, _WORD, _WORDS, _WORDS)
def hash_views(
    views: Any, buffers: Any, live: Any, a: Any, b: Any, seed_a: Any, seed_b: Any, first: Any, second: Any
) -> None:
    """Hash Arrow's views: two words each; up to 12 bytes stand in them, longer values at an address.

    *buffers* are the addresses of the data; *live* flags the rows that are not NULL, or is empty.
    """
    for row in range(len(first)):
        if len(live) and not live[row]:
            continue
        head, tail = views[2 * row], views[2 * row + 1]
        length = head & _LENGTH
        at = _0
        if length > _INLINE:
            at = buffers[np.int64(tail & _LENGTH)] + (tail >> _S32)
            tail = _load(at + _4)
        one, two = _pair(head, a[0], b[0])
        more, other = _pair(tail, a[1], b[1])
        one += more
        two += other
        if length > _INLINE:
            more, other = _rest(at, length, a, b, seed_a, seed_b)
            one += more
            two += other
        first[row] = one
        second[row] = two


@_loop(_WORD, _BOUNDS, _FLAGS, _READ, _READ, _WORD, _WORD, _WORDS, _WORDS)
def hash_spans(
    data: Any, bounds: Any, live: Any, a: Any, b: Any, seed_a: Any, seed_b: Any, first: Any, second: Any
) -> None:
    """Hash the values between bounds in one run of bytes at the address *data*."""
    for row in range(len(first)):
        if len(live) and not live[row]:
            continue
        at = data + np.uint64(bounds[row])
        length = np.uint64(bounds[row + 1] - bounds[row])
        one, two = _pair(length | (_bytes(at, _0, length, _4) << _S32), a[0], b[0])
        more, other = _pair(_bytes(at, _4, length, _8), a[1], b[1])
        one += more
        two += other
        if length > _INLINE:
            more, other = _rest(at, length, a, b, seed_a, seed_b)
            one += more
            two += other
        first[row] = one
        second[row] = two


@_loop(_READ, types.int64, types.int64, _READ, types.float64, _READ, _WORDS, _KINDS_OUT)
def decimals(
    limbs: Any, step: Any, shift: Any, divide: Any, smallest: Any, kinds: Any, words: Any, kinds_out: Any
) -> None:
    """Bring unscaled decimals whose lowest limb holds them into canonical form (see decimals.py); *shift* is the scale.

    *divide*: inverse and limit of 5^scale, inverse and limit of 5. *smallest* is 2^-scale. *kinds*: INTEGER, DOUBLE,
    DECIMAL + scale, and what is noted where the other limbs are needed as well.
    """
    for row in range(len(words)):
        word = limbs[row * step]
        sign = np.uint64(np.int64(word) >> np.int64(63))
        beyond = False
        for limb in range(1, step):
            beyond |= limbs[row * step + limb] != sign
        if beyond:
            words[row], kinds_out[row] = word, np.uint8(kinds[3])
            continue
        quotient = word * divide[0]
        if quotient + divide[1] <= divide[1] + divide[1]:
            signed = np.int64(quotient)
            if signed & ((np.int64(1) << shift) - np.int64(1)) == 0:
                words[row], kinds_out[row] = np.uint64(signed >> shift), np.uint8(kinds[0])
                continue
            number = np.float64(signed)
            if np.int64(number) == signed:
                words[row], kinds_out[row] = _bits(number * smallest), np.uint8(kinds[1])
                continue
        kind = kinds[2]
        tenth = word * divide[2]
        while tenth + divide[3] <= divide[3] + divide[3] and tenth & _1 == _0:
            word = np.uint64(np.int64(tenth) >> np.int64(1))
            kind -= _1
            tenth = word * divide[2]
        words[row], kinds_out[row] = word, np.uint8(kind)


@_loop(_READ, _READ, _READ, _BUCKETS, _INTS_OUT, _WORDS, _WORDS)
def split_rows(first: Any, second: Any, bounds: Any, numbers: Any, ends: Any, out_first: Any, out_second: Any) -> None:
    """Bring rows together by hash range: range r begins at bounds[r]; *ends* takes where each of them ends.

    *numbers* is memory for the range of each row.
    """
    ranges = np.uint64(len(bounds))
    for row in range(len(first)):
        number = ((first[row] >> _S32) * ranges) >> _S32
        if number + _1 < ranges and first[row] >= bounds[np.int64(number) + 1]:
            number += _1
        numbers[row] = np.uint16(number)
        ends[np.int64(number)] += 1
    before = ends[0] - ends[0]
    for number in range(len(bounds)):
        before, ends[number] = before + ends[number], before
    for row in range(len(first)):
        place = ends[numbers[row]]
        out_first[place], out_second[place] = first[row], second[row]
        ends[numbers[row]] = place + 1


@_loop(_READ, _READ, _WORDS, _WORDS, _WORDS, _WORDS)
def sort_rows(
    first: Any, second: Any, temporary_first: Any, temporary_second: Any, out_first: Any, out_second: Any
) -> None:
    """Sort rows by both halves: by the first into buckets, twice, and within the last small ones by insertion."""
    count = len(first)
    if count == 0:
        return
    bounds = _scatter(first, second, 0, count, 1 + min(1024, count >> 11), temporary_first, temporary_second)
    for bucket in range(len(bounds) - 1):
        low, high = bounds[bucket], bounds[bucket + 1]
        if low == high:
            continue
        _scatter(temporary_first, temporary_second, low, high, 1 + min(4096, (high - low) >> 1), out_first, out_second)
        for row in range(low + 1, high):
            one, other = out_first[row], out_second[row]
            place = row
            while place > low and (
                out_first[place - 1] > one or (out_first[place - 1] == one and out_second[place - 1] > other)
            ):
                out_first[place], out_second[place] = out_first[place - 1], out_second[place - 1]
                place -= 1
            out_first[place], out_second[place] = one, other


@_loop(_WORDS, _WORDS, _WORDS, _INTS_OUT)
def squeeze(first: Any, second: Any, counts: Any, distinct: Any) -> None:
    """Keep one of equal neighbours, in place, with their number in *counts*; distinct[0] tells how many are left."""
    last = -1
    for row in range(len(first)):
        if last >= 0 and first[row] == first[last] and second[row] == second[last]:
            counts[last] += _1
            continue
        last += 1
        first[last], second[last], counts[last] = first[row], second[row], _1
    distinct[0] = last + 1


@njit
def _step_to(at: Any, place: Any, end: Any, wanted: Any) -> Any:
    """The first place from *place* on whose word is not below *wanted*; steps double until they are too long."""
    step = 1
    while place + step < end and _load(at + _8 * np.uint64(place + step)) < wanted:
        place += step
        step <<= 1
    while step > 0:
        if place + step <= end and _load(at + _8 * np.uint64(place + step - 1)) < wanted:
            place += step
        step >>= 1
    return place


@njit
def _missing(child: Any, rows: Any, parent: Any, held: Any) -> Any:
    """Rows of a child that its parent lacks, as a set and as a bag.

    Each is three addresses: both halves of its rows, and how often each is there; 0 for once. They are sorted and
    distinct.
    """
    place = 0
    lost_rows: Any = 0
    lost_copies: Any = 0
    for row in range(rows):
        at = _8 * np.uint64(row)
        one, other = _load(child[0] + at), _load(child[1] + at)
        place = _step_to(parent[0], place, held, one)
        while (
            place < held
            and _load(parent[0] + _8 * np.uint64(place)) == one
            and _load(parent[1] + _8 * np.uint64(place)) < other
        ):
            place += 1
        wanted = np.int64(_load(child[2] + at)) if child[2] else 1
        there = _8 * np.uint64(place)
        if place < held and _load(parent[0] + there) == one and _load(parent[1] + there) == other:
            copies = np.int64(_load(parent[2] + there)) if parent[2] else 1
            lost_copies += max(0, wanted - copies)
        else:
            lost_rows += wanted
            lost_copies += wanted
    return lost_rows, lost_copies


@_loop(_ADDRESSES, _INTS, _INTS, _INTS, _WORDS_2, _INTS_OUT, _INTS_OUT)
def count_missing(tables: Any, sizes: Any, parents: Any, children: Any, reach: Any, rows: Any, copies: Any) -> None:
    """Count for each pair the rows and copies that the parent lacks; 0 for a table and itself.

    *tables*: the three addresses of each (see `_missing`). *reach*: a bit for each pair of tables, none set, or empty.
    A pair that earlier ones prove is not compared: its parent holds a table, copies and all, that holds its child.
    That finds most where the parents ascend by their rows.
    """
    for pair in range(len(parents)):
        parent, child = parents[pair], children[pair]
        word, bit = child >> 6, _1 << np.uint64(child & 63)
        if parent == child or (len(reach) and reach[parent, word] & bit):
            continue
        rows[pair], copies[pair] = _missing(tables[child], sizes[child], tables[parent], sizes[parent])
        if len(reach) and copies[pair] == 0:
            reach[parent, word] |= bit
            for other in range(reach.shape[1]):
                reach[parent, other] |= reach[child, other]
