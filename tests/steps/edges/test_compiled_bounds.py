"""The compiled loop of min-max pruning drops what the NumPy form drops, and counts it by the same rules."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.containment import EXACT_BAG, EXACT_SET, Containment
from r2d2.model.graph import ContainmentGraph
from r2d2.model.profile import TableProfile
from r2d2.steps import prune_by_minmax as step
from r2d2.steps.build_schema_graph import build_schema_graph
from tests.steps.test_prune_by_minmax import lakes

NAMES = st.integers(0, 9).map("t{}".format)


def pruned(
    tables: Sequence[TableProfile], overlaps: frozenset[tuple[str, str]], containment: Containment, *, compiled: bool
) -> ContainmentGraph:
    with pytest.MonkeyPatch.context() as patch:
        step.LOOPS.load()
        patch.setattr(step.LOOPS, "compiled", step.LOOPS.compiled if compiled else None)
        return step.prune_by_minmax(
            build_schema_graph(tables, containment), profiles=tables, overlaps=overlaps, containment=containment
        )


@settings(max_examples=500)
@given(
    lakes(),
    st.sets(st.tuples(NAMES, NAMES).filter(lambda pair: pair[0] < pair[1]), max_size=6),
    st.sampled_from([EXACT_SET, EXACT_BAG]),
    st.sampled_from([1, 7, 1 << 20]),
)
def test_both_forms_keep_the_same_pairs_and_give_the_same_reasons(
    tables: list[TableProfile], overlaps: set[tuple[str, str]], containment: Containment, at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, "PAIRS_AT_ONCE", at_once)
        both = [pruned(tables, frozenset(overlaps), containment, compiled=compiled) for compiled in (False, True)]
    assert both[0].standing == both[1].standing
    assert both[0].dropped == both[1].dropped
