"""Deleted tables leave a scan without a trace; the edges between the others stand as they did."""

from __future__ import annotations

from array import array
from dataclasses import replace

from r2d2.model.graph import Check
from r2d2.model.table import Absent
from r2d2.steps.leave_out_absent import leave_out_absent
from tests.support.priced_lakes import lake

SCAN = lake({"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, [("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("c", "d")])


def test_a_scan_without_deleted_tables_stays_as_it_is() -> None:
    same = leave_out_absent(SCAN)
    assert same.tables is SCAN.tables and same.graph is SCAN.graph and same.absent == {}


def test_the_other_tables_keep_their_edges_under_new_numbers() -> None:
    found = leave_out_absent(replace(SCAN, absent={"b": Absent("a")}))
    assert [table.name for table in found.tables] == ["a", "c", "d"] == [one.table for one in found.profiles]
    assert found.graph is not None and found.schema_graph is not None
    assert list(found.graph.edges()) == [("a", "c"), ("a", "d"), ("c", "d")]
    assert found.graph.tables == found.schema_graph.tables == ("a", "c", "d")
    assert found.absent == {} and found.number_of == {"a": 0, "c": 1, "d": 2}


def test_a_proof_that_led_through_a_deleted_table_names_none() -> None:
    assert SCAN.graph is not None
    pairs = list(SCAN.graph.edges())
    via = array(
        "I",
        [1 if pair == ("a", "c") else child for pair, child in zip(pairs, SCAN.graph.standing.children, strict=True)],
    )
    check = array("B", [Check.IMPLIED if pair == ("a", "c") else Check.COMPARED for pair in pairs])
    graph = replace(SCAN.graph, standing=replace(SCAN.graph.standing, via=via, check=check))
    found = leave_out_absent(replace(SCAN, graph=graph, absent={"b": Absent("a")})).graph
    assert found is not None
    place = list(found.edges()).index(("a", "c"))
    assert found.standing.check[place] == Check.IMPLIED and found.standing.via[place] == found.standing.children[place]
    other = leave_out_absent(replace(SCAN, graph=graph, absent={"d": Absent("a")})).graph
    assert other is not None and other.tables[other.standing.via[list(other.edges()).index(("a", "c"))]] == "b"


def test_ages_and_overlaps_of_the_others_stay() -> None:
    scan = replace(
        SCAN,
        absent={"b": Absent("a")},
        since=array("I", [0, 1, 0, 1, 1]),  # in the order of parents and children
        overlaps=frozenset({("a", "b"), ("c", "d")}),
    )
    found = leave_out_absent(scan)
    assert scan.graph is not None and found.graph is not None
    ages = dict(zip(scan.graph.edges(), scan.since, strict=True))
    assert dict(zip(found.graph.edges(), found.since, strict=True)) == {
        edge: ages[edge] for edge in found.graph.edges()
    }
    assert found.overlaps == {("c", "d")}
