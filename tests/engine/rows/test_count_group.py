"""Edges are packed without loss, and counted together as they are one by one."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.kernels import HashBlock, block_of, to_bytes
from r2d2.engine.rows.asked_edges import EDGES, pack_counts, pack_edges, unpack_counts, unpack_edges
from r2d2.engine.rows.count_group import count_group, first_of_equal, lacking
from r2d2.engine.run.exchange import InMemory
from tests.engine.kernels.test_compiled import loops

BAGS = st.lists(st.lists(st.integers(0, 6), max_size=8), min_size=1, max_size=7)


def block(rows: list[int]) -> HashBlock:
    """A block whose rows share their first half now and then."""
    return block_of(np.array([[row // 2 for row in rows], rows], np.uint64).reshape(2, -1))


@settings(max_examples=400)
@given(BAGS, st.randoms(), st.booleans())
def test_every_parent_lacks_what_a_counter_says_whatever_the_order_of_the_edges(
    bags: list[list[int]], random: Random, compiled: bool
) -> None:
    counters = [Counter(rows) for rows in bags]
    edges = random.sample(range(len(bags) ** 2), random.randint(0, len(bags) ** 2))
    parents, children = np.divmod(np.array(edges, np.int64), len(bags))
    with loops(compiled):
        tables = [block(rows) for rows in bags]
        found = lacking(tables, first_of_equal(tables), parents, children)
    for place, (parent, child) in enumerate(zip(parents.tolist(), children.tolist(), strict=True)):
        rows = sum(count for row, count in counters[child].items() if row not in counters[parent])
        copies = (counters[child] - counters[parent]).total()
        assert (found.rows[place], found.copies[place]) == (rows, copies)


@given(BAGS)
def test_tables_are_equal_to_the_first_that_has_their_rows_as_often(bags: list[list[int]]) -> None:
    first = first_of_equal([block(rows) for rows in bags])
    assert first.tolist() == [[sorted(other) for other in bags].index(sorted(rows)) for rows in bags]


def test_a_chain_proves_what_is_not_compared() -> None:
    """Copies break a chain: what holds as a set only proves nothing."""
    bags = [[1, 1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 1, 2, 3, 4]]
    every = np.divmod(np.arange(16), 4)
    with loops(compiled=True):
        tables = [block(rows) for rows in bags]
        found = lacking(tables, np.arange(4), *every)
    assert found.rows.reshape(4, 4).tolist() == [[0, 1, 2, 2], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert found.copies.reshape(4, 4).tolist() == [[0, 1, 2, 2], [1, 0, 1, 2], [1, 0, 0, 1], [0, 0, 0, 0]]


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
    blocks = {EDGES: [InMemory(edges)], 1: [InMemory(to_bytes(block([1, 1, 2])))]}
    (counted,) = unpack_counts(count_group(0, blocks))
    assert (counted.first, counted.one.tolist(), counted.other.tolist()) == (5, [0, 0, 3], [0, 0, 3])
