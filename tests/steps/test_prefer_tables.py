"""Of equal tables the one stays that the first telling rule names, and the rule is said."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.graph import Check
from r2d2.model.proposal import Rule
from r2d2.model.scan import Scan
from r2d2.steps.prefer_tables import Preferences, edges_from_preferred, passing_word, prefer_tables
from tests.support.priced_lakes import DAY_NS, lake

NAMES = ["gold/orders", "a_scratch", "orders", "x/y/orders_copy"]


def equal_lake(*names: str, days: dict[str, int] | None = None) -> Scan:
    """Tables that all hold one another; *days* says which day since 1970 each was written on."""
    scan = lake(dict.fromkeys(names, 1.0), list(permutations(names, 2)))
    tables = [
        replace(t, files=(replace(t.files[0], modified_ns=(days or {}).get(t.name, 100) * DAY_NS),))
        for t in scan.tables
    ]
    return replace(scan, tables=tuple(tables))


def preferences(scan: Scan, *, reads: list[float] | None = None, prefer: str = "") -> Preferences:
    return prefer_tables(scan, reads_per_month=reads, is_preferred=lambda name: name == prefer)


@settings(max_examples=200)
@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])))
def test_groups_are_the_tables_that_hold_one_another(pairs: set[tuple[int, int]]) -> None:
    names = [f"t{number}" for number in range(6)]
    scan = lake(dict.fromkeys(names, 1.0), [(names[p], names[c]) for p, c in pairs])
    group = {number: {number} for number in range(6)}
    for a, b in pairs:
        if (b, a) in pairs:
            joined = group[a] | group[b]
            for member in joined:
                group[member] = joined
    expected = {tuple(sorted(members)) for members in group.values() if len(members) > 1}
    assert set(preferences(scan).groups) == expected  # the alphabet orders them, nothing else tells them apart


@settings(max_examples=200)
@given(st.permutations(NAMES), st.data())
def test_the_first_of_a_group_wins_against_every_other_and_the_rule_says_why(
    names: list[str], data: st.DataObject
) -> None:
    days = {name: data.draw(st.integers(100, 102)) for name in names}
    reads = [data.draw(st.sampled_from([0.0, 1.0])) for _ in names]
    prefer = data.draw(st.sampled_from(["", *names]))
    scan = equal_lake(*names, days=days)
    chosen = preferences(scan, reads=reads, prefer=prefer)
    (group,) = chosen.groups
    for number in group[1:]:
        why = chosen.why(kept=group[0], gone=number, must_keep={})
        mine, its = names[group[0]], names[number]
        rules = [
            (Rule.READS, reads[group[0]] - reads[number]),
            (Rule.PREFER, (mine == prefer) - (its == prefer)),
            (Rule.AGE, days[its] - days[mine]),
            (Rule.DEPTH, its.count("/") - mine.count("/")),
            (Rule.NAME, bool(passing_word(its)) - bool(passing_word(mine))),
            (Rule.ALPHABET, 1 if mine < its else -1),
        ]
        rule, speaks_for = next((rule, difference) for rule, difference in rules if difference)
        assert speaks_for > 0 and why.rule is rule and why.table == mine


@pytest.mark.parametrize(
    ("given", "stays", "sentence"),
    [
        ({"days": {"gold/orders": 18_262, "a_scratch": 20_000}}, "gold/orders",
         "gold/orders is older: its first file is of 2020-01-01, that of a_scratch of 2024-10-04"),
        ({"reads": [1.0, 8.0]}, "a_scratch", "a_scratch is read 8.0 times a month, gold/orders 1.0 times"),
        ({"prefer": "a_scratch"}, "a_scratch", "a_scratch matches --prefer, gold/orders does not"),
        ({}, "a_scratch", "a_scratch lies in fewer folders than gold/orders"),
    ],
)  # fmt: skip
def test_the_sentence_names_both_tables(given: dict, stays: str, sentence: str) -> None:  # type: ignore[type-arg]
    scan = equal_lake("gold/orders", "a_scratch", days=given.pop("days", None))
    chosen = preferences(scan, **given)
    kept, gone = chosen.groups[0]
    assert scan.tables[kept].name == stays
    assert chosen.why(kept=kept, gone=gone, must_keep={}).because == sentence


def test_a_name_that_says_scratch_goes_before_the_alphabet_is_asked() -> None:
    chosen = preferences(equal_lake("a_tmp", "zebra"))
    assert chosen.groups == ((1, 0),)
    assert chosen.why(kept=1, gone=0, must_keep={}).because == "the name a_tmp says tmp"


def test_guards_and_cost_speak_before_the_rules() -> None:
    chosen = preferences(equal_lake("a", "b"))
    assert chosen.why(kept=1, gone=0, must_keep={1: "it is under legal hold"}).because == (
        "b must stay: it is under legal hold"
    )
    assert chosen.why(kept=1, gone=0, must_keep={}).rule is Rule.COST


def test_tables_that_lack_copies_or_were_only_sampled_are_not_equal() -> None:
    for column, value in (("missing_copies", 1), ("check", Check.SAMPLED)):
        scan = equal_lake("a", "b")
        assert scan.graph is not None
        changed = getattr(scan.graph.standing, column)[:]
        changed[0] = value
        standing = replace(scan.graph.standing, **{column: changed})
        assert preferences(replace(scan, graph=replace(scan.graph, standing=standing))).groups == ()


def test_the_preferred_table_serves_the_children_of_the_others() -> None:
    scan = lake(dict.fromkeys("abc", 1.0), [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")])
    assert edges_from_preferred(scan, preferences(scan)) == {(0, 1), (0, 2)}


def test_a_file_may_state_any_time() -> None:
    chosen = preferences(equal_lake("a", "b", days={"a": 10**9, "b": 3}))
    assert "1,000,000,000" in chosen.why(kept=1, gone=0, must_keep={}).because
