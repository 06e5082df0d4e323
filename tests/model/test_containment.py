"""The exact policies say what sets and bags say, and the shortcuts that they allow are sound."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.model.containment import EXACT_BAG, EXACT_SET, Containment, Missing

BAGS = st.text("abc", max_size=5).map(Counter)
POLICIES = pytest.mark.parametrize("policy", [EXACT_SET, EXACT_BAG], ids=["set", "bag"])


def missing(parent: Counter[str], child: Counter[str]) -> Missing:
    return Missing(
        rows=sum(count for row, count in child.items() if row not in parent), copies=(child - parent).total()
    )


def holds(policy: Containment, parent: Counter[str], child: Counter[str]) -> bool:
    return policy.holds(missing(parent, child), rows=child.total())


@given(BAGS, BAGS)
def test_they_are_containment_of_sets_and_of_bags(parent: Counter[str], child: Counter[str]) -> None:
    assert holds(EXACT_SET, parent, child) == (set(child) <= set(parent))
    assert holds(EXACT_BAG, parent, child) == (child <= parent)


@POLICIES
@given(a=BAGS, b=BAGS, c=BAGS)
def test_a_chain_proves_the_edge_from_its_first_to_its_last(
    policy: Containment, a: Counter[str], b: Counter[str], c: Counter[str]
) -> None:
    assert policy.is_transitive
    assert holds(policy, a, c) or not (holds(policy, a, b) and holds(policy, b, c))


@POLICIES
@given(parent=BAGS, child=BAGS)
def test_one_row_that_the_parent_lacks_refutes(policy: Containment, parent: Counter[str], child: Counter[str]) -> None:
    assert policy.one_witness_refutes
    if any(row not in parent for row in child):
        assert not holds(policy, parent, child)


@POLICIES
@given(parent=BAGS, child=BAGS)
def test_an_unknown_number_of_rows_changes_nothing(
    policy: Containment, parent: Counter[str], child: Counter[str]
) -> None:
    counts = missing(parent, child)
    assert policy.holds(counts, rows=None) == policy.holds(counts, rows=child.total())
