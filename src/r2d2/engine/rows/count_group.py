"""Count, where the hashes of tables meet, the rows that the parents of edges lack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from r2d2.engine.kernels import HashBlock, count_missing, merge, unpack
from r2d2.engine.rows.asked_edges import EDGES, Columns, Ints, pack_counts, unpack_edges
from r2d2.engine.run.contract import Packed


class Lacking(NamedTuple):
    """Missing rows and copies, edge by edge."""

    rows: Ints
    copies: Ints


def count_group(projection: int, blocks: Mapping[int, Sequence[Packed]]) -> bytes:
    """The packed counts of the edges in a group, within one hash range."""
    numbers = sorted(table for table in blocks if table != EDGES)
    merged = unpack([blocks[table] for table in numbers])
    merged.append(merge([]))  # of tables without rows here
    first = first_of_equal(merged)
    runs = [unpack_edges(block.all()) for block in blocks.get(EDGES, ())]
    return b"".join(_counted(run, np.array(numbers, np.int64), merged, first) for run in runs)


def _counted(run: Columns, numbers: Ints, merged: Sequence[HashBlock], first: Ints) -> bytes:
    parents, children = (_places(numbers, column) for column in (run.one, run.other))
    return pack_counts(run.first, *lacking(merged, first, parents, children))


def _places(numbers: Ints, wanted: Ints) -> Ints:
    """Places of tables among *numbers*; the place after the last for any other."""
    places = np.searchsorted(numbers, wanted)
    known = np.append(numbers, -1)[places] == wanted
    return np.where(known, places, len(numbers))


def lacking(tables: Sequence[HashBlock], first: Ints, parents: Ints, children: Ints) -> Lacking:
    """Rows and copies that each parent lacks of each child; both are places in *tables*.

    *first* are the places of the tables that stand for theirs, being equal.
    """
    edges, places = np.unique(first[parents] * len(tables) + first[children], return_inverse=True)
    rows, copies = count_missing(tables, *np.divmod(edges, len(tables)))
    return Lacking(rows[places], copies[places])


def first_of_equal(tables: Sequence[HashBlock]) -> Ints:
    """For each table the place of the first one with the same rows, each as often."""
    alike: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    first = np.arange(len(tables))
    for place, table in enumerate(tables):
        candidates = alike[_digest(table)]
        equal = next((other for other in candidates if _are_equal(tables[other], table)), None)
        if equal is None:
            candidates.append(place)
        else:
            first[place] = equal
    return first


def _digest(table: HashBlock) -> tuple[int, ...]:
    return table.rows, table.distinct_rows, *(int(half.sum()) for half in table.hashes)


def _are_equal(one: HashBlock, other: HashBlock) -> bool:
    places = np.arange(one.distinct_rows)
    return np.array_equal(one.hashes, other.hashes) and np.array_equal(one.counts_at(places), other.counts_at(places))
