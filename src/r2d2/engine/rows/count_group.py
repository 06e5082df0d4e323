"""Count, where the hashes of tables meet, the rows that the parents of edges lack.

Few edges are counted one by one. Where many small tables meet, all are counted together: equal tables once, and of
the others only the rows that several have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from r2d2.engine.kernels import HashBlock, find_missing, merge, unpack
from r2d2.engine.rows.asked_edges import EDGES, Columns, Ints, pack_counts, unpack_edges
from r2d2.engine.run.contract import Packed

ROWS_PER_PAIR = 400  # comparing two tables on their own takes as long as looking up so many rows
ROWS_TO_SORT = 5  # sorting a row among those of all tables takes as long as looking up so many
MOST_AT_ONCE = 1 << 22  # entries of the arrays that are made on the way


class Lacking(NamedTuple):
    """Missing rows and copies, edge by edge."""

    rows: Ints
    copies: Ints


def count_group(projection: int, blocks: Mapping[int, Sequence[Packed]]) -> bytes:
    """The packed counts of the edges in a group, within one hash range."""
    numbers = sorted(table for table in blocks if table != EDGES)
    merged = [unpack(blocks[table]) for table in numbers]
    merged.append(merge([]))  # of tables without rows here
    runs = [unpack_edges(block) for block in blocks.get(EDGES, ())]
    return b"".join(_counted(run, np.array(numbers, np.int64), merged) for run in runs)


def _counted(run: Columns, numbers: Ints, merged: Sequence[HashBlock]) -> bytes:
    parents, children = (_places(numbers, column) for column in (run.one, run.other))
    return pack_counts(run.first, *lacking(merged, parents, children))


def _places(numbers: Ints, wanted: Ints) -> Ints:
    """Places of tables among *numbers*; the place after the last for any other."""
    places = np.searchsorted(numbers, wanted)
    known = np.append(numbers, -1)[places] == wanted
    return np.where(known, places, len(numbers))


def lacking(tables: Sequence[HashBlock], parents: Ints, children: Ints) -> Lacking:
    """Rows and copies that each parent lacks of each child; both are places in *tables*."""
    sizes = np.array([table.distinct_rows for table in tables], np.int64)
    one_by_one = int(np.minimum(sizes[parents], sizes[children]).sum()) + ROWS_PER_PAIR * len(parents)
    if one_by_one <= ROWS_TO_SORT * int(sizes.sum()):
        return lacking_one_by_one(tables, parents, children)
    return lacking_together(tables, parents, children)


def lacking_one_by_one(tables: Sequence[HashBlock], parents: Ints, children: Ints) -> Lacking:
    """The counts, from one comparison for each edge."""
    pairs = zip(parents.tolist(), children.tolist(), strict=True)
    found = [find_missing(child=tables[child], parent=tables[parent]) for parent, child in pairs]
    rows, copies = np.array(found, np.int64).reshape(-1, 2).T
    return Lacking(rows, copies)


def lacking_together(tables: Sequence[HashBlock], parents: Ints, children: Ints) -> Lacking:
    """The counts, from the rows that several tables have."""
    first = _first_of_equal(tables)
    count = len(tables)
    edges, places = np.unique(first[parents] * count + first[children], return_inverse=True)
    shared = _Shared.of(tables, np.unique(first), edges)
    rows = np.array([table.rows for table in tables], np.int64)[edges % count]
    same = edges // count == edges % count
    held, covered = (np.where(same, rows, column) for column in shared.counted())
    return Lacking((rows - held)[places], (rows - covered)[places])


def _first_of_equal(tables: Sequence[HashBlock]) -> Ints:
    """For each table the first one of the same rows, each as often."""
    seen: dict[tuple[bytes, bytes], int] = {}
    ones = (table.counts if table.counts is not None and table.counts.max(initial=0) > 1 else None for table in tables)
    both = zip(tables, ones, strict=True)
    texts = ((table.hashes.tobytes(), b"" if some is None else some.tobytes()) for table, some in both)
    return np.array([seen.setdefault(text, place) for place, text in enumerate(texts)], np.int64)


class _Shared(NamedTuple):
    """The rows that several tables have: entries ordered by row, then by table."""

    table: Ints
    row: Ints
    copies: Ints
    begins: Ints  # where the entries of each row begin; one more for the end
    edges: Ints  # asked for, as parent * tables + child, ascending
    tables: int

    @staticmethod
    def of(tables: Sequence[HashBlock], some: Ints, edges: Ints) -> _Shared:
        """The rows that several of *some* tables have."""
        blocks = [tables[place] for place in some.tolist()]
        owner = np.repeat(some, [block.distinct_rows for block in blocks])
        copies = np.concatenate([block.counts_at(np.arange(block.distinct_rows)) for block in blocks]).astype(np.int64)
        hashes = np.concatenate([block.hashes for block in blocks], axis=1)
        order = np.lexsort((hashes[1], hashes[0]))
        hashes = hashes[:, order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (hashes[:, 1:] != hashes[:, :-1]).any(axis=0)
        row = np.cumsum(is_new) - 1
        several = (np.bincount(row, minlength=1) > 1)[row]
        row = np.cumsum(is_new[several]) - 1
        begins = np.append(np.flatnonzero(is_new[several]), len(row))
        return _Shared(owner[order][several], row, copies[order][several], begins, edges, len(tables))

    def counted(self) -> tuple[Ints, Ints]:
        """By edge, rows of the child that the parent has, copies counted, and those that it has as often."""
        held, covered = np.zeros(len(self.edges), np.int64), np.zeros(len(self.edges), np.int64)
        sizes = np.diff(self.begins)
        by_table = np.bincount(self.table, minlength=self.tables)
        if int((sizes**2).sum()) <= int(by_table[self.edges % self.tables].sum()):
            meetings = self._row_by_row(sizes)
        else:
            meetings = self._edge_by_edge(by_table)
        for edge, parent, child in meetings:
            np.add.at(held, edge, self.copies[child])
            np.add.at(covered, edge, np.minimum(self.copies[parent], self.copies[child]))
        return held, covered

    def _row_by_row(self, sizes: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Edges between any two tables that have a row, with the row's entries of the parent and of the child."""
        for some in _portions(sizes**2):
            entries = _ragged(self.begins[some], sizes[some])
            row = self.row[entries]
            parent = np.repeat(entries, sizes[row])
            child = _ragged(self.begins[row], sizes[row])
            yield self._asked(self.table[parent] * self.tables + self.table[child], parent, child)

    def _asked(self, wanted: Ints, parent: Ints, child: Ints) -> tuple[Ints, Ints, Ints]:
        edge = np.minimum(np.searchsorted(self.edges, wanted), len(self.edges) - 1)
        asked = self.edges[edge] == wanted
        return edge[asked], parent[asked], child[asked]

    def _edge_by_edge(self, by_table: Ints) -> Iterator[tuple[Ints, Ints, Ints]]:
        """The same, from the rows of each edge's child: better where many tables have the same rows."""
        in_order = np.lexsort((self.row, self.table))
        starts = np.append(0, np.cumsum(by_table))
        numbers = self.table[in_order] * len(self.begins) + self.row[in_order]
        for some in _portions(by_table[self.edges % self.tables]):
            parents, children = np.divmod(self.edges[some], self.tables)
            edge = np.repeat(some, by_table[children])
            child = in_order[_ragged(starts[children], by_table[children])]
            wanted = np.repeat(parents, by_table[children]) * len(self.begins) + self.row[child]
            place = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
            there = numbers[place] == wanted
            yield edge[there], in_order[place[there]], child[there]


def _portions(weights: Ints) -> Iterator[Ints]:
    """Places in order, some at a time: as many as weigh about `MOST_AT_ONCE`, and at least one."""
    total = np.cumsum(weights)
    first = 0
    while first < len(weights):
        limit = MOST_AT_ONCE + (int(total[first - 1]) if first else 0)
        last = max(first + 1, int(np.searchsorted(total, limit, side="right")))
        yield np.arange(first, last)
        first = last


def _ragged(begins: Ints, sizes: Ints) -> Ints:
    """The runs of numbers from *begins* on, so many each, one after another.

    >>> _ragged(np.array([5, 9]), np.array([3, 2])).tolist()
    [5, 6, 7, 9, 10]
    """
    before = np.cumsum(sizes) - sizes
    steps: npt.NDArray[np.int64] = np.arange(int(sizes.sum())) - np.repeat(before - begins, sizes)
    return steps
