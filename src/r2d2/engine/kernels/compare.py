"""Count the rows of children that their parents lack, on sorted blocks."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.blocks import HashBlock
from r2d2.engine.kernels.loops import LOOPS
from r2d2.model.containment import Missing

Places = NDArray[np.intp]
Ints = NDArray[np.int64]
_REACH_BYTES = 16 << 20  # memory for what is known to hold what


def find_missing(*, child: HashBlock, parent: HashBlock) -> Missing:
    """Count the child's rows that the parent lacks, as a set and as a bag."""
    rows, copies = count_missing([parent, child], np.array([0]), np.array([1]))
    return Missing(int(rows[0]), int(copies[0]))


def count_missing(tables: Sequence[HashBlock], parents: Ints, children: Ints) -> tuple[Ints, Ints]:
    """Rows and copies that each parent lacks of each child; both are places in *tables*, no two of which are equal."""
    if LOOPS.compiled:
        return _compiled(LOOPS.compiled, tables, parents, children)
    pairs = zip(parents.tolist(), children.tolist(), strict=True)
    found = [_find_missing(child=tables[child], parent=tables[parent]) for parent, child in pairs]
    rows, copies = np.array(found, np.int64).reshape(-1, 2).T
    return rows, copies


def _compiled(loops: ModuleType, tables: Sequence[HashBlock], parents: Ints, children: Ints) -> tuple[Ints, Ints]:
    """The counts; parents with few rows come first, so that they can tell what larger ones hold."""
    held = [_arrays(table) for table in tables]
    addresses = np.array([[_address(part) for part in parts] for parts in held], np.uint64).reshape(-1, 3)
    sizes = np.array([table.distinct_rows for table in tables], np.int64)
    rows = np.array([table.rows for table in tables], np.int64)
    words = 1 + len(tables) // 64
    reach = np.zeros((len(tables) if 8 * words * len(tables) <= _REACH_BYTES else 0, words), np.uint64)
    order = np.lexsort((-rows[children], rows[parents]))
    counts = np.zeros((2, len(order)), np.int64)
    loops.count_missing(addresses, sizes, parents[order], children[order], reach, counts[0], counts[1])
    missing = np.empty_like(counts)
    missing[:, order] = counts
    return missing[0], missing[1]


def _arrays(block: HashBlock) -> tuple[NDArray[np.uint64] | None, ...]:
    """Both halves of the rows and their counts, each in one piece of memory."""
    return (*(np.ascontiguousarray(half) for half in block.hashes), block.counts)


def _address(array: NDArray[np.uint64] | None) -> int:
    return 0 if array is None else int(array.__array_interface__["data"][0])


def _find_missing(*, child: HashBlock, parent: HashBlock) -> Missing:
    in_child, in_parent = common_rows(child=child, parent=parent)
    wanted, available = child.counts_at(in_child), parent.counts_at(in_parent)
    rows = child.rows - int(wanted.sum())
    short = wanted > available
    copies = rows + int((wanted[short] - available[short]).sum())
    return Missing(rows, copies)


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
