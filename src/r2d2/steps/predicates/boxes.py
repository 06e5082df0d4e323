"""Conditions on columns with ordered codes, and few of them that exclude given rows.

Rows come as a matrix of codes, one row per column: equal codes are equal values, larger codes larger values, and -1 is
NULL. So every type is searched in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]
FEW_VALUES = 24  # longest list of values; a person would not write a longer one
NULL = -1


@dataclass(frozen=True, slots=True)
class Condition:
    """A range of one column or a list of its values, with or without NULL. Without any bound: IS NOT NULL."""

    column: int
    low: int | None = None
    high: int | None = None
    codes: tuple[int, ...] | None = None
    null: bool = False

    def holds(self, codes: Codes) -> Mask:
        """Flags of the values for which the condition holds."""
        if self.codes is not None:
            held = np.isin(codes, np.array(self.codes, dtype=np.int64))
        else:
            held = codes > NULL if self.low is None else codes >= max(self.low, 0)
            if self.high is not None:
                held &= codes <= self.high
        return held | (codes == NULL) if self.null else held

    @property
    def length(self) -> int:
        """Number of constants in the condition, as a measure of its simplicity."""
        values = len(self.codes) if self.codes is not None else (self.low is not None) + (self.high is not None)
        return values + self.null


Box = tuple[Condition, ...]  # all of them hold


def in_box(box: Sequence[Condition], codes: Codes) -> Mask:
    """Flags of the rows that satisfy all conditions."""
    held = np.ones(codes.shape[1], dtype=np.bool_)
    for condition in box:
        held &= condition.holds(codes[condition.column])
    return held


def tight_conditions(column: int, inside: Codes) -> Iterator[Condition]:
    """Conditions on one column that all rows inside satisfy: bounds, a few values, NULL or never NULL."""
    null = bool((inside == NULL).any())
    values = inside[inside != NULL]
    if not len(values):
        yield Condition(column, codes=(), null=True)
        return
    low, high = int(values.min()), int(values.max())
    if not null:
        yield Condition(column)
    distinct = np.unique(values)
    if len(distinct) <= FEW_VALUES:
        yield Condition(column, codes=tuple(distinct.tolist()), null=null)
    yield Condition(column, low=low, null=null)
    yield Condition(column, high=high, null=null)
    yield Condition(column, low, high, null=null)


def shut_out(inside: Codes, outside: Codes, columns: Sequence[int]) -> tuple[Box, Mask]:
    """Few conditions that hold for every row inside and for as few outside as possible, and flags of those left.

    Greedy: each time the condition that excludes most of the remaining rows; redundant ones are removed at the end.
    """
    offered = [c for column in columns for c in tight_conditions(column, inside[column])]
    if not offered or not outside.shape[1]:
        return (), np.ones(outside.shape[1], dtype=np.bool_)
    shut = np.array([~condition.holds(outside[condition.column]) for condition in offered])
    chosen: list[int] = []
    left = np.ones(outside.shape[1], dtype=np.bool_)
    while left.any():
        gains = shut[:, left].sum(axis=1)
        best = min(range(len(offered)), key=lambda n: (-gains[n], offered[n].length, n))
        if not gains[best]:
            break
        chosen.append(best)
        left &= ~shut[best]
    for number in sorted(chosen, key=lambda n: (shut[n].sum(), -offered[n].length)):
        others = [n for n in chosen if n != number]
        if others and (shut[others].any(axis=0) | left).all():
            chosen = others
    return joined([offered[n] for n in chosen]), left


def joined(conditions: Sequence[Condition]) -> Box:
    """Merge the two ends of a range of one column into one condition; order by columns."""
    box: dict[tuple[int, bool, bool], Condition] = {}
    for condition in conditions:
        key = (condition.column, condition.null, condition.codes is None)
        other = box.get(key)
        if other is None or condition.codes is not None:
            box[key] = condition
        else:
            low = other.low if condition.low is None else condition.low
            high = other.high if condition.high is None else condition.high
            box[key] = Condition(condition.column, low, high, None, condition.null)
    return tuple(sorted(box.values(), key=lambda c: (c.column, c.codes is None)))


def separate(inside: Codes, outside: Codes, columns: Sequence[int], most_boxes: int) -> tuple[Box, ...] | None:
    """Boxes that together contain every row inside and no row outside; None if more than *most_boxes* are needed."""
    box, left = shut_out(inside, outside, columns)
    if not left.any() or not outside.shape[1]:
        return (box,)
    if most_boxes < 2:
        return None
    hole = _widest_hole(inside, outside[:, left], columns)
    if hole is None:
        return None
    column, below = hole
    lower = inside[column] <= below
    first = separate(inside[:, lower], outside, columns, most_boxes - 1)
    if first is None:
        return None
    second = separate(inside[:, ~lower], outside, columns, most_boxes - len(first))
    return None if second is None else (*first, *second)


def _widest_hole(inside: Codes, outside: Codes, columns: Sequence[int]) -> tuple[int, int] | None:
    """The gap between neighbouring values inside with most rows outside: its column, and the value below the gap."""
    best, most = None, 0
    for column in columns:
        values = np.unique(inside[column])
        places = np.searchsorted(values, outside[column])
        between = places[(places > 0) & (places < len(values))]
        between = between[~np.isin(outside[column][(places > 0) & (places < len(values))], values)]
        if len(between):
            counts = np.bincount(between)
            place = int(counts.argmax())
            if counts[place] > most:
                best, most = (column, int(values[place - 1])), int(counts[place])
    return best
