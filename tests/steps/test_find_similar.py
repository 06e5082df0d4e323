"""A table's place among others is what counting every row gives."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.model.containment import EXACT_BAG, EXACT_SET, Missing
from r2d2.steps.find_similar import Sampled, Similar, compatible_pairs, find_similar
from r2d2.steps.prune_by_content import Probe
from tests.steps.test_verify_containment import Bags

Rows = list[tuple[str, object, str, int]]


class Letters(Bags):
    """Tables as bags of letters; samples are taken of the first rows in the alphabet."""

    def take_samples(self, probes: list[Probe]) -> dict[int, Rows]:
        return {
            probe.child: [(row, row, "", 0) for row in sorted(self.bags[probe.child].elements())[: probe.rows]]
            for probe in probes
            if probe.child not in self.unreadable
        }

    def look_for_rows(
        self, parents_of: dict[int, list[int]], probes: dict[int, Probe], samples: dict[int, Rows]
    ) -> dict[tuple[int, int], set[str]]:
        return {
            (parent, child): {row for row, *_ in samples[child] if row in self.bags[parent]}
            for child, parents in parents_of.items()
            for parent in parents
            if parent not in self.unreadable
        }

    def at_hand(self, table: int, columns: object) -> bool:
        return False


def similar(*texts: str, nearest: int = 5, bag: bool = False, unreadable: frozenset[int] = frozenset()) -> Similar:
    """The last of some tables among the others."""
    content = Letters([Counter(text) for text in texts], unreadable)
    profiles, mine = content.profiles(), len(texts) - 1
    containment = EXACT_BAG if bag else EXACT_SET
    return find_similar(
        compatible_pairs(profiles, mine, containment),
        mine,
        profiles=profiles,
        content=content,  # type: ignore[arg-type]
        sampled=Sampled(3, 4),
        containment=containment,
        overlaps=frozenset(),
        known={},
        nearest=nearest,
    )


def test_who_holds_it_whom_it_holds_and_who_comes_nearest() -> None:
    found = similar("abcd", "a", "abx", "ab")
    assert set(found.parents) == {0, 2} and set(found.children) == {1}
    partly = similar("abc", "axx", "abd")
    assert list(partly.nearest) == [0, 1] and partly.nearest[0] == Missing(1, 1), "the most rows first"
    assert list(similar("abc", "axx", "abd", nearest=1).nearest) == [0]
    assert not similar("abc", "axx", "abd", nearest=0).nearest


def test_equal_tables_have_every_copy() -> None:
    assert similar("aab", "ab", "aab").equal == [0]
    assert set(similar("ab", "aab").parents) == {0} and similar("ab", "aab").equal == []
    assert not similar("ab", "aab", bag=True).parents


def test_a_table_that_cannot_be_read_is_in_no_answer() -> None:
    found = similar("abc", "abc", "ab", unreadable=frozenset({0}))
    assert set(found.parents) == {1}


@given(st.lists(st.text("abcd", max_size=5), min_size=2, max_size=7))
def test_what_is_found_is_what_counting_every_row_gives(texts: list[str]) -> None:
    found = similar(*texts)
    bags = [Counter(text) for text in texts]
    mine = bags[-1]
    assert set(found.parents) == {n for n, bag in enumerate(bags[:-1]) if set(mine) <= set(bag)}
    assert set(found.children) == {n for n, bag in enumerate(bags[:-1]) if set(bag) <= set(mine)}
    assert not found.nearest.keys() & found.parents.keys()


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the tiny tables here as if comparing two were work."""
    from r2d2.steps import verify_containment

    monkeypatch.setattr(verify_containment, "SMALL_ROWS", 0)
