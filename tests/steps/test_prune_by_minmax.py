"""Min-max pruning on arrays says what the one-pair form says, and neither drops a true edge."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.containment import EXACT_BAG, EXACT_SET, Containment
from r2d2.model.evidence import Verdict
from r2d2.model.profile import ColumnStats, TableProfile, Value
from r2d2.model.schema import Column, Schema
from r2d2.steps import prune_by_minmax as module
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.edges.compare_profiles import compare_profiles
from r2d2.steps.prune_by_minmax import judge_pairs, prune_by_minmax


@pytest.fixture(autouse=True, params=[False, True], ids=["numpy", "compiled"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the loop over pairs."""
    if request.param:
        module.LOOPS.load()
        assert module.LOOPS.compiled, "Numba is installed where tests run"
    monkeypatch.setattr(module.LOOPS, "compiled", module.LOOPS.compiled if request.param else None)


MOST_OF_IT = Containment(counts_copies=False, is_transitive=False, one_witness_refutes=False)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, -(2**63), 2**64 - 1]),
    st.sampled_from([0.0, -0.0, 0.5, float(2**53), float("inf"), float("-inf"), 1e300]),
    st.sampled_from([Decimal("0.50"), Decimal("9007199254740993"), Decimal("-2")]),
)
TEXTS = st.sampled_from([b"", b"a", b"ab", b"\xff", b"a" * 100])


@st.composite
def stats(draw: st.DrawFn, type_name: str, rows: int) -> ColumnStats:
    nulls = draw(st.none() | st.integers(0, rows))
    bounds: list[Value] = sorted(draw(st.lists(TEXTS if type_name == "string" else NUMBERS, min_size=2, max_size=2)))
    low, high = (None if draw(st.booleans()) and draw(st.booleans()) else bound for bound in bounds)
    return ColumnStats(
        nulls, low, high, low is not None and draw(st.booleans()), high is not None and draw(st.booleans())
    )


@st.composite
def lakes(draw: st.DrawFn) -> list[TableProfile]:
    tables = []
    for number in range(draw(st.integers(0, 10))):
        rows = draw(st.integers(0, 3))
        known_rows = draw(st.sampled_from([rows, rows, None]))
        names = draw(st.sets(st.sampled_from("abc"), max_size=3))
        schema = Schema.of(Column((n,), draw(st.sampled_from(["int64", "float64", "string"]))) for n in names)
        columns = tuple(draw(stats(column.type_name, rows)) for column in schema.columns)
        tables.append(TableProfile(f"t{number}", schema, known_rows, 10, columns))
    return tables


@settings(max_examples=500)
@given(lakes(), st.sampled_from([EXACT_SET, EXACT_BAG, MOST_OF_IT]), st.sampled_from([1, 7, 1 << 20]))
def test_the_arrays_say_what_the_one_pair_form_says(
    tables: Sequence[TableProfile], containment: Containment, at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRS_AT_ONCE", at_once)
        pruned = prune_by_minmax(build_schema_graph(tables, containment), profiles=tables, containment=containment)
    expected = {
        (parent.table, child.table)
        for parent in tables
        for child in tables
        if parent is not child
        and compare_profiles(parent=parent, child=child, containment=containment).verdict is not Verdict.IMPOSSIBLE
    }
    assert set(pruned.edges()) == expected
    assert len(pruned) == len(expected)
    schema_graph = build_schema_graph(tables, containment)
    assert sum(pruned.dropped.values()) == schema_graph.edge_count - len(pruned)


@settings(max_examples=200)
@given(lakes())
def test_every_dropped_pair_comes_with_its_rule_and_column(tables: Sequence[TableProfile]) -> None:
    for _, dropped in judge_pairs(build_schema_graph(tables), profiles=tables):
        for parent, child, rule, column in zip(
            dropped.parents, dropped.children, dropped.rules, dropped.columns, strict=True
        ):
            evidence = compare_profiles(parent=tables[parent], child=tables[child])
            assert evidence.verdict is Verdict.IMPOSSIBLE
            if module.RULES[rule] in ("range", "nulls"):
                assert 0 <= column < len(tables[child].schema)


def one_column(
    name: str,
    low: Value | None,
    high: Value | None,
    *,
    exact: bool = True,
    nulls: int | None = 0,
    type_name: str = "int64",
) -> TableProfile:
    bounds = ColumnStats(nulls, low, high, exact and low is not None, exact and high is not None)
    return TableProfile(name, Schema((Column(("x",), type_name),)), 5, 10, (bounds,))


def edges(*tables: TableProfile, **options: object) -> set[tuple[str, str]]:
    return set(prune_by_minmax(build_schema_graph(tables), profiles=tables, **options).edges())  # type: ignore[arg-type]


def test_a_range_inside_stands_and_a_range_outside_goes() -> None:
    wide, narrow = one_column("wide", 0, 10), one_column("narrow", 2, 5)
    assert edges(wide, narrow) == {("wide", "narrow")}
    reason = compare_profiles(parent=narrow, child=wide).because
    assert reason == "column x: the child holds 0, outside the parent's range; child 0 … 10, parent 2 … 5"


def test_a_bound_of_the_child_that_may_be_cut_prunes_nothing() -> None:
    assert ("p", "c") in edges(one_column("p", 5, 6), one_column("c", 0, 10, exact=False))


def test_a_valid_bound_of_the_parent_prunes_even_if_it_is_not_exact() -> None:
    assert ("p", "c") not in edges(one_column("p", 5, 6, exact=False), one_column("c", 0, 10))


def test_two_to_the_53_plus_one_is_not_the_double_beside_it() -> None:
    doubles = one_column("p", 0.0, float(2**53), type_name="float64")
    assert ("p", "c") not in edges(doubles, one_column("c", 0, 2**53 + 1))
    assert ("p", "d") in edges(doubles, one_column("d", 0, 2**53))


def test_a_null_in_the_child_needs_one_in_the_parent() -> None:
    assert ("p", "c") not in edges(one_column("p", 0, 9, nulls=0), one_column("c", 1, 2, nulls=1))
    assert ("p", "c") in edges(one_column("p", 0, 9, nulls=None), one_column("c", 1, 2, nulls=1))


def test_an_empty_parent_holds_only_what_is_empty() -> None:
    schema = Schema((Column(("x",), "int64"),))
    empty = TableProfile("empty", schema, 0, 0, (ColumnStats(nulls=0),))
    also = TableProfile("also", schema, 0, 0, (ColumnStats(nulls=0),))
    assert edges(empty, also, one_column("full", 1, 2)) == {
        ("empty", "also"),
        ("also", "empty"),
        ("full", "empty"),
        ("full", "also"),
    }


def test_more_rows_than_the_parent_go_only_when_copies_count() -> None:
    parent = one_column("p", 0, 9)
    child = TableProfile("c", parent.schema, 50, 10, parent.stats)
    assert ("p", "c") in edges(parent, child)
    assert ("p", "c") not in edges(parent, child, containment=EXACT_BAG)


def test_tables_that_share_files_have_no_edge() -> None:
    a, b, c = one_column("a", 0, 9), one_column("b", 0, 9), one_column("c", 0, 9)
    assert edges(a, b, c, overlaps=frozenset({("a", "b")})) == {("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")}
