"""What is found of one table is what comparing it with every other gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.rows.content import Looked
from r2d2.model.containment import EXACT_BAG, EXACT_SET, Containment, Missing
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.steps.edges.arrays import Ints
from r2d2.steps.edges.ledger import Counted, Pair, pairs_of
from r2d2.steps.find_similar import Sampled, Similar, compatible_pairs, find_similar
from r2d2.steps.prune_by_content import Probe, Rows
from tests.support.pairs import NO_PAIRS

ROWS = st.lists(st.sampled_from("abcde"), max_size=6)
LAKES = st.lists(ROWS, min_size=2, max_size=6)


class Letters:
    """Tables of letters in memory, read the obvious way; it keeps which pairs it was asked to compare."""

    def __init__(self, tables: Sequence[Sequence[str]]) -> None:
        self.bags = [Counter(rows) for rows in tables]
        self.compared: list[Pair] = []

    def take_samples(self, probes: Sequence[Probe]) -> Mapping[int, Rows]:
        return {
            probe.child: [(row, ord(row), ()) for row in sorted(self.bags[probe.child].elements())][: probe.rows]
            for probe in probes
        }

    def parts(self, table: int) -> int:
        return 100

    def look_for_rows(
        self,
        parents_of: Mapping[int, Sequence[int]],
        probes: Mapping[int, Probe],
        samples: Mapping[int, Rows],
        *,
        within: float = 1.0,
    ) -> Mapping[Pair, Looked]:
        wanted = {child: {text for text, *_ in rows} for child, rows in samples.items()}
        return {
            (parent, child): Looked(wanted[child], {text for text in wanted[child] if text in self.bags[parent]})
            for child, parents in parents_of.items()
            for parent in parents
        }

    def same_bytes(self, groups: Sequence[Sequence[int]]) -> Mapping[int, int]:
        return {}

    def compare(self, pairs: Ints, *, at_no_cost: Ints = NO_PAIRS) -> Counted:
        asked = pairs_of(pairs, len(self.bags))
        self.compared += asked
        return Counted.of({p * len(self.bags) + c: self.missing(p, c) for p, c in asked})

    def missing(self, parent: int, child: int) -> Missing:
        rows = sum(count for row, count in self.bags[child].items() if row not in self.bags[parent])
        return Missing(rows, (self.bags[child] - self.bags[parent]).total())

    def profiles(self) -> list[TableProfile]:
        schema = Schema((Column(("x",), "string"),))
        return [TableProfile(f"t{n}", schema, bag.total(), 1, (ColumnStats(),)) for n, bag in enumerate(self.bags)]


def similar(
    content: Letters,
    table: int = 0,
    *,
    containment: Containment = EXACT_SET,
    overlaps: frozenset[tuple[str, str]] = frozenset(),
    known: Mapping[Pair, Missing] | None = None,
    nearest: int = 9,
) -> Similar:
    profiles = content.profiles()
    return find_similar(
        compatible_pairs(profiles, table, containment),
        table,
        profiles=profiles,
        content=content,
        sampled=Sampled(100, 2),
        containment=containment,
        overlaps=overlaps,
        known=known or {},
        nearest=nearest,
    )


@settings(max_examples=300)
@given(LAKES, st.booleans())
def test_parents_children_and_equals_are_those_of_every_pair_compared(tables: list[list[str]], bag: bool) -> None:
    content = Letters(tables)
    found = similar(content, containment=EXACT_BAG if bag else EXACT_SET)
    others = range(1, len(tables))

    def holds(parent: int, child: int) -> bool:
        missing = content.missing(parent, child)
        return (missing.copies if bag else missing.rows) == 0

    assert dict(found.parents) == {t: content.missing(t, 0) for t in others if holds(t, 0)}
    assert dict(found.children) == {t: content.missing(0, t) for t in others if holds(0, t)}
    assert sorted(found.equal) == [t for t in others if content.bags[t] == content.bags[0]]


@settings(max_examples=300)
@given(LAKES)
def test_the_nearest_are_those_that_lack_fewest_rows_and_have_some(tables: list[list[str]]) -> None:
    content = Letters(tables)
    found = similar(content)
    some = {
        t: content.missing(t, 0)
        for t in range(1, len(tables))
        if 0 < content.missing(t, 0).rows < content.bags[0].total()
    }
    assert dict(found.nearest) == some
    assert list(found.nearest) == sorted(some, key=lambda t: (some[t], t))


@settings(max_examples=200)
@given(LAKES, st.data())
def test_what_is_known_of_the_others_changes_no_answer(tables: list[list[str]], data: st.DataObject) -> None:
    content = Letters(tables)
    others = [(p, c) for p in range(1, len(tables)) for c in range(1, len(tables)) if p != c]
    true = [pair for pair in others if content.missing(*pair).rows == 0]
    known = data.draw(st.sets(st.sampled_from(true))) if true else set()
    assert similar(content, known={pair: content.missing(*pair) for pair in known}) == similar(Letters(tables))


@pytest.mark.parametrize(("nearest", "found"), [(0, []), (1, [2]), (2, [2, 1])])
def test_as_many_are_named_as_are_wanted(nearest: int, found: list[int]) -> None:
    content = Letters(["abcd", "ab", "abc", "e"])
    assert list(similar(content, nearest=nearest).nearest) == found


def test_tables_that_share_files_are_not_compared() -> None:
    content = Letters(["abc", "abc", "ab"])
    found = similar(content, overlaps=frozenset({("t0", "t1")}))
    assert 1 not in found.parents and 1 not in found.nearest
    assert not [pair for pair in content.compared if set(pair) == {0, 1}]


def test_an_empty_table_has_parents_and_no_nearest() -> None:
    found = similar(Letters(["", "abc"]))
    assert list(found.parents) == [1] and not found.nearest and not found.children


def test_only_pairs_of_the_table_are_compatible() -> None:
    narrow = Schema((Column(("x",), "string"),))
    wide = Schema.of([Column(("x",), "string"), Column(("y",), "string")])
    profiles = [
        TableProfile(n, s, 1, 1, (ColumnStats(),) * len(s)) for n, s in (("a", narrow), ("b", wide), ("c", wide))
    ]
    graph = compatible_pairs(profiles, 0, EXACT_SET)
    pairs = {(p, c) for a, b in graph.family_edges() for p in graph.families[a] for c in graph.families[b] if p != c}
    assert pairs == {(1, 0), (2, 0)}
