"""The ledger's arrays say what the obvious form says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.containment import Missing
from r2d2.steps.edges.chains import Chains, strong_components
from r2d2.steps.edges.ledger import Counted, Pair, lookalikes, without
from tests.support.pairs import by_pair, numbers

TABLES = 7
PAIRS = st.sets(st.tuples(st.integers(0, TABLES - 1), st.integers(0, TABLES - 1)).filter(lambda p: p[0] != p[1]))
SIZES = st.lists(st.integers(-1, 2), min_size=TABLES, max_size=TABLES)
COUNTS = st.dictionaries(st.integers(0, 20), st.builds(Missing, st.integers(0, 5), st.integers(5, 9)))


@settings(max_examples=500)
@given(PAIRS, SIZES, SIZES)
def test_lookalikes_hold_one_another_and_are_of_one_size(pairs: set[Pair], rows: list[int], width: list[int]) -> None:
    groups = lookalikes(numbers(pairs, TABLES), np.array(rows), np.array(width))
    group_of = {table: group[0] for group in groups for table in group}
    assert sum(map(len, groups)) == len(group_of), "no table is in two groups"
    component = {table: n for n, tables in enumerate(strong_components(pairs)) for table in tables}
    for group in groups:
        assert len(group) > 1
        assert len({(component[table], rows[table], width[table]) for table in group}) == 1
        assert rows[group[0]] != 0
        assert group == sorted(group)
    for one, other in pairs:
        if (other, one) in pairs and (rows[one], width[one]) == (rows[other], width[other]) and rows[one]:
            assert group_of[one] == group_of[other]


@given(PAIRS, PAIRS)
def test_pairs_that_a_chain_joins_are_taken_out(edges: set[Pair], asked: set[Pair]) -> None:
    pairs = sorted(asked)
    chains = Chains(edges)
    flags = without(chains, np.ones(len(pairs), np.bool_), numbers(pairs, TABLES), TABLES)
    assert flags.tolist() == [not chains.lead(*pair) for pair in pairs]


@given(COUNTS, COUNTS)
def test_counts_of_a_pair_that_is_known_stay(known: dict[int, Missing], more: dict[int, Missing]) -> None:
    both = Counted.of(known).and_also(Counted.of(more))
    assert by_pair(both, 100) == by_pair(Counted.of(more | known), 100)
    assert (np.diff(both.pairs) > 0).all()
