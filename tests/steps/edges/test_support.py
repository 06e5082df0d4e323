"""Edges that follow from a third table stand only on chains that stand."""

from __future__ import annotations

from array import array

from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.graph import Check
from r2d2.steps.edges.support import founded
from tests.steps.edges.test_arrays import Row, edges_of, rows_of

TABLES = 6


@st.composite
def graphs(draw: st.DrawFn) -> list[Row]:
    """Edges that were compared or follow from others, by tables that may or may not lie between."""
    pairs = draw(
        st.sets(st.tuples(st.integers(0, TABLES - 1), st.integers(0, TABLES - 1)).filter(lambda p: p[0] != p[1]))
    )
    rows: list[Row] = []
    for parent, child in sorted(pairs):
        implied = draw(st.booleans())
        via = draw(st.integers(0, TABLES - 1).filter(lambda t: t not in (parent, child))) if implied else child  # noqa: B023
        check = Check.IMPLIED if implied else draw(st.sampled_from([Check.COMPARED, Check.EQUAL]))
        rows.append((parent, child, check, 0, draw(st.integers(0, 1)), via))
    return rows


def stands_on_a_chain(row: Row, rows: list[Row]) -> bool:
    """Whether both halves are among the rows; as bags, if the edge holds as a bag."""
    parent, child, _, _, copies, via = row
    halves = {(one[0], one[1]) for one in rows if copies or not one[4]}
    return {(parent, via), (via, child)} <= halves


@settings(max_examples=200)
@given(graphs())
def test_every_edge_that_stands_was_compared_or_has_its_chain(rows: list[Row]) -> None:
    since = array("I", range(len(rows)))
    standing, kept_since, unfounded = founded(edges_of(rows), since, TABLES)
    result = rows_of(standing)
    for row in result:
        assert row[2] != Check.IMPLIED or stands_on_a_chain(row, result)
    gone = set(unfounded.pairs())
    assert sorted([*standing.pairs(), *gone]) == [row[:2] for row in rows]
    assert [rows[place][:2] for place in kept_since] == list(standing.pairs())
    assert all(row[2] == Check.IMPLIED for row in rows if row[:2] in gone)
    kept = {row[:2]: row for row in result}
    for row in rows:
        if row[:2] in kept:
            assert row[2] == Check.IMPLIED or kept[row[:2]] == row  # what was compared is as it was
            assert kept[row[:2]][:5] == row[:5]  # another table may lie between, no more


@settings(max_examples=200)
@given(graphs())
def test_an_edge_goes_only_if_no_two_compared_edges_lead_through_one_table(rows: list[Row]) -> None:
    _, _, unfounded = founded(edges_of(rows), array("I", bytes(4 * len(rows))), TABLES)
    direct = [row for row in rows if row[2] != Check.IMPLIED]
    for row in rows:
        if row[:2] in set(unfounded.pairs()):
            assert not any(stands_on_a_chain((*row[:5], table), direct) for table in range(TABLES))  # type: ignore[arg-type]


@settings(max_examples=300)
@given(graphs(), st.sets(st.integers(0, TABLES - 1)))
def test_an_edge_of_a_table_that_cannot_be_asked_stays(rows: list[Row], unasked: set[int]) -> None:
    standing, _, unfounded = founded(edges_of(rows), array("I", bytes(4 * len(rows))), TABLES, unasked)
    assert not [pair for pair in unfounded.pairs() if unasked & set(pair)]
    assert {row[:2] for row in rows if unasked & set(row[:2])} <= set(standing.pairs())


def test_another_table_takes_the_place_of_one_that_is_no_longer_between() -> None:
    rows: list[Row] = [(0, 2, Check.COMPARED, 0, 0, 2), (0, 3, Check.IMPLIED, 0, 0, 1), (2, 3, Check.COMPARED, 0, 0, 3)]
    standing, _, unfounded = founded(edges_of(rows), array("I", [0, 0, 0]), 4)
    assert len(unfounded) == 0 and list(standing.via) == [2, 2, 3]


def test_a_broken_chain_breaks_those_that_stand_on_it() -> None:
    rows: list[Row] = [
        (0, 2, Check.IMPLIED, 0, 0, 1),  # by way of a table whose edges are gone …
        (0, 3, Check.IMPLIED, 0, 0, 2),  # … and this one by way of that
        (2, 3, Check.COMPARED, 0, 0, 3),
    ]
    standing, _, unfounded = founded(edges_of(rows), array("I", [0, 0, 0]), 4)
    assert list(standing.pairs()) == [(2, 3)] and list(unfounded.pairs()) == [(0, 2), (0, 3)]


def test_a_bag_does_not_stand_on_a_chain_of_sets() -> None:
    rows: list[Row] = [(0, 1, Check.COMPARED, 0, 1, 1), (0, 2, Check.IMPLIED, 0, 0, 1), (1, 2, Check.COMPARED, 0, 0, 2)]
    _, _, unfounded = founded(edges_of(rows), array("I", [0, 0, 0]), 3)
    assert list(unfounded.pairs()) == [(0, 2)]
