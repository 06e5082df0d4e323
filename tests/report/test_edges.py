"""Edges as rows."""

from __future__ import annotations

from r2d2.report.edges import EDGE_FIELDS, EdgeTable, dropped_edges, standing_edges
from tests.state.scans import plain_scan
from tests.support.priced_lakes import lake


def test_a_row_has_the_counts_of_its_edge_and_the_run_that_settled_it() -> None:
    (row,) = standing_edges(lake({"big": 2.0, "small": 1.0}, [("big", "small")]))
    assert (row.parent, row.child, row.containment, row.bag, row.missing_rows) == ("big", "small", 1.0, True, 0)
    assert row.because == "each of the child's 1,000 rows is in the parent"


def test_a_pair_that_metadata_left_has_no_counts() -> None:
    row = next(standing_edges(plain_scan(2)))
    assert (row.containment, row.bag, row.missing_rows, row.verdict) == (None, None, None, "POSSIBLE")
    assert not list(dropped_edges(plain_scan(2)))


def test_the_verdict_is_plain_text_in_the_document_and_fields_are_in_order() -> None:
    document = next(standing_edges(plain_scan(2))).to_json()
    assert tuple(document) == EDGE_FIELDS and type(document["verdict"]) is str


def test_a_notebook_shows_a_row_for_each_edge() -> None:
    table = EdgeTable(tuple(standing_edges(plain_scan(3))))
    assert len(table) == 6 and table._repr_html_().count("<tr>") == 7
