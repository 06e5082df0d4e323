"""Two profiles rule a pair out only if no rows with these profiles could be contained, and say why."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.containment import EXACT_BAG, EXACT_SET
from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.steps.edges.compare_profiles import compare_profiles, compare_ranges, compare_schemas

Rows = list[tuple[int | None, ...]]
SCHEMA = Schema.of([Column(("x",), "int64"), Column(("y",), "int64")])
VALUE = st.none() | st.integers(-3, 3)
ROWS: st.SearchStrategy[Rows] = st.lists(st.tuples(VALUE, VALUE), max_size=6)


@st.composite
def profiled(draw: st.DrawFn, rows: Rows) -> TableProfile:
    """A true profile of some rows, from which anything may be left out or made wider."""
    columns = []
    for values in ([row[0] for row in rows], [row[1] for row in rows]):
        present = [value for value in values if value is not None]
        if not present or draw(st.booleans()):
            columns.append(ColumnStats(draw(st.sampled_from([None, len(values) - len(present)]))))
            continue
        below, above = draw(st.integers(0, 1)), draw(st.integers(0, 1))
        nulls = draw(st.sampled_from([None, len(values) - len(present)]))
        columns.append(ColumnStats(nulls, min(present) - below, max(present) + above, below == 0, above == 0))
    return TableProfile("t", SCHEMA, draw(st.sampled_from([None, len(rows)])), 1, tuple(columns))


@settings(max_examples=500)
@given(ROWS, st.data(), st.booleans())
def test_a_contained_table_is_never_ruled_out(rows: Rows, data: st.DataObject, bag: bool) -> None:
    some = data.draw(st.lists(st.sampled_from(rows), unique=True)) if rows else []
    if bag:
        some = [row for place, row in enumerate(rows) if place in data.draw(st.sets(st.integers(0, 5)))]
    parent, child = data.draw(profiled(rows)), data.draw(profiled(some))
    evidence = compare_profiles(parent=parent, child=child, containment=EXACT_BAG if bag else EXACT_SET)
    assert evidence.verdict is Verdict.POSSIBLE, evidence.because


@settings(max_examples=300)
@given(ROWS, ROWS, st.data())
def test_what_is_ruled_out_is_not_contained(rows: Rows, other: Rows, data: st.DataObject) -> None:
    evidence = compare_ranges(parent=data.draw(profiled(rows)), child=data.draw(profiled(other)))
    assert evidence.verdict is not Verdict.IMPOSSIBLE or not set(other) <= set(rows)


def one(stats: ColumnStats, *, rows: int | None = 5, type_name: str = "int64") -> TableProfile:
    return TableProfile("t", Schema((Column(("x",), type_name),)), rows, 1, (stats,))


def because(evidence: Evidence) -> tuple[str, str]:
    return evidence.check, evidence.because


def test_schemas_speak_first() -> None:
    text, number = one(ColumnStats(0), type_name="string"), one(ColumnStats(0, 1, 9, True, True))
    evidence = compare_profiles(parent=text, child=number)
    assert because(evidence) == ("build_schema_graph", "column x is int64 in the child and string in the parent")
    assert evidence.verdict is Verdict.IMPOSSIBLE


def test_a_schema_that_fits_says_how_many_columns_it_has() -> None:
    alone, both = one(ColumnStats()), TableProfile("p", SCHEMA, 1, 1, (ColumnStats(), ColumnStats()))
    assert compare_schemas(parent=both, child=alone).because == "the parent has the one column of the child"
    assert compare_schemas(parent=both, child=both).because == "the parent has all 2 columns of the child"


def test_the_first_reason_is_given_and_the_others_are_counted() -> None:
    parent, child = one(ColumnStats(0, 1, 3, True, True)), one(ColumnStats(2, 0, 3, True, True))
    assert compare_ranges(parent=parent, child=child).because == (
        "column x: the child holds 0, outside the parent's range; child 0 … 3, parent 1 … 3 (and 1 more reason)"
    )


def test_nulls_and_values_are_told_apart() -> None:
    nulls, values = one(ColumnStats(5)), one(ColumnStats(0, 1, 3, True, True))
    assert compare_ranges(parent=values, child=nulls).because == "column x: the child has 5 NULLs, the parent none"
    assert compare_ranges(parent=nulls, child=values).because == (
        "column x: the parent has only NULLs, the child has values"
    )


def test_an_empty_parent_holds_an_empty_child_only() -> None:
    empty, full = one(ColumnStats(0), rows=0), one(ColumnStats(0, 1, 2, True, True))
    assert compare_ranges(parent=empty, child=full).because.startswith("the parent is empty and the child is not")
    assert because(compare_ranges(parent=empty, child=empty)) == ("prune_by_minmax", "the child is empty")


def test_more_rows_rule_a_bag_out() -> None:
    parent, child = one(ColumnStats(), rows=5), one(ColumnStats(), rows=1_000)
    assert compare_ranges(parent=parent, child=child).verdict is Verdict.POSSIBLE
    assert compare_ranges(parent=parent, child=child, containment=EXACT_BAG).because == (
        "the child has 1,000 rows, more than the parent's 5"
    )


def test_where_nothing_speaks_against_it_the_exact_bounds_are_counted() -> None:
    parent, child = one(ColumnStats(0, 0, 9)), one(ColumnStats(0, 1, 2, True, False))
    assert compare_ranges(parent=parent, child=child).because == (
        "no range or null count rules it out (exact bounds for 1 of 1 column)"
    )
