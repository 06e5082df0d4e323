"""The loop of min-max pruning, compiled by Numba: the same answers as the NumPy form, without arrays of all pairs."""

from __future__ import annotations

from typing import Any

from numba import njit, types

_INTS = types.Array(types.int64, 1, "C", readonly=True)
_INTS_OUT = types.Array(types.int64, 1, "C")
_FLAGS = types.Array(types.boolean, 1, "C", readonly=True)
_RANKS = types.Array(types.int32, 2, "C", readonly=True)
_SIGNATURE = types.int64(
    types.Tuple([_INTS] * 5),
    types.Tuple([_INTS, _INTS, _INTS, _FLAGS]),
    types.Tuple([_INTS, _INTS, _INTS, _RANKS, _RANKS]),
    types.Tuple([_INTS, _FLAGS]),
    types.Tuple([_INTS, _INTS]),
    types.Tuple([_INTS_OUT] * 3),
)


@njit
def _is_among(key: Any, ordered: Any) -> Any:
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) >> 1
        if ordered[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(ordered) and ordered[low] == key


@njit
def _broken(parent: Any, child: Any, begin: Any, end: Any, plan: Any, bounds: Any) -> Any:
    """The first number of the first column that rules a pair out; -1 if none does."""
    _, places, parent_places, same_kind = plan
    _, _, start, as_parent, as_child = bounds
    for step in range(begin, end):
        mine, its = start[parent] + parent_places[step], start[child] + places[step]
        for number in range(0 if same_kind[step] else 2, 4):
            if as_parent[mine, number] > as_child[its, number]:
                return number
    return -1


def judge_blocks(blocks: Any, plan: Any, bounds: Any, sharing: Any, rules: Any, out: Any) -> int:
    """Judge every pair of some blocks; the number of pairs that stand.

    *sharing*: pairs that share files, in order, and flags of the tables in them. *rules*: those of the numbers of a
    column, and those about files and rows. *out* takes the pairs that stand, and counts those that each rule drops.
    """
    members, top, tall, left, wide = blocks
    rows_as_parent, rows_as_child, start, _, _ = bounds
    shared, shares = sharing
    rule_of_number, of_files, of_rows = rules[0], rules[1][0], rules[1][1]
    standing_parents, standing_children, dropped = out
    found = 0
    for block in range(len(top)):
        begin, end = plan[0][block - 1] if block else 0, plan[0][block]
        for parent in members[top[block] : top[block] + tall[block]]:
            for child in members[left[block] : left[block] + wide[block]]:
                if parent == child:
                    continue
                if shares[parent] and shares[child] and _is_among(parent * len(start) + child, shared):
                    dropped[of_files] += 1
                    continue
                if rows_as_parent[parent] > rows_as_child[child]:
                    dropped[of_rows] += 1
                    continue
                number = _broken(parent, child, begin, end, plan, bounds)
                if number >= 0:
                    dropped[rule_of_number[number]] += 1
                    continue
                standing_parents[found] = parent
                standing_children[found] = child
                found += 1
    return found


try:
    judge_blocks = njit([_SIGNATURE], cache=True, nogil=True)(judge_blocks)
except RuntimeError:  # no folder for the cache: compiled in every process, then
    judge_blocks = njit([_SIGNATURE], nogil=True)(judge_blocks)
