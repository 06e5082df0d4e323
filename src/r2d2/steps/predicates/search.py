"""Search for a predicate that selects exactly the child's rows from the parent (section 5.1 leaves it to a person).

Rows are compared in the child's columns. A row of the parent that the child does not have is *outside*. The others
form groups of equal rows: the parent has at least as many of each as the child. If it has more, the filter must have
used a column that the child lacks. Then it is unknown which of the equal rows were taken; but each group has a random
number, the sum over the child's rows is known, and a range or list of values with that sum is found by look-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, zip_longest

import numpy as np

from r2d2.steps.predicates.boxes import NULL, Box, Condition, Mask, in_box, separate, shut_out
from r2d2.steps.predicates.fitting import LISTED, OUTSIDE, Marked, fitting, list_of, numbers_of

MOST_BOXES = 6
_MOST_TRIES = 3_000  # pairs of a condition and a column that are tried
_NEIGHBOURS = 8  # values beyond the tightest bound that are tried as the true one
_SKETCH_ROWS = 2_500  # rows on which a pair of conditions is searched first
_SKETCH_GROUPS = 5  # least number of groups among them


def find_predicate(rows: Marked) -> tuple[Box, ...] | None:
    """Boxes of conditions that select exactly the child's rows; None if the search fails.

    An empty box holds for every row.
    """
    inside = rows.group >= 0
    columns = list(range(len(rows.codes)))
    if (rows.counts == rows.wanted).all():
        in_both = [c for c in columns if rows.in_child[c]]
        boxes = separate(rows.codes[:, inside], rows.codes[:, ~inside], in_both, 1)
        return boxes or separate(rows.codes[:, inside], rows.codes[:, ~inside], columns, MOST_BOXES)
    box = _with_lost_columns(rows, columns)
    return None if box is None else (box,)


def _with_lost_columns(rows: Marked, columns: Sequence[int]) -> Box | None:
    """A box whose conditions on columns that the child lacks choose among equal rows."""
    inside = rows.group >= 0
    kept = [c for c in columns if rows.in_child[c]]
    lost = [c for c in columns if not rows.in_child[c]]
    tight, _ = shut_out(rows.codes[:, inside], rows.codes[:, ~inside], kept)
    likely = rows.some(in_box(tight, rows.codes))
    for box in _lost_boxes(likely, lost):
        held = in_box(box, rows.codes)
        more, left = shut_out(rows.codes[:, inside], rows.codes[:, held & ~inside], kept)
        if not left.any() or not (held & ~inside).any():
            return tuple(sorted((*box, *more), key=lambda c: c.column))
    return None


def _lost_boxes(rows: Marked, lost: Sequence[int]) -> Iterator[Box]:
    """One condition on a lost column, then two."""
    for column in lost:
        for condition in fitting(rows, column):
            yield (condition,)
    yield from _pairs(rows, lost)


def _pairs(rows: Marked, lost: Sequence[int]) -> Iterator[Box]:
    """Two conditions on lost columns: one that leaves enough of every group, then one that fits the rest."""
    sketch = _sketch(rows)
    for first in islice(_first_conditions(sketch, lost), _MOST_TRIES // max(1, len(lost))):
        left = sketch.some(first.holds(sketch.codes[first.column]))
        for column in lost:
            if column != first.column and next(fitting(left, column), None):
                yield from _confirmed(rows, first, column)


def _confirmed(rows: Marked, first: Condition, column: int) -> Iterator[Box]:
    """Confirm a pair on all rows, where the bounds of the first condition may be slightly wider."""
    for wider in _wider(rows, first):
        left = rows.some(wider.holds(rows.codes[wider.column]))
        for second in fitting(left, column):
            yield (wider, second)


def _sketch(rows: Marked) -> Marked:
    """All rows of some groups, those with the smallest numbers, and about as many rows outside."""
    inside = rows.group >= 0
    if len(rows.group) <= _SKETCH_ROWS or not inside.any():
        return rows
    counts, numbers = rows.counts, numbers_of(rows)
    order = np.argsort(numbers)
    enough = int(np.searchsorted(np.cumsum(counts[order]), _SKETCH_ROWS)) + 1
    there = np.sort(order[: max(enough, _SKETCH_GROUPS)])
    outside = np.sort(rows.number[~inside])[:_SKETCH_ROWS]
    few = ~inside & (rows.number <= outside[-1]) if len(outside) else inside & ~inside
    chosen = rows.some(np.isin(rows.group, there) | few)
    renumbered = np.where(chosen.group >= 0, np.searchsorted(there, chosen.group), OUTSIDE)
    return Marked(chosen.codes, renumbered, chosen.number, rows.wanted[there], rows.in_child)


def _first_conditions(rows: Marked, lost: Sequence[int]) -> Iterator[Condition]:
    """Conditions that leave enough rows of every group: lists, short ones first, and ranges, in turn."""
    listed = [column for column in lost if len(np.unique(rows.codes[column])) <= LISTED]
    lists = (c for size in (1, 2, 3) for column in listed for c in _enough_of_lists(rows, column, size))
    ranges = (c for column in lost for c in _enough_of_ranges(rows, column))
    for pair in zip_longest(lists, ranges):
        yield from (condition for condition in pair if condition is not None)


def _enough_of_lists(rows: Marked, column: int, size: int) -> Iterator[Condition]:
    """Lists of *size* values that leave enough rows of every group."""
    values = np.unique(rows.codes[column])
    needed = [v for v in values if not _enough(rows, rows.codes[column] != v)]
    if len(needed) <= size < len(values):
        for others in combinations([v for v in values if v not in needed], size - len(needed)):
            condition = list_of(column, np.array([*needed, *others], dtype=np.int64))
            if _enough(rows, condition.holds(rows.codes[column])):
                yield condition


def _enough_of_ranges(rows: Marked, column: int) -> Iterator[Condition]:
    """Ranges that leave enough rows of every group, from the tightest bounds outward."""
    tightest = _tightest(rows, column)
    if tightest is None:
        return
    for condition in _wider(rows, Condition(column, *tightest)):
        if _enough(rows, condition.holds(rows.codes[column])):
            yield condition


def _tightest(rows: Marked, column: int) -> tuple[int, int] | None:
    """The highest lower and the lowest upper bound that, each alone, leave enough rows of every group."""
    known = (rows.group >= 0) & (rows.codes[column] != NULL)
    group, codes = rows.group[known], rows.codes[column][known]
    counts = np.bincount(group, minlength=len(rows.wanted))
    if not len(group) or (counts < rows.wanted).any():
        return None
    order = np.lexsort((codes, group))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    asked = rows.wanted > 0
    ordered = codes[order]
    low = ordered[(first + counts - rows.wanted)[asked]].min()
    high = ordered[(first + rows.wanted - 1)[asked]].max()
    return int(low), int(high)


def _wider(rows: Marked, condition: Condition) -> Iterator[Condition]:
    """Ranges with either bound at this value, one of the next values outward, or open. A list stays as it is."""
    if condition.codes is not None:
        yield condition
        return
    values = np.unique(rows.codes[condition.column])
    values = values[values != NULL]
    low, high = condition.low or 0, int(values[-1]) if condition.high is None else condition.high
    lows = [None, *values[values <= low][-_NEIGHBOURS:][::-1].tolist()]
    highs = [None, *values[values >= high][:_NEIGHBOURS].tolist()]
    for bottom in lows:
        for top in highs:
            if bottom is not None or top is not None:
                yield Condition(condition.column, bottom, top, None, condition.null)


def _enough(rows: Marked, held: Mask) -> bool:
    group = rows.group[held & (rows.group >= 0)]
    return bool((np.bincount(group, minlength=len(rows.wanted)) >= rows.wanted).all())
