"""Hash strings and binary values by their bytes.

A value is a sequence of words: 0. its length (32 bits) and first four bytes, 1. bytes 4 to 11, 2. bytes
12 to 19, and so on; missing bytes are zero, words 0 and 1 always exist. Arrow's view layout stores
values of up to 12 bytes in this form, so those are hashed from the views alone. Other words are gathered
from the bytes, for all rows of a block at once, the rows with most words first, so that the rows that
have a j-th word are a prefix.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import Live, values
from r2d2.engine.kernels.keys import Chain, ColumnKeys, NotComparable
from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import BLOCK_ROWS, Hashes, Words, mix_pair, position_secrets

INLINE_BYTES = 12
_BLOCK_BYTES = 1 << 26  # a block with more bytes is halved
_LONGEST = 2**31 - 1
_MOST_WORDS = 0xFFFF  # sorted by, in 16 bits
_WORDS_PER_ROW = 4  # limit for hashing across rows; beyond it each row is hashed by itself
_LENGTH = np.uint64(0xFFFFFFFF)
_KEEP = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)  # the lowest 0 to 8 bytes of a word
_KNOWN_POSITIONS = 64  # secrets that the compiled loops are given; they work out the others
_ALL_LIVE = np.empty(0, np.bool_)
_ONE, _HALF, _TOP = np.uint64(1), np.uint64(32), np.uint64(63)


class Content(NamedTuple):
    """The bytes of a block, padded for reads past the end, and the place of each value in them."""

    data: Words
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def at(self, rows: NDArray[np.intp]) -> Content:
        """The content of some rows."""
        return Content(self.data, self.starts[rows], self.lengths[rows])


def hash_bytes(chain: Chain, array: pa.Array, live: Live, keys: ColumnKeys, out: Hashes) -> None:
    """Hash a block of any string or binary type; *live* flags the rows that are not NULL."""
    if LOOPS.compiled:
        _hash_compiled(LOOPS.compiled, chain, array, live, keys, out)
        return
    is_view = _is_view(array.type)
    lengths = _lengths(array, live)
    if len(array) > 1 and lengths.sum() > _BLOCK_BYTES:
        middle = len(array) // 2
        for part in (slice(0, middle), slice(middle, len(array))):
            some = array.slice(part.start, part.stop - part.start)
            hash_bytes(chain, some, None if live is None else live[part], keys, out[:, part])
    elif lengths.max() > _LONGEST:
        raise NotComparable(f"a value has {lengths.max():,} bytes")
    elif is_view and lengths.max() <= INLINE_BYTES:
        _hash_first_words(_words_of_views(array), chain, keys, out)
    else:
        _hash_with_content(array, _content(array, lengths), chain, keys, out)


def _hash_compiled(loops: ModuleType, chain: Chain, array: pa.Array, live: Live, keys: ColumnKeys, out: Hashes) -> None:
    """Hash a block in place, without a copy of its bytes."""
    flags = _ALL_LIVE if live is None else live
    secrets = (*keys.positions(chain, _KNOWN_POSITIONS), *keys.seeds(chain))
    if _is_view(array.type):
        addresses = [0 if buffer is None else buffer.address for buffer in array.buffers()[2:]]
        loops.hash_views(
            values(array, "<u8", per_row=2), np.array(addresses, np.uint64), flags, *secrets, out[0], out[1]
        )
        return
    bounds = _bounds(array)
    longest = int(np.diff(bounds).max(initial=0))
    if longest > _LONGEST:
        raise NotComparable(f"a value has {longest:,} bytes")
    data = array.buffers()[-1]
    loops.hash_spans(np.uint64(data.address if data else 0), bounds, flags, *secrets, out[0], out[1])


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _lengths(array: pa.Array, live: Live) -> NDArray[np.int64]:
    """Lengths of the values; 0 for NULL, whatever bytes are under it."""
    if _is_view(array.type):
        lengths = (values(array, "<u8", per_row=2)[::2] & _LENGTH).view(np.int64)
    else:
        lengths = np.diff(_bounds(array))
    return lengths if live is None else lengths * live


def _bounds(array: pa.Array) -> NDArray[np.int64]:
    """Start of each value in the last buffer, and the end of the last one; not for views."""
    kind = array.type
    if pa.types.is_fixed_size_binary(kind):
        width = np.int64(kind.byte_width)
        return np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * width
    large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    return values(array, "<i8" if large else "<i4", extra=1).astype(np.int64, copy=False)


def _words_of_views(array: pa.Array) -> Words:
    """Words 0 and 1 as (2, rows), a copy; word 1 is valid only for inline values."""
    return values(array, "<u8", per_row=2).reshape(-1, 2).T.copy()


def _hash_first_words(words: Words, chain: Chain, keys: ColumnKeys, out: Hashes) -> None:
    first, second = keys.positions(chain, 2)
    mix_pair(words[0], first[0], second[0], out)
    _add_words(words[1], first[1], second[1], out)


def _add_words(words: Words, first: Words | np.uint64, second: Words | np.uint64, out: Hashes) -> None:
    """Add both halves of one word per row to *out*."""
    halves = np.empty((2, len(words)), np.uint64)
    mix_pair(words, first, second, halves)
    out += halves


def _hash_with_content(array: pa.Array, content: Content, chain: Chain, keys: ColumnKeys, out: Hashes) -> None:
    """Hash a block that is not entirely inline views."""
    long = np.flatnonzero(content.lengths > INLINE_BYTES)
    if _is_view(array.type):
        words = _words_of_views(array)
        words[1][long] = _gather(content.data, content.starts[long] + 4)
    else:
        words = _gather_first_words(content)
    _hash_first_words(words, chain, keys, out)
    if not len(long):
        return
    counts = (content.lengths[long] + 3) >> 3  # of words from 1 on
    order = np.argsort((_MOST_WORDS - np.minimum(counts, _MOST_WORDS)).astype(np.uint16), kind="stable")
    rows = long[order]
    for half, sums in zip(out, _hash_rest(content.at(rows), counts[order], chain, keys), strict=True):
        half[rows] += sums


def _content(array: pa.Array, lengths: NDArray[np.int64]) -> Content:
    flat = array.cast(pa.large_binary()) if _is_view(array.type) else array
    bounds = _bounds(flat)
    begin, end = int(bounds[0]), int(bounds[-1])
    data = np.empty((end - begin) // 8 + 3, np.uint64)
    if end > begin:
        data.view(np.uint8)[: end - begin] = np.frombuffer(flat.buffers()[-1], np.uint8)[begin:end]
    return Content(data, bounds[:-1] - begin, lengths)


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


def _gather_first_words(content: Content) -> Words:
    """Words 0 and 1 as (2, rows), of values that are not stored as views."""
    data, starts, lengths = content
    words = np.empty((2, len(starts)), np.uint64)
    words[0] = _gather(data, starts) & _KEEP.take(np.minimum(lengths, 4))
    words[0] <<= _HALF
    words[0] |= lengths.view(np.uint64)
    words[1] = _gather(data, starts + 4) & _KEEP.take(np.clip(lengths - 4, 0, 8))
    return words


def _hash_rest(content: Content, counts: NDArray[np.int64], chain: Chain, keys: ColumnKeys) -> Hashes:
    """The sums of the words from 2 on; *counts* of words from 1 on are descending (up to 16 bits)."""
    data, starts, lengths = content
    total = np.zeros((2, len(starts)), np.uint64)
    fewer = -counts
    first, second = keys.positions(chain, min(int(counts.max()) + 1, _MOST_WORDS))
    position, active = 2, int(np.searchsorted(fewer, -2, side="right"))
    while position < min(_WORDS_PER_ROW * active, _MOST_WORDS):
        ending = int(np.searchsorted(fewer, -position - 1, side="right"))  # for the other rows it is the last word
        words = _gather(data, starts[:active] + (8 * position - 4))
        words[ending:] &= _KEEP.take(lengths[ending:active] - (8 * position - 4))
        _add_words(words, first[position], second[position], total[:, :active])
        position, active = position + 1, ending
    for row in range(active):
        bytes_left = data.view(np.uint8)[starts[row] + 8 * position - 4 : starts[row] + lengths[row]]
        total[:, row] += _hash_along(bytes_left, position, keys.seeds(chain))
    return total


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
