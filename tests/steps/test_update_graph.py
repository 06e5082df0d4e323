"""An answer stays as long as what happened to its two tables leaves it true."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest

from r2d2.model.containment import Missing
from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.scan import Scan
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.find_changes import Change, Changes, TableChange
from r2d2.steps.update_graph import (
    Kept,
    columns_kept_of,
    known_edges,
    pairs_with,
    proven_edges,
    put_together,
    still_candidates,
    to_be_asked,
    update_graph,
    with_edges,
    without_tables,
)
from tests.support.priced_lakes import lake

A, B, C = range(3)
EVERY = [(A, B), (A, C), (B, C)]
OLD = replace(lake({"a": 3.0, "b": 2.0, "c": 1.0}, [("a", "b"), ("a", "c"), ("b", "c")]), run="first")


def changes(**kinds: Change) -> Changes:
    by_name = {"a": Change.SAME, "b": Change.SAME, "c": Change.SAME} | kinds
    changed = tuple(TableChange(name, kind, "so") for name, kind in kinds.items())
    return Changes(tuple(by_name.values()), (A, B, C), changed)


def kept(scan: Scan = OLD, **kinds: Change) -> Kept:
    return update_graph(scan, profiles=scan.profiles, changes=changes(**kinds))


def pairs(edges: Edges) -> list[tuple[int, int]]:
    return list(edges.pairs())


def candidates(*wanted: tuple[int, int]) -> ContainmentGraph:
    ordered = sorted(wanted)
    edges = Edges.of(array("I", [p for p, _ in ordered]), array("I", [c for _, c in ordered]))
    return ContainmentGraph(("a", "b", "c"), edges, "prune_by_minmax")


@pytest.mark.parametrize(
    ("kinds", "stand"),
    [
        ({}, EVERY),
        ({"a": Change.RENAMED}, EVERY),
        ({"a": Change.GROWN}, EVERY),  # a parent that has grown holds what it held
        ({"c": Change.SHRUNK}, EVERY),  # a child that has shrunk is held
        ({"a": Change.SHRUNK}, [(B, C)]),
        ({"c": Change.GROWN}, [(A, B)]),
        ({"b": Change.GROWN}, [(A, C), (B, C)]),
        ({"b": Change.SHRUNK}, [(A, B), (A, C)]),
        ({"b": Change.REPLACED}, [(A, C)]),
    ],
)
def test_an_edge_stands_where_the_changes_leave_it_true(kinds: dict[str, Change], stand: list[tuple[int, int]]) -> None:
    assert pairs(kept(**kinds).standing) == stand


def ruled_out(scan: Scan, pair: tuple[int, int]) -> Scan:
    """The scan with a pair that every row was compared for, and that lacks a row."""
    assert scan.graph is not None
    edges = Edges(*(array(k, [v]) for k, v in zip("IIBqqI", (*pair, Check.COMPARED, 1, 1, pair[1]), strict=True)))
    return replace(scan, graph=replace(scan.graph, ruled_out=edges))


def test_a_pair_that_was_ruled_out_stays_so_only_if_neither_table_changed() -> None:
    scan = ruled_out(OLD, (C, A))
    assert pairs(kept(scan, b=Change.REPLACED).ruled_out) == [(C, A)]
    for kind in (Change.GROWN, Change.SHRUNK, Change.REPLACED):
        assert pairs(kept(scan, c=kind).ruled_out) == []


def test_an_edge_whose_proof_led_through_a_table_that_changed_is_true_and_unfounded() -> None:
    assert OLD.graph is not None
    standing = replace(
        OLD.graph.standing,
        check=array("B", [Check.COMPARED, Check.IMPLIED, Check.COMPARED]),
        via=array("I", [B, B, C]),
    )
    scan = replace(OLD, graph=replace(OLD.graph, standing=standing))
    assert pairs(kept(scan).standing) == EVERY
    lost = kept(scan, b=Change.REPLACED)
    assert pairs(lost.standing) == [] and pairs(lost.unfounded) == [(A, C)]
    unasked = update_graph(scan, profiles=scan.profiles, changes=changes(b=Change.REPLACED), unasked=[C])
    assert pairs(unasked.standing) == [(A, C)], "it cannot be asked, so it stays"


def test_only_pairs_without_an_answer_are_asked() -> None:
    found = kept(ruled_out(OLD, (C, A)), b=Change.REPLACED)
    assert pairs(to_be_asked(candidates((A, B), (A, C), (B, C), (C, A), (C, B)), found).standing) == [
        (A, B),
        (B, C),
        (C, B),
    ]


def test_answers_that_metadata_rule_out_today_go() -> None:
    found = still_candidates(kept(a=Change.GROWN), candidates((A, B)), [A])
    assert pairs(found.standing) == [(A, B), (B, C)], "a pair of unchanged tables is not looked at"
    assert len(found.since) == 2


def test_kept_and_new_answers_are_one_graph_with_the_age_of_each_edge() -> None:
    answered = replace(candidates((A, B)), step="verify_containment")
    graph, since, runs = put_together(kept(b=Change.REPLACED), answered)
    assert pairs(graph.standing) == [(A, B), (A, C)] and graph.step == "verify_containment"
    assert runs == ("first",) and list(since) == [1, 0], "the place after the last run is the run that is being made"


def test_pairs_with_some_tables_are_all_their_pairs_and_no_other() -> None:
    graph = build_schema_graph(OLD.profiles, OLD.containment)
    cut = pairs_with(graph, [B])
    found = {
        (one, other)
        for parent, child in cut.family_edges()
        for one in cut.families[parent]
        for other in cut.families[child]
        if one != other
    }
    assert found == {(A, B), (B, A), (B, C), (C, B)} and cut.edge_count == 4


def test_proven_edges_are_known_where_they_are_asked_for() -> None:
    assert proven_edges(OLD) == dict.fromkeys(EVERY, Missing(0, 0))
    assert known_edges(kept(), candidates((A, B))) == {(A, B): Missing(0, 0)}
    assert pairs(without_tables(with_edges(candidates((A, B)), candidates((B, C)).standing), [C]).standing) == [(A, B)]


def test_columns_of_kept_edges_are_those_of_children_with_rows() -> None:
    assert columns_kept_of(kept(), A, OLD.profiles) == {("x",)}
    empty = [replace(profile, rows=0) for profile in OLD.profiles]
    assert columns_kept_of(kept(), A, empty) == set()
