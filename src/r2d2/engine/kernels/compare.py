"""Find the rows of a child that a parent lacks, on sorted blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.blocks import HashBlock
from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import Words
from r2d2.model.containment import Missing

Places = NDArray[np.intp]
_ONES = np.empty(0, np.uint64)  # no counts: each row is there once


def find_missing(*, child: HashBlock, parent: HashBlock) -> Missing:
    """Count the child's rows that the parent lacks, as a set and as a bag."""
    if LOOPS.compiled:
        missing = np.zeros(2, np.int64)
        LOOPS.compiled.find_missing(*_arrays(child), *_arrays(parent), missing)
        return Missing(int(missing[0]), int(missing[1]))
    in_child, in_parent = common_rows(child=child, parent=parent)
    wanted, available = child.counts_at(in_child), parent.counts_at(in_parent)
    rows = child.rows - int(wanted.sum())
    short = wanted > available
    copies = rows + int((wanted[short] - available[short]).sum())
    return Missing(rows, copies)


def _arrays(block: HashBlock) -> tuple[Words, Words, Words]:
    first, second = (np.ascontiguousarray(half) for half in block.hashes)
    return first, second, _ONES if block.counts is None else block.counts


def common_rows(*, child: HashBlock, parent: HashBlock) -> tuple[Places, Places]:
    """Places of the common rows in the child and in the parent, both ascending."""
    if child.distinct_rows <= parent.distinct_rows:
        return _look_up(few=child, many=parent)
    in_parent, in_child = _look_up(few=parent, many=child)
    return in_child, in_parent


def _look_up(*, few: HashBlock, many: HashBlock) -> tuple[Places, Places]:
    """Places of the common rows, by binary search for ascending values, which walks through *many* once."""
    if not few.distinct_rows:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    places = np.searchsorted(many.hashes[0], few.hashes[0])
    places[places == many.distinct_rows] = 0  # beyond the last, hence not equal to the first
    first, second = many.hashes.take(places, axis=1) == few.hashes
    undecided = np.flatnonzero(first & ~second)
    first &= second
    _look_further(few, many, places, first, undecided)
    return np.flatnonzero(first), places[first]


def _look_further(few: HashBlock, many: HashBlock, places: Places, found: NDArray[np.bool_], undecided: Places) -> None:
    """Resolve rows that share their first half with another row: step on to the one with the same second half."""
    while len(undecided):
        places[undecided] += 1
        undecided = undecided[places[undecided] < many.distinct_rows]
        undecided = undecided[many.hashes[0][places[undecided]] == few.hashes[0][undecided]]
        equal = many.hashes[1][places[undecided]] == few.hashes[1][undecided]
        found[undecided[equal]] = True
        undecided = undecided[~equal]
