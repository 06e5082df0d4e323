"""Few pairs are compared, every edge is answered, and each answer is what comparing every pair gives."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.containment import EXACT_BAG, EXACT_SET, Containment, Missing
from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.steps import verify_containment as verify_module
from r2d2.steps.edges.arrays import Ints
from r2d2.steps.edges.ledger import Counted, Pair, pairs_of
from r2d2.steps.verify_containment import drop_unreadable, verify_containment
from tests.support.pairs import NO_PAIRS

POLICIES = {False: EXACT_SET, True: EXACT_BAG}
SCHEMA = Schema((Column(("x",), "int64"),))


class Bags:
    """Tables as bags of letters, compared the obvious way; some cannot be read."""

    def __init__(self, bags: Sequence[Counter[str]], unreadable: frozenset[int] = frozenset()) -> None:
        self.bags = bags
        self.unreadable = unreadable
        self.uncounted: frozenset[int] = frozenset()  # tables whose metadata do not say how many rows they have
        self.rewritten: frozenset[int] = frozenset()  # tables that no other has the bytes of
        self.generous = False  # whether some pairs come along at no cost
        self.compared: list[Pair] = []

    def same_bytes(self, groups: Sequence[Sequence[int]]) -> Mapping[int, int]:
        """Of tables with the same rows, each in the same order, only some have the same bytes."""
        first: dict[int, int] = {}
        for group in groups:
            seen: dict[str, int] = {}
            for table in group:
                if table not in self.unreadable | self.rewritten:
                    first[table] = seen.setdefault(repr(sorted(self.bags[table].items())), table)
        return first

    def compare(self, pairs: Ints, *, at_no_cost: Ints = NO_PAIRS) -> Counted:
        assert (np.diff(pairs) > 0).all() and (np.diff(at_no_cost) > 0).all()
        assert not set(pairs.tolist()) & set(at_no_cost.tolist())
        asked, free = (pairs_of(some, len(self.bags)) for some in (pairs, at_no_cost))
        self.compared += asked
        along = free[1::2] if self.generous else []
        counted = {
            parent * len(self.bags) + child: self.missing(parent, child)
            for parent, child in [*asked, *along]
            if not self.unreadable & {parent, child}
        }
        return Counted.of(counted)

    def missing(self, parent: int, child: int) -> Missing:
        rows = sum(count for row, count in self.bags[child].items() if row not in self.bags[parent])
        return Missing(rows, (self.bags[child] - self.bags[parent]).total())

    def profiles(self) -> list[TableProfile]:
        rows = [None if n in self.uncounted else bag.total() for n, bag in enumerate(self.bags)]
        return [TableProfile(f"t{n}", SCHEMA, count, 1, (ColumnStats(),)) for n, count in enumerate(rows)]

    def graph(self, pairs: Sequence[Pair]) -> ContainmentGraph:
        ordered = sorted(pairs)
        edges = Edges.of(array("I", [p for p, _ in ordered]), array("I", [c for _, c in ordered]))
        return ContainmentGraph(tuple(f"t{n}" for n in range(len(self.bags))), edges, "prune_by_content")


@pytest.fixture(autouse=True, params=[0, verify_module.MOST_HASHES], ids=["by chains", "at once"])
def nothing_is_small(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(verify_module, "SMALL_ROWS", 0)
    monkeypatch.setattr(verify_module, "MOST_HASHES", request.param)


BAGS = st.lists(st.text("abcd", max_size=5).map(Counter), min_size=2, max_size=9)


@st.composite
def lakes(draw: st.DrawFn) -> tuple[Bags, list[Pair]]:
    """Bags, and candidate edges: all true ones among them, and some that are not."""
    content = Bags(draw(BAGS))
    content.generous = draw(st.booleans())
    content.rewritten = frozenset(draw(st.sets(st.integers(0, len(content.bags) - 1))))
    content.uncounted = frozenset(draw(st.sets(st.integers(0, len(content.bags) - 1))))
    everything = [(p, c) for p in range(len(content.bags)) for c in range(len(content.bags)) if p != c]
    doubtful = draw(st.sets(st.sampled_from(everything)))
    return content, [pair for pair in everything if pair in doubtful or content.missing(*pair)[0] == 0]


@settings(max_examples=600)
@given(lakes(), st.booleans())
def test_every_answer_is_what_comparing_every_pair_gives(lake: tuple[Bags, list[Pair]], bag: bool) -> None:
    content, pairs = lake
    result = verify_containment(
        content.graph(pairs), profiles=content.profiles(), content=content, containment=POLICIES[bag]
    )
    seen = set()
    for edges, stands in ((result.standing, True), (result.ruled_out, False)):
        for place, pair in enumerate(zip(edges.parents, edges.children, strict=True)):
            missing = content.missing(*pair)
            assert (edges.missing_rows[place], edges.missing_copies[place]) == missing
            assert stands == ((missing[1] if bag else missing[0]) == 0)
            seen.add(pair)
    assert seen == set(pairs)
    assert result.dropped.get("unreadable", 0) == 0


@dataclass(frozen=True)
class AtLeast(Containment):
    """Near-containment: the parent holds a share of the child's rows."""

    share: float = 0.5

    def holds(self, missing: Missing, *, rows: int | None) -> bool:
        return rows is not None and missing.rows <= (1 - self.share) * rows


