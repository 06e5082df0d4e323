"""Answers are kept only where they are still true, and every pair has one answer in the end."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.containment import Missing
from r2d2.model.graph import Check, ContainmentGraph, Edges, SchemaGraph
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.scan import Scan
from r2d2.model.schema import Column, Schema
from r2d2.model.table import Table
from r2d2.steps import verify_containment as verify_module
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.find_changes import Change, Changes
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
    without_tables,
)
from r2d2.steps.verify_containment import verify_containment
from tests.steps.test_verify_containment import Bags
from tests.support.priced_lakes import lake

Pair = tuple[int, int]
LETTERS = st.text("abc", max_size=4).map(Counter)


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables here are tiny; treat them as if comparing two were work, so that edges follow from others."""
    monkeypatch.setattr(verify_module, "SMALL_ROWS", 0)


def scan_of(content: Bags) -> Scan:
    """The scan of some bags, every pair compared."""
    count = len(content.bags)
    pairs = [(p, c) for p in range(count) for c in range(count) if p != c]
    graph = verify_containment(content.graph(pairs), profiles=content.profiles(), content=content)
    tables = tuple(Table(f"t{n}", "parquet", f"/lake/t{n}", ()) for n in range(count))
    return Scan(("/lake",), tables=tables, profiles=tuple(content.profiles()), graph=graph, run="first")


@st.composite
def updates(draw: st.DrawFn) -> tuple[list[Counter[str]], list[Counter[str]], Changes]:
    """Bags before and after, and what is proven of each: some say less of a change than is true."""
    before = draw(st.lists(LETTERS, min_size=2, max_size=6))
    after, kinds, numbers = [], [], []
    for number in draw(st.permutations(range(len(before)))):
        kind = draw(st.sampled_from([*Change][:-1]))
        bag, more = before[number], draw(LETTERS)
        if kind is Change.DELETED:
            continue
        if kind in (Change.NEW, Change.REPLACED):
            bag = more
        elif kind is Change.GROWN:
            bag = bag + more
        elif kind is Change.SHRUNK:
            bag = bag - more
        after.append(bag)
        kinds.append(kind)
        numbers.append(-1 if kind is Change.NEW else number)
    return before, after, Changes(tuple(kinds), tuple(numbers), ())


def rows(edges: Edges) -> list[tuple[Pair, Missing, int, int]]:
    return list(zip(edges.pairs(), edges.missing(), edges.check, edges.via, strict=True))


@settings(max_examples=400)
@given(updates())
def test_every_answer_that_is_kept_is_true_today(
    update: tuple[list[Counter[str]], list[Counter[str]], Changes],
) -> None:
    before, after, changes = update
    content = Bags(after)
    kept = update_graph(scan_of(Bags(before)), profiles=content.profiles(), changes=changes)
    for edges, stands in ((kept.standing, True), (kept.ruled_out, False)):
        assert list(edges.pairs()) == sorted(edges.pairs())
        for pair, missing, check, via in rows(edges):
            assert missing == content.missing(*pair)
            assert (missing.rows == 0) == stands
            if check == Check.EQUAL:
                assert content.bags[pair[0]] == content.bags[pair[1]]
            if check == Check.IMPLIED:
                assert content.missing(pair[0], via).rows == content.missing(via, pair[1]).rows == 0
    for pair in kept.unfounded.pairs():
        assert content.missing(*pair).rows == 0
    assert not len(kept.resampled), "nothing was sampled"


@settings(max_examples=400)
@given(updates())
def test_kept_and_new_answers_together_are_those_of_a_new_scan(
    update: tuple[list[Counter[str]], list[Counter[str]], Changes],
) -> None:
    before, after, changes = update
    content = Bags(after)
    kept = update_graph(scan_of(Bags(before)), profiles=content.profiles(), changes=changes)
    every = content.graph([(p, c) for p in range(len(after)) for c in range(len(after)) if p != c])
    asked = to_be_asked(every, kept)
    unfounded = ContainmentGraph(asked.tables, asked.standing.concat(kept.unfounded), asked.step)
    answered = verify_containment(
        unfounded, profiles=content.profiles(), content=content, known=known_edges(kept, unfounded)
    )
    graph, since, runs = put_together(kept, answered)
    new = scan_of(content).graph
    assert new is not None
    for mine, fresh in ((graph.standing, new.standing), (graph.ruled_out, new.ruled_out)):
        assert [(pair, missing) for pair, missing, _, _ in rows(mine)] == [(p, m) for p, m, _, _ in rows(fresh)]
    old = set(kept.standing.pairs())
    for place, pair in enumerate(graph.standing.pairs()):
        assert (since[place] < len(runs)) == (pair in old)
    assert set(runs) <= {"first"}


@pytest.mark.parametrize(
    ("parent", "child", "stands"),
    [
        (Change.SAME, Change.SAME, True),
        (Change.RENAMED, Change.SAME, True),
        (Change.GROWN, Change.SAME, True),
        (Change.GROWN, Change.SHRUNK, True),
        (Change.SHRUNK, Change.SAME, False),
        (Change.SAME, Change.GROWN, False),
        (Change.REPLACED, Change.SAME, False),
        (Change.SAME, Change.REPLACED, False),
    ],
)
def test_an_edge_stands_if_the_parent_only_grew_and_the_child_only_shrank(
    parent: Change, child: Change, stands: bool
) -> None:
    content = Bags([Counter("ab"), Counter("a")])
    kept = update_graph(scan_of(content), profiles=content.profiles(), changes=Changes((parent, child), (0, 1), ()))
    assert ((0, 1) in set(kept.standing.pairs())) is stands


