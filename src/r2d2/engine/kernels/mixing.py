"""The 64-bit mixer, and the secret words that every column derives from its name and the state's key.

One word w under the secret pair (a, b) becomes the two halves mix(w ^ a) and mix(mix(w ^ a) ^ b). *mix*
is a bijection (the finaliser of splitmix64), so two words under one pair never share a half. A value of
several words is the sum of its words' halves, each position with a pair of its own; a row is the sum of
its columns.

Everything is wrapping arithmetic on uint64, without a library: the same on every machine and library version.
`HASH_VERSION` enters the derivation of the secrets, so hashes of two versions never match by accident.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.loops import LOOPS

HASH_VERSION = 1
BLOCK_ROWS = 32_768  # a few eight-byte temporaries of this many rows stay in a core's own cache

Words = NDArray[np.uint64]
Hashes = NDArray[np.uint64]  # shape (2, rows): the two halves
WORD = np.dtype(np.uint64)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)

if sys.byteorder != "little":
    raise ImportError("r2d2 hashes little-endian words, and this machine is big-endian")

# glibc maps each temporary again, with page faults, until it has seen a larger one freed: +40 % time.
np.empty(24 << 20, np.uint8)


class _Memory(threading.local):
    """Scratch memory of the mixer, one for each thread."""

    def __init__(self) -> None:
        self.scratch = np.empty(BLOCK_ROWS, np.uint64)


_memory = _Memory()


def mix(words: Words) -> None:
    """Scramble a row of words in place."""
    for begin in range(0, len(words), BLOCK_ROWS):
        part = words[begin : begin + BLOCK_ROWS]
        scratch = _memory.scratch[: len(part)]
        np.right_shift(part, _SHIFT_1, out=scratch)
        part ^= scratch
        part *= _MULTIPLY_1
        np.right_shift(part, _SHIFT_2, out=scratch)
        part ^= scratch
        part *= _MULTIPLY_2
        np.right_shift(part, _SHIFT_3, out=scratch)
        part ^= scratch


def mix_pair(words: Words, first: Words | np.uint64, second: Words | np.uint64, out: Hashes) -> None:
    """Write both halves of *words* under the secrets *first* and *second*: one pair for all, or a pair for each."""
    if LOOPS.compiled and isinstance(first, np.uint64):
        LOOPS.compiled.mix_pair(np.ascontiguousarray(words), first, second, out[0], out[1])
        return
    np.bitwise_xor(words, first, out=out[0])
    mix(out[0])
    np.bitwise_xor(out[0], second, out=out[1])
    mix(out[1])


def secret_words(*, key: bytes, purpose: bytes, count: int) -> Words:
    """Derive *count* words for this *purpose* that nobody can guess without the *key*."""
    if len(key) not in (16, 32):
        raise ValueError(f"the key of the row hash has {len(key)} bytes; 16 or 32 are needed")
    head = b"r2d2 row hash %d %d " % (HASH_VERSION, len(key))
    return np.frombuffer(hashlib.shake_256(head + key + purpose).digest(8 * count), WORD)


def position_secrets(seed: np.uint64, start: int, stop: int) -> Words:
    """The secrets of the positions from *start* to *stop* in a sequence."""
    words = np.arange(start + 1, stop + 1, dtype=np.uint64)
    words *= _GOLDEN
    words += seed
    mix(words)
    return words


@lru_cache(maxsize=1024)
def first_position_secrets(seed: np.uint64, count: int) -> Words:
    """The secrets of the first *count* positions, cached: every block of a column needs them."""
    words = position_secrets(seed, 0, count)
    words.flags.writeable = False
    return words
