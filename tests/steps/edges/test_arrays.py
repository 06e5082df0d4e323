"""Edges as arrays: chosen, ordered and looked up as lists of pairs would be."""

from __future__ import annotations

from array import array

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from r2d2.model.graph import Check, Edges
from r2d2.steps.edges.arrays import NO_EDGES, among, as_array, ints, keys, order, ordered, take

Row = tuple[int, int, int, int, int, int]
TABLE = st.integers(0, 9)
COUNT = st.integers(-1, 2**40)
ROWS = st.lists(st.tuples(TABLE, TABLE, st.sampled_from(list(Check)), COUNT, COUNT, TABLE), unique_by=lambda r: r[:2])


def edges_of(rows: list[Row]) -> Edges:
    columns = zip(*rows, strict=True) if rows else ((),) * 6
    return Edges(*(array(code, column) for code, column in zip("IIBqqI", columns, strict=True)))


def rows_of(edges: Edges) -> list[Row]:
    return list(zip(*edges.columns, strict=True))  # type: ignore[arg-type]


@given(ROWS)
def test_ordered_edges_are_sorted_by_parent_and_child_with_all_their_columns(rows: list[Row]) -> None:
    assert rows_of(ordered(edges_of(rows))) == sorted(rows, key=lambda row: row[:2])


@given(ROWS)
def test_the_order_names_places(rows: list[Row]) -> None:
    assert [rows[place][:2] for place in order(edges_of(rows)).tolist()] == sorted(row[:2] for row in rows)


@given(ROWS, st.data())
def test_taken_edges_are_those_at_the_places_in_that_order(rows: list[Row], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    expected = [rows[place] for place in places]
    assert rows_of(take(edges_of(rows), places)) == expected
    assert rows_of(take(edges_of(rows), np.array(places, dtype=np.intp))) == expected
    assert [column.typecode for column in take(edges_of(rows), places).columns] == list("IIBqqI")


@given(ROWS)
def test_each_pair_is_a_number_of_its_own(rows: list[Row]) -> None:
    numbers = keys(edges_of(rows), 10).tolist()
    assert [divmod(number, 10) for number in numbers] == [row[:2] for row in rows]


@given(st.lists(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_numbers_are_found_among_ascending_ones_as_in_a_set(wanted: list[int], known: set[int]) -> None:
    found = among(np.array(wanted, np.int64), np.array(sorted(known), np.int64))
    assert found.tolist() == [number in known for number in wanted]


@given(st.lists(st.integers(0, 2**32 - 1)), st.lists(st.integers(0, 255)))
def test_a_column_survives_the_way_there_and_back(tables: list[int], checks: list[int]) -> None:
    for code, values in (("I", tables), ("B", checks)):
        column = array(code, values)
        assert as_array(code, ints(column)) == column


def test_pairs_of_a_large_lake_are_numbered_without_overflow() -> None:
    edges = Edges.of(array("I", [10**9]), array("I", [7]))
    assert keys(edges, 10**9 + 1).tolist() == [10**9 * (10**9 + 1) + 7]


def test_no_edges_have_columns_of_the_usual_types() -> None:
    assert rows_of(NO_EDGES) == []
    assert rows_of(ordered(NO_EDGES)) == rows_of(take(NO_EDGES, [])) == []