@settings(max_examples=300)
@given(lakes())
def test_near_containment_is_judged_pair_by_pair(lake: tuple[Bags, list[Pair]]) -> None:
    content, pairs = lake
    half = AtLeast(counts_copies=False, is_transitive=False, one_witness_refutes=False)
    result = verify_containment(content.graph(pairs), profiles=content.profiles(), content=content, containment=half)
    for edges, stands in ((result.standing, True), (result.ruled_out, False)):
        for (parent, child), missing in zip(edges.pairs(), edges.missing(), strict=True):
            rows = content.bags[child].total()
            assert missing == content.missing(parent, child)
            held = sum(count for row, count in content.bags[child].items() if row in content.bags[parent])
            assert stands == (child not in content.uncounted and held >= rows / 2)
    assert sorted([*result.standing.pairs(), *result.ruled_out.pairs()]) == sorted(pairs)


def test_without_transitivity_no_pair_waits_for_a_chain() -> None:
    """A chain is asked link by link; what does not follow from its links is asked in the same round."""
    content = Bags([Counter("abcdefgh"[:size]) for size in range(8, 0, -1)])
    pairs = [(p, c) for p in range(8) for c in range(p + 1, 8)]
    half = AtLeast(counts_copies=False, is_transitive=False, one_witness_refutes=False)
    verify_containment(content.graph(pairs), profiles=content.profiles(), content=content, containment=half)
    assert sorted(content.compared) == pairs


@settings(max_examples=300)
@given(lakes())
def test_what_is_said_to_follow_names_a_table_that_lies_between(lake: tuple[Bags, list[Pair]]) -> None:
    content, pairs = lake
    edges = verify_containment(content.graph(pairs), profiles=content.profiles(), content=content).standing
    for parent, child, check, via in zip(edges.parents, edges.children, edges.check, edges.via, strict=True):
        if check == Check.IMPLIED:
            assert via not in (parent, child)
            assert content.missing(parent, via)[0] == 0
            assert content.missing(via, child)[0] == 0


@settings(max_examples=300)
@given(lakes(), st.data())
def test_a_table_that_cannot_be_read_has_no_proven_edge(lake: tuple[Bags, list[Pair]], data: st.DataObject) -> None:
    content, pairs = lake
    broken = frozenset(data.draw(st.sets(st.integers(0, len(content.bags) - 1), max_size=2)))
    content.unreadable = broken
    result = verify_containment(content.graph(pairs), profiles=content.profiles(), content=content)
    for parent, child in zip(result.standing.parents, result.standing.children, strict=True):
        assert content.missing(parent, child)[0] == 0
        empty = content.bags[child].total() == 0 and child not in content.uncounted
        assert empty or broken.isdisjoint((parent, child))
    left = drop_unreadable(result, {result.tables[number] for number in broken})
    stand = list(zip(left.standing.parents, left.standing.children, strict=True))
    before = list(zip(result.standing.parents, result.standing.children, strict=True))
    assert stand == [pair for pair in before if broken.isdisjoint(pair)]
    unread = "unreadable"
    assert left.dropped.get(unread, 0) - result.dropped.get(unread, 0) == len(before) - len(stand)


