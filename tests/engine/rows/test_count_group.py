"""Edges are packed without loss, and counted together as they are one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.kernels import HashBlock, block_of, to_bytes
from r2d2.engine.rows.asked_edges import EDGES, pack_counts, pack_edges, unpack_counts, unpack_edges
from r2d2.engine.rows.count_group import count_group, lacking_one_by_one, lacking_together

BAGS = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=7)


def block(rows: list[int]) -> HashBlock:
    """A block whose rows share their first half now and then."""
    return block_of(np.array([[row // 2 for row in rows], rows], np.uint64).reshape(2, -1))


@settings(max_examples=400)
@given(BAGS)
def test_all_edges_together_lack_what_each_lacks_alone_and_what_a_counter_says(bags: list[list[int]]) -> None:
    tables = [block(rows) for rows in bags]
    parents, children = (numbers.ravel() for numbers in np.divmod(np.arange(len(bags) ** 2), len(bags)))
    together = lacking_together(tables, parents, children)
    alone = lacking_one_by_one(tables, parents, children)
    counters = [Counter(rows) for rows in bags]
    for place, (parent, child) in enumerate(zip(parents.tolist(), children.tolist(), strict=True)):
        rows = sum(count for row, count in counters[child].items() if row not in counters[parent])
        copies = (counters[child] - counters[parent]).total()
        assert (together.rows[place], together.copies[place]) == (rows, copies)
        assert (alone.rows[place], alone.copies[place]) == (rows, copies)


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), min_size=1), st.integers(0, 2**40))
def test_edges_and_counts_come_back_as_they_went(pairs: list[tuple[int, int]], first: int) -> None:
    one, other = np.array(sorted(pairs), np.int64).T.copy()
    there = unpack_edges(pack_edges(first, one, other))
    assert (there.first, there.one.tolist(), there.other.tolist()) == (first, one.tolist(), other.tolist())
    counts = list(unpack_counts(pack_counts(first, one, one + other) + pack_counts(0, one, one)))
    assert [(c.first, c.one.tolist(), c.other.tolist()) for c in counts] == [
        (first, one.tolist(), (one + other).tolist()),
        *([(0, one.tolist(), one.tolist())] if one.any() else []),
    ][not (one + other).any() :]


def test_a_table_without_rows_in_a_range_lacks_all_and_is_lacked_by_none() -> None:
    edges = pack_edges(5, np.array([1, 1, 3]), np.array([2, 3, 1]))
    blocks = {EDGES: [edges], 1: [to_bytes(block([1, 1, 2]))]}
    (counted,) = unpack_counts(count_group(0, blocks))
    assert (counted.first, counted.one.tolist(), counted.other.tolist()) == (5, [0, 0, 3], [0, 0, 3])
