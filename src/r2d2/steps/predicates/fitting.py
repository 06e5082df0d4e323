"""Find conditions on one column that select each row as often as the child has it, by sums of random numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from r2d2.steps.predicates.boxes import NULL, Codes, Condition, Mask, in_box

Numbers = NDArray[np.uint64]
OUTSIDE = -1
LISTED = 40  # distinct values up to which lists of values are tried


@dataclass(frozen=True, slots=True)
class Marked:
    """Rows of the parent, labelled by the child's row that each equals. Groups are complete, or left out."""

    codes: Codes  # (columns, rows)
    group: NDArray[np.int64]  # number of the child's row that it equals; -1: outside the child
    number: Numbers  # a random number, the same for equal rows
    wanted: NDArray[np.int64]  # by group: number of copies in the child
    in_child: Mask  # by column: whether the child has it

    def some(self, rows: Mask) -> Marked:
        """A subset of the rows."""
        return Marked(self.codes[:, rows], self.group[rows], self.number[rows], self.wanted, self.in_child)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows, by group."""
        return np.bincount(self.group[self.group >= 0], minlength=len(self.wanted))


def fitting(rows: Marked, column: int) -> Iterator[Condition]:
    """Conditions on one column that select the wanted rows exactly; each is checked by counting."""
    target = np.uint64(0)
    if len(rows.wanted):
        target = (numbers_of(rows) * rows.wanted.astype(np.uint64)).sum(dtype=np.uint64)
    for condition in (*_ranges(rows, column, target), *_lists(rows, column, target)):
        if picks(rows, (condition,)):
            yield condition


def picks(rows: Marked, box: Sequence[Condition]) -> bool:
    """Whether the box holds for exactly the wanted number of each group, and for no row outside."""
    group = rows.group[in_box(box, rows.codes)]
    return not (group == OUTSIDE).any() and bool((np.bincount(group, minlength=len(rows.wanted)) == rows.wanted).all())


def numbers_of(rows: Marked) -> Numbers:
    """The random number of each group; 0 for a group without a row here, which no condition can fit."""
    numbers = np.zeros(len(rows.wanted), dtype=np.uint64)
    inside = rows.group >= 0
    numbers[rows.group[inside]] = rows.number[inside]
    return numbers


def _ranges(rows: Marked, column: int, target: np.uint64) -> Iterator[Condition]:
    """Ranges whose numbers sum to the target, found as two running sums that differ by it."""
    codes = rows.codes[column]
    order = np.argsort(codes, kind="stable")
    ordered, sums = codes[order], np.cumsum(rows.number[order], dtype=np.uint64)
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else np.empty(0, np.intp)
    ends, values = sums[last], ordered[last]
    nulls = bool(len(values) and values[0] == NULL)
    of_null = ends[0] if nulls else np.uint64(0)
    starts = np.concatenate([np.zeros(1, np.uint64), ends[:-1]]) if len(ends) else ends
    if nulls:
        ends, values, starts = ends[1:], values[1:], starts[1:]
    for null in (False, True) if nulls else (False,):
        wanted = np.uint64((int(target) - int(of_null)) % 2**64) if null else target
        for first, final in _differing_by(starts, ends, wanted):
            low = int(values[first]) if first else None
            high = int(values[final]) if final < len(values) - 1 else None
            yield Condition(column, low, high, None, null)


def _differing_by(starts: Numbers, ends: Numbers, target: np.uint64) -> Iterator[tuple[int, int]]:
    """Places i <= j with ends[j] - starts[i] = target."""
    order = np.argsort(ends, kind="stable")
    wanted = starts + target
    places = np.searchsorted(ends[order], wanted)
    places[places == len(ends)] = 0
    for first in np.flatnonzero(ends[order][places] == wanted)[:4].tolist() if len(ends) else []:
        final = int(order[places[first]])
        if first <= final:
            yield first, final


def _lists(rows: Marked, column: int, target: np.uint64) -> Iterator[Condition]:
    """Up to three values, or all but up to two, whose numbers sum to the target."""
    codes = rows.codes[column]
    values, inverse = np.unique(codes, return_inverse=True)
    if not 1 < len(values) <= LISTED:
        return
    sums = np.zeros(len(values), np.uint64)
    np.add.at(sums, inverse, rows.number)
    rest = np.uint64((int(sums.sum(dtype=np.uint64)) - int(target)) % 2**64)
    for chosen in _subsets(sums, target, 3):
        yield list_of(column, values[list(chosen)])
    for left_out in _subsets(sums, rest, 2):
        yield list_of(column, np.delete(values, list(left_out)))


def _subsets(sums: Numbers, target: np.uint64, most: int) -> Iterator[tuple[int, ...]]:
    numbers = [int(number) for number in sums]
    place = {number: n for n, number in enumerate(numbers)}
    for size in range(1, most + 1):
        for others in combinations(range(len(numbers)), size - 1):
            last = place.get((int(target) - sum(numbers[n] for n in others)) % 2**64, -1)
            if last > (others[-1] if others else -1):
                yield (*others, last)


def list_of(column: int, values: NDArray[np.int64]) -> Condition:
    """The condition that a column has one of these values, which may include NULL."""
    codes = tuple(int(value) for value in values if value != NULL)
    return Condition(column, codes=codes, null=bool((values == NULL).any()))
