"""An order-free fingerprint of a multiset of rows, for finding equal tables.

Fingerprints of slices add up to the fingerprint of the table. Equal tables have equal fingerprints;
others differ, up to the probability of a 128-bit collision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.mixing import BLOCK_ROWS, Hashes, mix

_OTHER_THAN_ROW_HASH = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The number of rows and two sums (mod 2^64) over their hashes."""

    rows: int = 0
    first: int = 0
    second: int = 0

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(
            self.rows + other.rows, (self.first + other.first) % 2**64, (self.second + other.second) % 2**64
        )

    def __str__(self) -> str:
        return f"{self.rows}:{self.first:016x}{self.second:016x}"


def fingerprint(hashes: Hashes, counts: NDArray[np.uint64] | None = None) -> Fingerprint:
    """Fingerprint of rows with these hashes, each once or *counts* times.

    >>> rows = np.arange(8, dtype=np.uint64).reshape(2, 4)
    >>> fingerprint(rows) == fingerprint(rows[:, ::-1]) == fingerprint(rows[:, :1]) + fingerprint(rows[:, 1:])
    True
    """
    total = np.zeros(2, np.uint64)
    for begin in range(0, hashes.shape[1], BLOCK_ROWS):
        part = slice(begin, begin + BLOCK_ROWS)
        total += _mixed_sums(hashes[:, part], None if counts is None else counts[part])
    rows = hashes.shape[1] if counts is None else int(counts.sum())
    return Fingerprint(rows, int(total[0]), int(total[1]))


def _mixed_sums(hashes: Hashes, counts: NDArray[np.uint64] | None) -> NDArray[np.uint64]:
    first = hashes[0] ^ _OTHER_THAN_ROW_HASH
    mix(first)
    second = hashes[1] ^ first
    mix(second)
    first += second
    if counts is not None:
        first *= counts
        second *= counts
    return np.array([first.sum(), second.sum()])
