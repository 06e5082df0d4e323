"""Chains lead where the transitive closure says, and few edges are needed to prove all of them."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.steps.edges.chains import Chains, Pair, needed_edges, strong_components

PAIRS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]))


def reachable(edges: set[Pair]) -> set[Pair]:
    """Warshall's closure."""
    closed = set(edges)
    for middle in range(8):
        closed |= {(a, d) for a, b in closed for c, d in closed if b == c == middle}
    return closed


@settings(max_examples=300)
@given(PAIRS)
def test_chains_lead_where_the_closure_says(edges: set[Pair]) -> None:
    chains, closed = Chains(edges), reachable(edges)
    for start in range(8):
        for end in range(8):
            if start != end:
                assert chains.lead(start, end) == ((start, end) in closed)


@settings(max_examples=300)
@given(PAIRS, PAIRS)
def test_the_needed_edges_prove_all_the_others_if_they_hold(asked: set[Pair], proven: set[Pair]) -> None:
    chosen = needed_edges(asked, proven)
    assert chosen <= asked
    assert asked <= reachable(chosen | proven) | {(a, b) for a, b in asked if a == b}


@given(PAIRS)
def test_components_hold_what_leads_to_one_another_and_come_in_order(edges: set[Pair]) -> None:
    components, closed = strong_components(edges), reachable(edges)
    number = {table: place for place, tables in enumerate(components) for table in tables}
    for a in number:
        for b in number:
            if a != b:
                assert (number[a] == number[b]) == ((a, b) in closed and (b, a) in closed)
    for start, end in edges:
        assert number[end] <= number[start]


@settings(max_examples=300)
@given(PAIRS)
def test_a_stop_between_two_tables_lies_on_a_chain_between_them(edges: set[Pair]) -> None:
    chains, closed = Chains(edges), reachable(edges)
    for start, end in closed:
        if start != end:
            stop = chains.stop_between(start, end)
            assert stop == end or {(start, stop), (stop, end)} <= closed
            longer = any((start, middle) in edges and (middle, end) in closed for middle in range(8) if middle != end)
            assert (stop != end) == longer


ORDERED = st.sets(st.sampled_from(list(combinations(range(7), 2))))  # smaller to larger: no circles


@settings(max_examples=300)
@given(ORDERED)
def test_without_circles_the_needed_edges_are_the_transitive_reduction(edges: set[Pair]) -> None:
    needless = {
        (a, b) for a, b in edges if any((a, c) in reachable(edges) and (c, b) in reachable(edges) for c in range(8))
    }
    assert needed_edges(edges, ()) == edges - needless


def test_a_chain_needs_its_links_only() -> None:
    assert needed_edges(combinations(range(5), 2), ()) == {(0, 1), (1, 2), (2, 3), (3, 4)}


def test_tables_that_may_all_be_equal_are_linked_in_a_row_both_ways() -> None:
    every_pair = {(a, b) for a in range(4) for b in range(4) if a != b}
    assert needed_edges(every_pair, ()) == {(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)}


def test_a_proven_edge_is_not_asked_again() -> None:
    assert needed_edges({(0, 1), (0, 2)}, {(0, 1), (1, 2)}) == set()


def test_a_chain_of_many_thousand_tables_needs_no_recursion() -> None:
    links = [(number, number + 1) for number in range(20_000)]
    assert [component for component in strong_components(links) if len(component) > 1] == []
    assert [len(component) for component in strong_components([*links, (20_000, 0)])] == [20_001]
