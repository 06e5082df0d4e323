"""Strings and binary values by their bytes.

A value is a sequence of words: 0. its length (32 bits) and first four bytes, 1. bytes 4 to 11, 2. bytes
12 to 19, and so on; missing bytes are zero, words 0 and 1 are always there. That is how Arrow's view
layout keeps values of up to 12 bytes, so those are hashed without looking anywhere else. Longer ones are
gathered word by word for all rows of a block at once, those with most words first, so that the rows that
have a j-th word are a prefix.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import Live, values
from r2d2.engine.kernels.keys import Chain, ColumnKeys, NotComparable
from r2d2.engine.kernels.mixing import BLOCK_ROWS, Hashes, Words, mix_pair, position_secrets

INLINE_BYTES = 12
_BLOCK_BYTES = 1 << 26  # a block of longer values is cut in two
_LENGTH = np.uint64(0xFFFFFFFF)
_KEEP = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)  # the lowest 0 to 8 bytes of a word
_WORDS_PER_ROW = 4  # going across the rows pays up to this many words for each row, then along each
_MOST_WORDS = 0xFFFF
_LONGEST = 2**31 - 1  # what a view can hold
_ONE, _TOP = np.uint64(1), np.uint64(63)


def hash_bytes(chain: Chain, array: pa.Array, live: Live, keys: ColumnKeys, out: Hashes) -> None:
    """*array* is a block of any string or binary type; *live* tells which rows are not NULL."""
    block = array if _is_view(array.type) else _with_own_bytes(array)
    lengths = _lengths(block, live)
    if len(array) > 1 and lengths.sum() > _BLOCK_BYTES:
        middle = len(array) // 2
        for part in (slice(0, middle), slice(middle, len(array))):
            some = array.slice(part.start, part.stop - part.start)
            hash_bytes(chain, some, None if live is None else live[part], keys, out[:, part])
        return
    words = _first_words(block, lengths, live)
    first, second = keys.positions(chain, 2)
    mix_pair(words[0], first[0], second[0], out)
    long = np.flatnonzero(lengths > INLINE_BYTES)
    if len(long):
        _add_long(block, long, lengths[long], words[1], chain, keys, out)
    _add_words(words[1], first[1], second[1], out)


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _with_own_bytes(array: pa.Array) -> pa.Array:
    """As large_binary, on the bytes of these rows only: the buffer of a slice may be too large for views."""
    flat = array.cast(pa.large_binary())
    bounds = values(flat, "<i8", extra=1)
    begin, end = int(bounds[0]), int(bounds[-1])
    data = flat.buffers()[2].slice(begin, end - begin) if end > begin else pa.py_buffer(b"")
    return pa.Array.from_buffers(flat.type, len(flat), [None, pa.py_buffer(bounds - begin), data])


def _lengths(block: pa.Array, live: Live) -> NDArray[np.int64]:
    if _is_view(block.type):
        lengths = (values(block, "<u8", per_row=2)[::2] & _LENGTH).view(np.int64)
    else:
        lengths = np.diff(values(block, "<i8", extra=1))
    return lengths if live is None else lengths * live


def _first_words(block: pa.Array, lengths: NDArray[np.int64], live: Live) -> Words:
    """Words 0 and 1 as (2, rows); word 1 only of values that are kept inline. NULLs become empty values."""
    if lengths.max() > _LONGEST:
        raise NotComparable(f"a value has {lengths.max():,} bytes")
    views = block if _is_view(block.type) else block.cast(pa.binary_view())
    words = values(views, "<u8", per_row=2).reshape(-1, 2).T.copy()  # ours to write to, even if it is one row
    if live is not None:
        words *= live
    return words


def _add_words(words: Words, first: Words | np.uint64, second: Words | np.uint64, out: Hashes) -> None:
    """Add both halves of one word per row to *out*."""
    halves = np.empty((2, len(words)), np.uint64)
    mix_pair(words, first, second, halves)
    out += halves


def _add_long(
    block: pa.Array,
    rows: NDArray[np.intp],
    lengths: NDArray[np.int64],
    word_1: Words,
    chain: Chain,
    keys: ColumnKeys,
    out: Hashes,
) -> None:
    """Fill in word 1 of the *rows* that are not inline, and add their words from 2 on to *out*."""
    starts, data = _contiguous(block, rows)
    counts = (lengths + 3) >> 3  # of words from 1 on
    order = np.argsort((_MOST_WORDS - np.minimum(counts, _MOST_WORDS)).astype(np.uint16), kind="stable")
    rows, starts, lengths, counts = rows[order], starts[order], lengths[order], counts[order]
    word_1[rows] = _gather(data, starts + 4)
    total = np.zeros((2, len(rows)), np.uint64)
    fewer = -counts  # ascending
    first, second = keys.positions(chain, min(int(counts[0]) + 1, _MOST_WORDS))
    position, active = 2, int(np.searchsorted(fewer, -2, side="right"))
    while position < min(_WORDS_PER_ROW * active, _MOST_WORDS):
        ending = int(np.searchsorted(fewer, -position - 1, side="right"))  # for the rest it is the last word
        words = _gather(data, starts[:active] + (8 * position - 4))
        words[ending:] &= _KEEP[lengths[ending:active] - (8 * position - 4)]
        _add_words(words, first[position], second[position], total[:, :active])
        position, active = position + 1, ending
    content = data.view(np.uint8)
    for row in range(active):
        begin = starts[row] + 8 * position - 4
        total[:, row] += _hash_along(content[begin : starts[row] + lengths[row]], position, keys.seeds(chain))
    for half, sums in zip(out, total, strict=True):
        half[rows] += sums


def _contiguous(block: pa.Array, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], Words]:
    """Where each of the *rows* starts, in a copy of the bytes with room for reading a little too far."""
    flat = block.cast(pa.large_binary())
    bounds = values(flat, "<i8", extra=1)
    size = int(bounds[-1])
    data = np.empty(size // 8 + 3, np.uint64)
    data.view(np.uint8)[:size] = np.frombuffer(flat.buffers()[2], np.uint8, count=size)
    return bounds[rows], data


def _gather(data: Words, positions: NDArray[np.int64]) -> Words:
    """The eight bytes at each position: two aligned words, shifted together."""
    shift = ((positions & 7) << 3).view(np.uint64)
    index = positions >> 3
    words = data.take(index)
    words >>= shift
    index += 1
    upper = data.take(index)
    upper <<= _ONE
    upper <<= _TOP - shift
    words |= upper
    return words


def _hash_along(content: NDArray[np.uint8], position: int, seeds: tuple[np.uint64, np.uint64]) -> Words:
    """The sum of the words of one value from *position* on."""
    total = np.zeros(2, np.uint64)
    for begin in range(0, len(content), 8 * BLOCK_ROWS):
        some = content[begin : begin + 8 * BLOCK_ROWS]
        words = np.zeros((len(some) + 7) // 8, np.uint64)
        words.view(np.uint8)[: len(some)] = some
        first, second = (position_secrets(seed, position, position + len(words)) for seed in seeds)
        halves = np.zeros((2, len(words)), np.uint64)
        _add_words(words, first, second, halves)
        total += halves.sum(axis=1)
        position += len(words)
    return total
