"""The schema graph is what comparing every pair gives."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.graph import SchemaGraph
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.steps.build_schema_graph import build_schema_graph, schema_mismatch

# Few names and odd ones, so that equal, nested, dotted and case-twin schemas come up all the time.
TOKENS = st.sampled_from(
    [("id",), ("ID",), ("a",), ("b",), ("a.b",), ("a", "b"), ("a", "b", "c"), ("a", "B"), ("",), ("ü x",), ("`",)]
)
TYPES = st.sampled_from(["int32", "int64", "float64", "string", "binary", "timestamp(us)", "timestamp(us,UTC)", "null"])
STATS = st.sampled_from(
    [
        ColumnStats(),  # unknown
        ColumnStats(nulls=0),  # no NULL
        ColumnStats(nulls=3),  # all NULL, since every table here has three rows
        ColumnStats(nulls=1),
        ColumnStats(low=1, high=2, low_exact=True, high_exact=True),
        ColumnStats(low=1, high=2),
    ]
)


@st.composite
def profiles(draw: st.DrawFn) -> list[TableProfile]:
    tables = []
    for number in range(draw(st.integers(0, 12))):
        columns = {t: (draw(TYPES), draw(STATS)) for t in draw(st.sets(TOKENS, max_size=5))}
        schema = Schema.of(Column(token, type_name) for token, (type_name, _) in columns.items())
        stats = tuple(columns[column.token][1] for column in schema.columns)
        tables.append(TableProfile(f"t{number}", schema, 3, 10, stats))
    return tables


def spread(graph: SchemaGraph) -> set[tuple[int, int]]:
    return {(p, c) for a, b in graph.family_edges() for p in graph.families[a] for c in graph.families[b] if p != c}


def could_hold(parent: TableProfile, child: TableProfile) -> bool:
    """The rule, as docs/row-identity.md puts it, column by column."""
    held = {column.token: column.kind for column in parent.schema.columns}
    for column, stats in zip(child.schema.columns, child.stats, strict=True):
        if column.token not in held:
            return False
        has_value = (stats.nulls is not None and stats.nulls < child.rows) or (
            stats.nulls is None and (stats.low_exact or stats.high_exact)
        )
        if has_value and held[column.token] != column.kind:
            return False
    return True


@settings(max_examples=500)
@given(profiles())
def test_it_is_the_graph_of_every_pair_compared(tables: Sequence[TableProfile]) -> None:
    expected = {
        (p, c)
        for p, parent in enumerate(tables)
        for c, child in enumerate(tables)
        if p != c and could_hold(parent, child)
    }
    graph = build_schema_graph(tables)
    assert spread(graph) == expected
    assert graph.edge_count == len(expected)


@settings(max_examples=200)
@given(profiles())
def test_the_one_pair_form_agrees(tables: Sequence[TableProfile]) -> None:
    edges = spread(build_schema_graph(tables))
    for p, parent in enumerate(tables):
        for c, child in enumerate(tables):
            if p != c:
                assert (schema_mismatch(parent=parent, child=child) is None) == ((p, c) in edges)


@given(profiles())
def test_every_table_is_in_one_family(tables: Sequence[TableProfile]) -> None:
    graph = build_schema_graph(tables)
    assert sorted(table for family in graph.families for table in family) == list(range(len(tables)))
    for family in graph.families:
        assert len({tables[table].schema for table in family}) == 1
    for table, family_number in enumerate(graph.family_of):
        assert table in graph.families[family_number]


def table(name: str, *columns: str) -> TableProfile:
    schema = Schema.of(Column((column,), "int64") for column in columns)
    return TableProfile(name, schema, 1, 1, (ColumnStats(nulls=0),) * len(columns))


def sgb_as_printed(tables: Sequence[TableProfile]) -> tuple[int, int]:
    """Algorithm 1, word by word: the number of centers, and of operations by Table 3's formula."""
    schemas = sorted((set(t.schema.tokens) for t in tables), key=len, reverse=True)
    clusters: list[list[set[object]]] = []
    for schema in schemas:
        holding = [cluster for cluster in clusters if schema <= cluster[0]]
        for cluster in holding:
            cluster.append(schema)
        if not holding:
            clusters.append([schema])
    n, k = len(schemas), len(clusters)
    return k, round(n * math.log2(n)) + k * (n - k) + sum(math.comb(len(cluster), 2) for cluster in clusters)


@given(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=12))
def test_centers_and_operations_are_those_of_the_printed_algorithm(schemas: list[set[str]]) -> None:
    tables = [table(f"t{number}", *columns) for number, columns in enumerate(schemas)]
    operations = build_schema_graph(tables).operations
    assert (operations.centers, operations.clusters) == sgb_as_printed(tables)
    assert operations.brute_force == math.comb(len(tables), 2)


def test_equal_schemas_hold_each_other_both_ways() -> None:
    assert spread(build_schema_graph([table("a", "x", "y"), table("b", "y", "x")])) == {(0, 1), (1, 0)}


def test_an_integer_column_is_held_by_a_decimal_one_but_not_by_text() -> None:
    sure = (ColumnStats(nulls=0),)
    whole, exact, text = (
        TableProfile(name, Schema((Column(("x",), name),)), 1, 1, sure) for name in ("int32", "decimal(9,2)", "string")
    )
    assert spread(build_schema_graph([whole, exact, text])) == {(0, 1), (1, 0)}
    assert schema_mismatch(parent=text, child=whole) == "column x is int32 in the child and string in the parent"


def test_a_mismatch_names_the_missing_columns() -> None:
    reason = schema_mismatch(parent=table("p", "a"), child=table("c", "a", "b.c", "d"))
    assert reason == "the parent has no column `b.c`, d"


FIGURE_3 = json.loads((Path(__file__).parents[1] / "lakes" / "figure_3" / "case.json").read_text())


def test_the_clusters_of_figure_3_fill_step_by_step() -> None:
    """Steps 1 to 5 of section 4.1, one schema after the other."""
    clusters: dict[str, list[str]] = {}
    schemas = {name: set(columns) for name, columns in FIGURE_3["schemas"].items()}
    for name in sorted(schemas, key=lambda name: (-len(schemas[name]), name)):
        centers = [center for center in clusters if schemas[name] <= schemas[center]]
        for center in centers:
            clusters[center].append(name)
        if not centers:
            clusters[name] = [name]
        assert clusters == FIGURE_3["clusters_after"][name]


@pytest.mark.parametrize("backwards", [False, True])
def test_figure_3_gives_the_edges_within_its_clusters(backwards: bool) -> None:
    """Step 6: the order in which tables come changes nothing."""
    names = sorted(FIGURE_3["schemas"], reverse=backwards)
    graph = build_schema_graph([table(name, *FIGURE_3["schemas"][name]) for name in names])
    assert sorted([names[p], names[c]] for p, c in spread(graph)) == FIGURE_3["edges"]
    clusters = FIGURE_3["clusters_after"]["S6"].values()
    assert graph.operations.centers == len(clusters)
    pairs = sum(math.comb(len(members), 2) for members in clusters)
    assert graph.operations.clusters == round(6 * math.log2(6)) + 3 * (6 - 3) + pairs
    assert all(any({parent, child} <= set(members) for members in clusters) for parent, child in FIGURE_3["edges"])
