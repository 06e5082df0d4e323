"""The numbers of two tables rule a pair out if, and only if, their statistics do."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.containment import EXACT_BAG, EXACT_SET, Containment
from r2d2.model.profile import ColumnStats, TableProfile, Value
from r2d2.model.schema import Column, Schema
from r2d2.steps.edges.bounds import HIGH, LOW, NULLS, VALUES, LakeBounds, lake_bounds, witnesses

MOST_OF_IT = Containment(counts_copies=False, is_transitive=False, one_witness_refutes=False)
NUMBERS: list[Value] = [-(2**63), -2, 0, 0.5, 1, Decimal("1.5"), 2**53, float(2**53), 2**53 + 1, float("inf")]


@st.composite
def stats(draw: st.DrawFn, rows: int) -> ColumnStats:
    low, high = sorted(draw(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=2)))
    has_low, has_high = draw(st.booleans()), draw(st.booleans())
    return ColumnStats(
        draw(st.none() | st.integers(0, rows)),
        low if has_low else None,
        high if has_high else None,
        has_low and draw(st.booleans()),
        has_high and draw(st.booleans()),
    )


@st.composite
def lakes(draw: st.DrawFn) -> list[TableProfile]:
    """Tables of one or two columns of numbers, with whatever is known of them."""
    tables = []
    for number in range(draw(st.integers(1, 8))):
        rows = draw(st.integers(0, 3))
        schema = Schema.of(Column((name,), "int64") for name in draw(st.sampled_from(["x", "y", "xy"])))
        columns = tuple(draw(stats(rows)) for _ in schema.columns)
        tables.append(TableProfile(f"t{number}", schema, draw(st.sampled_from([rows, None])), 1, columns))
    return tables


def conflicts(parent: ColumnStats, parent_rows: int | None, child: ColumnStats, child_rows: int | None) -> set[int]:
    """The numbers by which a child's column cannot be in a parent's, from their statistics alone."""
    below = child.low_exact and None not in (child.low, parent.low) and child.low < parent.low  # type: ignore[operator]
    above = child.high_exact and None not in (child.high, parent.high) and child.high > parent.high  # type: ignore[operator]
    nulls = bool(child.nulls) and parent.nulls == 0
    only_nulls = parent.nulls is not None and parent.nulls == parent_rows
    values = only_nulls and child.holds_value(child_rows)
    return {number for number, conflict in ((LOW, below), (HIGH, above), (NULLS, nulls), (VALUES, values)) if conflict}


def slot(bounds: LakeBounds, table: int, name: str, tables: Sequence[TableProfile]) -> int:
    """Where the numbers of one column of one table stand."""
    schema = bounds.schema[table]
    (place,) = (
        place
        for place in range(int(bounds.width[schema]))
        if tables[table].schema.columns[bounds.column[bounds.schema_start[schema] + place]].token == (name,)
    )
    return int(bounds.start[table]) + place


@settings(max_examples=300)
@given(lakes())
def test_a_parents_number_is_above_the_childs_where_their_statistics_conflict(tables: list[TableProfile]) -> None:
    bounds = lake_bounds(tables, EXACT_SET)
    for p, parent in enumerate(tables):
        for c, child in enumerate(tables):
            for name in {*parent.schema.tokens} & {*child.schema.tokens}:
                ours = parent.stats[parent.schema.tokens.index(name)]
                theirs = child.stats[child.schema.tokens.index(name)]
                above = (
                    bounds.as_parent[slot(bounds, p, name[0], tables)]
                    > bounds.as_child[slot(bounds, c, name[0], tables)]
                )
                assert set(np.flatnonzero(above).tolist()) == conflicts(ours, parent.rows, theirs, child.rows)


@settings(max_examples=200)
@given(lakes(), st.sampled_from([EXACT_SET, EXACT_BAG]))
def test_row_counts_rule_out_more_rows_only_where_copies_count(
    tables: list[TableProfile], containment: Containment
) -> None:
    bounds = lake_bounds(tables, containment)
    for p, parent in enumerate(tables):
        for c, child in enumerate(tables):
            known = parent.rows is not None and child.rows is not None
            too_many = known and (
                child.rows > parent.rows if containment.counts_copies else parent.rows == 0 and child.rows > 0  # type: ignore[operator]
            )
            assert (bounds.rows_as_parent[p] > bounds.rows_as_child[c]) == too_many


@given(lakes())
def test_the_place_of_a_token_is_that_of_its_column(tables: list[TableProfile]) -> None:
    bounds = lake_bounds(tables, EXACT_SET)
    for schema in range(len(bounds.width)):
        places = np.arange(int(bounds.schema_start[schema]), int(bounds.schema_start[schema] + bounds.width[schema]))
        found = bounds.place_of(np.full(len(places), schema), bounds.token[places])
        assert found.tolist() == list(range(len(places)))


@given(lakes())
def test_where_one_missing_row_refutes_nothing_no_statistic_rules_a_pair_out(tables: list[TableProfile]) -> None:
    bounds = lake_bounds(tables, MOST_OF_IT)
    assert bounds.as_parent.max(initial=-1) < bounds.as_child.min(initial=0)
    assert [one.rows for one in witnesses(tables, MOST_OF_IT)] == [None] * len(tables)
    assert witnesses(tables, EXACT_SET) is tables


def test_columns_with_more_bounds_in_the_lake_are_looked_at_first() -> None:
    schema = Schema.of([Column(("dull",), "int64"), Column(("telling",), "int64")])
    tables = [
        TableProfile(str(n), schema, 9, 1, (ColumnStats(0, 0, 1, True, True), ColumnStats(0, n, n + 9, True, True)))
        for n in range(5)
    ]
    bounds = lake_bounds(tables, EXACT_SET)
    assert [schema.columns[place].token for place in bounds.column] == [("telling",), ("dull",)]