def test_two_equal_tables_of_which_one_grew_are_no_longer_called_equal() -> None:
    content = Bags([Counter("ab"), Counter("ab")])
    changes = Changes((Change.GROWN, Change.SAME), (0, 1), ())
    kept = update_graph(scan_of(content), profiles=content.profiles(), changes=changes)
    assert [(pair, check) for pair, _, check, _ in rows(kept.standing)] == [((0, 1), Check.COMPARED)]


def sampled(standing: Sequence[Pair], ruled_out: Sequence[Pair], content: Bags) -> Scan:
    """A scan whose edges were settled by samples."""

    def edges(pairs: Sequence[Pair]) -> Edges:
        plain = Edges.of(array("I", [p for p, _ in pairs]), array("I", [c for _, c in pairs]))
        return Edges(plain.parents, plain.children, array("B", [Check.SAMPLED] * len(pairs)), *plain.columns[3:])

    scan = scan_of(content)
    names = tuple(table.name for table in scan.tables)
    graph = ContainmentGraph(names, edges(standing), "prune_by_content", {}, edges(ruled_out))
    return Scan(("/lake",), tables=scan.tables, profiles=scan.profiles, graph=graph, run="first")


def test_what_a_sample_said_holds_while_both_tables_are_the_same() -> None:
    content = Bags([Counter("ab"), Counter("a"), Counter("b")])
    old = sampled([(0, 1)], [(1, 2)], content)
    same = Changes((Change.SAME,) * 3, (0, 1, 2), ())
    kept = update_graph(old, profiles=content.profiles(), changes=same)
    assert list(kept.standing.pairs()) == [(0, 1)] and list(kept.ruled_out.pairs()) == [(1, 2)]
    renamed = Changes((Change.SAME, Change.RENAMED, Change.SAME), (0, 1, 2), ())
    kept = update_graph(old, profiles=content.profiles(), changes=renamed)
    assert len(kept.standing) == 0 and list(kept.resampled.pairs()) == [(0, 1)]  # another name draws other rows


def spread(graph: SchemaGraph) -> list[Pair]:
    families = graph.families
    return sorted((p, c) for a, b in graph.family_edges() for p in families[a] for c in families[b] if p != c)


@given(st.sets(st.integers(0, 5)))
def test_pairs_with_some_tables_are_those_that_have_one_of_them(wanted: set[int]) -> None:
    names = [("a",), ("a",), ("a", "b"), ("a", "b"), ("b",), ("c",)]
    schemas = [Schema.of(Column((column,), "int64") for column in columns) for columns in names]
    profiles = [TableProfile(f"t{n}", one, 1, 1, (ColumnStats(),) * len(one)) for n, one in enumerate(schemas)]
    whole = build_schema_graph(profiles)
    assert spread(pairs_with(whole, wanted)) == [pair for pair in spread(whole) if wanted & set(pair)]


def graph_of(pairs: Sequence[Pair], tables: int = 4) -> ContainmentGraph:
    edges = Edges.of(array("I", [p for p, _ in pairs]), array("I", [c for _, c in pairs]))
    return ContainmentGraph(tuple(f"t{n}" for n in range(tables)), edges, "prune_by_minmax")


def test_answers_on_pairs_that_the_metadata_rule_out_today_are_left_out() -> None:
    old = graph_of([(0, 1), (0, 2), (3, 1)]).standing
    kept = Kept(old, array("I", [0, 0, 0]), ("first",), old, old, graph_of([]).standing)
    left = still_candidates(kept, graph_of([(0, 2)]), [0])
    for edges in (left.standing, left.ruled_out, left.unfounded):
        assert list(edges.pairs()) == [(0, 2), (3, 1)]  # the last is about tables that did not change
    assert len(left.since) == 2


def test_the_edges_of_some_tables_are_left_out() -> None:
    assert list(without_tables(graph_of([(0, 1), (0, 2), (3, 2)]), [1, 3]).standing.pairs()) == [(0, 2)]


def test_proven_edges_are_those_whose_rows_were_counted() -> None:
    content = Bags([Counter("aab"), Counter("ab"), Counter("c")])
    assert proven_edges(scan_of(content)) == {(0, 1): Missing(0, 0), (1, 0): Missing(0, 1)}
    assert proven_edges(sampled([(0, 1)], [], content)) == {}


CHAIN = replace(lake({"a": 3.0, "b": 2.0, "c": 1.0}, [("a", "b"), ("a", "c"), ("b", "c")]), run="first")


def test_columns_of_kept_edges_are_those_of_children_with_rows() -> None:
    kept = update_graph(CHAIN, profiles=CHAIN.profiles, changes=Changes((Change.SAME,) * 3, (0, 1, 2), ()))
    assert columns_kept_of(kept, 0, CHAIN.profiles) == {("x",)}
    empty = [replace(profile, rows=0) for profile in CHAIN.profiles]
    assert columns_kept_of(kept, 0, empty) == set()


def test_an_edge_whose_proof_led_through_a_table_that_changed_is_true_and_unfounded() -> None:
    proofs = array("B", [Check.COMPARED, Check.IMPLIED, Check.COMPARED])
    standing = replace(CHAIN.graph.standing, check=proofs, via=array("I", [1, 1, 2]))
    scan = replace(CHAIN, graph=replace(CHAIN.graph, standing=standing))
    replaced = Changes((Change.SAME, Change.REPLACED, Change.SAME), (0, 1, 2), ())
    kept = update_graph(scan, profiles=scan.profiles, changes=replaced)
    assert list(kept.standing.pairs()) == [] and list(kept.unfounded.pairs()) == [(0, 2)]
    unasked = update_graph(scan, profiles=scan.profiles, changes=replaced, unasked=[2])
    assert list(unasked.standing.pairs()) == [(0, 2)], "it cannot be asked, so it stays"
