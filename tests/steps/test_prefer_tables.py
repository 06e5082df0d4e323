"""Equal tables are told apart by the first rule that can."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest

from r2d2.model.graph import Check
from r2d2.model.proposal import Rule
from r2d2.model.scan import Scan
from r2d2.steps.prefer_tables import Preferences, edges_from_preferred, prefer_tables
from tests.support.priced_lakes import DAY_NS, NOW_NS, lake


def equal(*names: str) -> Scan:
    """Tables that all hold one another."""
    return lake(dict.fromkeys(names, 1.0), [(one, other) for one in names for other in names if one != other])


def preferred(scan: Scan, *, prefer: str = "", reads: list[float] | None = None) -> Preferences:
    return prefer_tables(scan, reads_per_month=reads, is_preferred=lambda name: name == prefer)


def aged(scan: Scan, name: str, days: float) -> Scan:
    tables = [
        replace(t, files=(replace(t.files[0], modified_ns=round(NOW_NS - days * DAY_NS)),)) if t.name == name else t
        for t in scan.tables
    ]
    return replace(scan, tables=tuple(tables))


# Each rule tells the two apart where the rules before it do not.
RULES = [
    (Rule.READS, equal("a", "x/old_b"), {"reads": [1.0, 2.0]}, "is read 2.0 times a month, a 1.0 times"),
    (Rule.PREFER, equal("a", "x/old_b"), {"prefer": "x/old_b"}, "matches --prefer"),
    (Rule.AGE, aged(equal("a", "x/old_b"), "x/old_b", 200), {}, "is older"),
    (Rule.DEPTH, equal("a/x/y", "old_b"), {}, "lies in fewer folders"),
    (Rule.NAME, equal("a_tmp", "b"), {}, "the name a_tmp says tmp"),
    (Rule.ALPHABET, equal("b", "a"), {}, "comes before b in the alphabet"),
]


@pytest.mark.parametrize(("rule", "scan", "asked", "says"), RULES, ids=[str(rule[0]) for rule in RULES])
def test_each_rule_decides_where_those_before_it_do_not(rule: Rule, scan: Scan, asked: dict, says: str) -> None:  # type: ignore[type-arg]
    found = preferred(scan, **asked)
    assert found.groups == ((1, 0),), "the second is preferred"
    why = found.why(kept=1, gone=0, must_keep={})
    assert (why.table, why.rule) == (scan.tables[1].name, rule) and says in why.because


def test_a_guard_and_the_cost_stand_above_the_rules() -> None:
    found = preferred(equal("a", "b"))
    assert found.why(kept=1, gone=0, must_keep={1: "it is protected"}).rule is Rule.GUARD
    assert found.why(kept=1, gone=0, must_keep={}).rule is Rule.COST


def test_only_tables_that_hold_one_another_with_every_copy_are_equal() -> None:
    assert preferred(lake({"a": 1.0, "b": 1.0}, [("a", "b")])).groups == ()
    scan = equal("a", "b")
    assert scan.graph is not None
    for column, kind, value in (("missing_copies", "q", 1), ("check", "B", Check.SAMPLED)):
        edges = replace(scan.graph.standing, **{column: array(kind, [value, value])})
        assert preferred(replace(scan, graph=replace(scan.graph, standing=edges))).groups == ()


def test_groups_are_apart_and_in_order() -> None:
    edges = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("b", "e")]
    found = preferred(lake(dict.fromkeys("abcde", 1.0), edges), prefer="d")
    assert found.groups == ((0, 1), (3, 2))
    assert found.group_of == {0: (0, 1), 1: (0, 1), 2: (3, 2), 3: (3, 2)}


def test_the_preferred_table_needs_recipes_for_the_children_of_its_equals() -> None:
    scan = lake(dict.fromkeys("abc", 1.0), [("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")])
    assert edges_from_preferred(scan, preferred(scan, prefer="b")) == {(1, 0), (1, 2)}
    assert edges_from_preferred(scan, preferred(scan)) == {(0, 1), (0, 2)}
