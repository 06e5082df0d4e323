"""Choose which sampled rows to look for in a parent, so that little of it has to be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Row = tuple[int, str]  # its projection, its hash


class Chosen(NamedTuple):
    """Rows to look for, and the slices, by place, that may hold any of them."""

    rows: frozenset[Row]
    places: frozenset[int]


def choose_rows(
    wanted: Iterable[Row], may_be_at: Mapping[Row, Sequence[int]], *, slice_bytes: Sequence[int], most_bytes: float
) -> Chosen:
    """Choose the rows that fewest slices may hold, as long as those slices take *most_bytes* together at most.

    A row that no slice may hold costs nothing, and shows at once that the parent lacks it.

    >>> places = {(0, "a"): [1], (0, "b"): [0, 1, 2]}
    >>> chosen = choose_rows(places, places, slice_bytes=[9, 9, 9], most_bytes=9)
    >>> sorted(chosen.rows), sorted(chosen.places)
    ([(0, 'a')], [1])
    """
    rows: set[Row] = set()
    places: set[int] = set()
    left = most_bytes
    for row in sorted(wanted, key=lambda row: (len(may_be_at.get(row, ())), row)):
        more = set(may_be_at.get(row, ())) - places
        size = sum(slice_bytes[place] for place in more)
        if size <= left:
            rows.add(row)
            places |= more
            left -= size
    return Chosen(frozenset(rows), frozenset(places))