@settings(max_examples=600)
@given(lakes(), st.booleans(), st.data())
def test_what_was_proven_before_changes_no_answer(
    lake: tuple[Bags, list[Pair]], bag: bool, data: st.DataObject
) -> None:
    content, pairs = lake
    true = [pair for pair in pairs if content.missing(*pair)[0] == 0]
    known = data.draw(st.sets(st.sampled_from(true))) if true else set()
    asked = [pair for pair in pairs if pair not in known]
    result = verify_containment(
        content.graph(asked),
        profiles=content.profiles(),
        content=content,
        containment=POLICIES[bag],
        known={pair: content.missing(*pair) for pair in known},
    )
    seen = set()
    for edges, stands in ((result.standing, True), (result.ruled_out, False)):
        for place, pair in enumerate(zip(edges.parents, edges.children, strict=True)):
            missing = content.missing(*pair)
            assert (edges.missing_rows[place], edges.missing_copies[place]) == missing
            assert stands == ((missing[1] if bag else missing[0]) == 0)
            if edges.check[place] == Check.IMPLIED:
                assert edges.via[place] not in pair
                assert (
                    content.missing(pair[0], edges.via[place])[0] == content.missing(edges.via[place], pair[1])[0] == 0
                )
            seen.add(pair)
    assert seen == set(asked)
    assert not set(content.compared) & known


def test_what_follows_from_proven_edges_is_not_compared() -> None:
    content = Bags([Counter("abcd"), Counter("abc"), Counter("ab"), Counter("ab")])
    known = dict.fromkeys([(0, 1), (2, 3), (3, 2)], Missing())
    asked = [(0, 2), (0, 3), (1, 2), (1, 3)]
    result = verify_containment(content.graph(asked), profiles=content.profiles(), content=content, known=known)
    assert len(result) == 4
    assert len(content.compared) == 1


@pytest.mark.parametrize(("most_hashes", "compared"), [(verify_module.MOST_HASHES, 28), (0, 7)])
def test_a_chain_is_compared_at_once_or_if_that_is_dear_link_by_link_only(
    most_hashes: int, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_module, "MOST_HASHES", most_hashes)
    bags = [Counter("abcdefgh"[:size]) for size in range(8, 0, -1)]
    content = Bags(bags)
    pairs = [(p, c) for p in range(8) for c in range(p + 1, 8)]
    result = verify_containment(content.graph(pairs), profiles=content.profiles(), content=content)
    assert len(result) == 28
    assert len(content.compared) == compared


def test_tables_of_the_same_bytes_are_not_compared_at_all() -> None:
    content = Bags([Counter("aab")] * 6)
    pairs = [(p, c) for p in range(6) for c in range(6) if p != c]
    result = verify_containment(content.graph(pairs), profiles=content.profiles(), content=content)
    assert set(result.standing.check) == {Check.EQUAL}
    assert content.compared == []


def test_one_of_tables_with_the_same_bytes_is_compared_for_all() -> None:
    content = Bags([Counter("abc"), Counter("ab"), Counter("ab"), Counter("ab")])
    content.rewritten = frozenset([3])
    pairs = [(p, c) for p in range(4) for c in range(1, 4) if p != c]
    result = verify_containment(content.graph(pairs), profiles=content.profiles(), content=content)
    assert sorted(result.standing.pairs()) == sorted(pairs)
    assert set(content.compared) <= {(0, 1), (0, 3), (1, 3), (3, 1)}


def test_a_set_that_is_no_bag_is_counted_for_itself() -> None:
    content = Bags([Counter("ab"), Counter("aab"), Counter("aa")])  # as sets each holds the next; t0 lacks an a
    result = verify_containment(content.graph([(0, 1), (1, 2), (0, 2)]), profiles=content.profiles(), content=content)
    assert list(result.standing.missing_copies) == [1, 1, 0]
