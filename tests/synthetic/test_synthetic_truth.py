"""The brute force: pairs, rows, copies; tables read from disk; the same numbers as DuckDB's own joins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.synthetic import (
    TableRows,
    TrueEdge,
    brute_force_edges,
    find_tables,
    generate_lake,
    lake_truth,
    read_rows,
    rows_of,
    write_truth,
)
from r2d2.synthetic.oracle.truth_rows import Token, flatten

pytestmark = pytest.mark.slow

Row = tuple[int, int]
small_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=6)


def table(**columns: list[object]) -> TableRows:
    return rows_of(pa.table(columns))


def only_edge(parent: TableRows, child: TableRows) -> TrueEdge:
    edges = brute_force_edges({"parent": parent, "child": child}, all_pairs=True)
    return next(edge for edge in edges if edge.parent == "parent")


@given(small_rows, small_rows)
def test_missing_rows_and_copies_are_what_crossing_off_by_hand_gives(parent: list[Row], child: list[Row]) -> None:
    left = list(parent)
    lacking = 0
    for row in child:
        if row in left:
            left.remove(row)
        else:
            lacking += 1
    edge = only_edge(TableRows((("a",), ("b",)), parent), TableRows((("a",), ("b",)), child))
    assert edge.missing_copies == lacking
    assert edge.missing_rows == len([row for row in child if row not in parent])
    assert edge.contained == (set(child) <= set(parent))
    assert edge.bag == (lacking == 0)
    assert edge.child_rows == len(child)
    assert edge.parent_rows == len(parent)


@given(small_rows, st.permutations([("a",), ("b",)]))
def test_columns_match_by_name_whatever_their_position(rows: list[Row], order: list[Token]) -> None:
    places = [order.index(("a",)), order.index(("b",))]
    other = TableRows(tuple(order), [tuple(row[places.index(i)] for i in range(2)) for row in rows])
    edge = only_edge(TableRows((("a",), ("b",)), rows), other)
    assert edge.bag


def test_two_equal_tables_have_an_edge_each_way() -> None:
    edges = brute_force_edges({"x": table(a=[1, 2]), "y": table(a=[2, 1])})
    assert [(edge.parent, edge.child, edge.bag) for edge in edges] == [("x", "y", True), ("y", "x", True)]


def test_a_twice_loaded_child_is_contained_as_a_set_and_not_as_a_bag() -> None:
    edge = only_edge(table(a=[1, 2]), table(a=[1, 1]))
    assert (edge.contained, edge.bag, edge.missing_rows, edge.missing_copies) == (True, False, 0, 1)


def test_a_child_with_nulls_is_found() -> None:
    assert only_edge(table(a=[1, None], b=["x", "y"]), table(a=[None])).contained


def test_containment_is_the_share_of_rows_found() -> None:
    assert only_edge(table(a=[1, 2]), table(a=[1, 1, 1, 3])).containment == 0.75


def test_an_empty_child_is_contained_in_every_table_with_its_columns() -> None:
    empty = TableRows((("a",),), [])
    assert only_edge(table(a=[1]), empty).containment == 1.0
    assert only_edge(empty, table(a=[1])).containment == 0.0


def test_no_edge_where_the_parent_lacks_a_column() -> None:
    tables = {"wide": table(a=[1], b=[2]), "narrow": table(a=[1]), "other": table(c=[1])}
    pairs = [(edge.parent, edge.child) for edge in brute_force_edges(tables, all_pairs=True)]
    assert pairs == [("wide", "narrow")]


def test_a_column_with_a_dot_and_a_field_of_a_struct_are_different_columns() -> None:
    dotted, nested = pa.table({"a.b": [1]}), pa.table({"a": [{"b": 1}]})
    assert rows_of(dotted).columns == (("a.b",),)
    assert rows_of(nested).columns == (("a", "b"),)
    assert brute_force_edges({"dotted": rows_of(dotted), "nested": rows_of(nested)}, all_pairs=True) == []


def test_a_null_struct_and_a_struct_of_nulls_flatten_to_the_same() -> None:
    kind = pa.struct([("b", pa.struct([("c", pa.int64())])), ("d", pa.string())])
    flat = rows_of(pa.table({"a": pa.array([None, {"b": None, "d": None}, {"b": {"c": None}, "d": None}], kind)}))
    assert flat.columns == (("a", "b", "c"), ("a", "d"))
    assert flat.rows == [(None, None)] * 3


def test_a_child_with_some_fields_of_a_struct_is_contained() -> None:
    whole = rows_of(pa.table({"a": [{"b": 1, "c": 2}, None]}))
    assert only_edge(whole, rows_of(pa.table({"a": [{"b": 1}, {"b": None}]}))).bag


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(UserError, match="same name"):
        flatten(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))


def write(path: Path, **columns: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_every_file_of_a_table_is_read_and_missing_columns_are_null(tmp_path: Path) -> None:
    write(tmp_path / "t/part-0.parquet", a=[1], b=["x"])
    write(tmp_path / "t/part-1.parquet", a=[2])
    write(tmp_path / "t/_temporary/part-2.parquet", a=[3])
    write(tmp_path / "t/.hidden.parquet", a=[3])
    read = read_rows(tmp_path / "t")
    assert read.columns == (("a",), ("b",))
    assert read.rows == rows_of(pa.table({"a": [1, 2], "b": ["x", None]})).rows


PARTITIONS: dict[str, tuple[list[str], list[Any], pa.DataType]] = {
    "integers": (["7", "-12", "0"], [7, -12, 0], pa.int64()),
    "a leading zero makes all of them text": (["7", "07"], ["7", "07"], pa.string()),
    "dates": (["2024-02-29", "1999-12-31"], ["2024-02-29", "1999-12-31"], pa.date32()),
    "no such date": (["2024-02-30"], ["2024-02-30"], pa.string()),
    "escaped characters": (["a%2Fb", "%C3%A9"], ["a/b", "\u00e9"], pa.string()),
    "text": (["DE", "7"], ["DE", "7"], pa.string()),
    "past 64 bits": (["9223372036854775808"], ["9223372036854775808"], pa.string()),
    "NULL beside numbers": (["7", "__HIVE_DEFAULT_PARTITION__"], [7, None], pa.int64()),
}


@pytest.mark.parametrize("case", PARTITIONS)
def test_partition_values_come_from_the_path_in_one_type_for_the_table(case: str, tmp_path: Path) -> None:
    folders, values, kind = PARTITIONS[case]
    for number, folder in enumerate(folders):
        write(tmp_path / f"t/key={folder}/part-0.parquet", row=[number])
    typed = pa.array(values, pa.string()).cast(kind) if kind == pa.date32() else pa.array(values, kind)
    expected = rows_of(pa.table({"key": typed, "row": range(len(values))}))
    read = read_rows(tmp_path / "t")
    assert read.columns == expected.columns
    assert sorted(read.rows, key=str) == sorted(expected.rows, key=str)


def test_partitions_are_read_as_pyarrow_reads_them(tmp_path: Path) -> None:
    for year in (2023, 2024):
        for country in ("DE", "a%20b"):
            write(tmp_path / f"t/year={year}/country={country}/part-0.parquet", x=[year, None])
    expected = ds.dataset(tmp_path / "t", partitioning="hive").to_table()
    by_name = expected.select(sorted(expected.column_names))
    assert sorted(read_rows(tmp_path / "t").rows, key=str) == sorted(rows_of(by_name).rows, key=str)


def test_a_column_in_both_the_folder_and_the_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "t/key=1/part-0.parquet", key=[2])
    with pytest.raises(UserError, match="both hold a column"):
        read_rows(tmp_path / "t")


def test_tables_are_found_by_their_looks(tmp_path: Path) -> None:
    for path in (
        "crm/customers.parquet",
        "crm/old/part-00000.parquet",
        "crm/old/part-00001.parquet",
        "sales/orders/year=2024/country=DE/part-0.parquet",
        "part-00000.parquet",
    ):
        write(tmp_path / path, a=[1])
    assert find_tables(tmp_path) == ["crm/customers.parquet", "crm/old", "part-00000.parquet", "sales/orders"]


def test_a_lake_too_big_for_brute_force_is_refused_with_the_numbers(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", a=range(1000), b=range(1000))
    with pytest.raises(UserError, match="2,000 values; the limit is 1,999") as refusal:
        lake_truth(tmp_path, most_cells=1999)
    assert refusal.value.hint


@settings(max_examples=20)
@given(st.lists(st.builds(TrueEdge, *[st.text()] * 2, *[st.integers(0, 2**40)] * 4), max_size=4))
def test_the_truth_survives_its_file(tmp_path_factory: pytest.TempPathFactory, edges: list[TrueEdge]) -> None:
    path = tmp_path_factory.mktemp("truth") / "truth.json"
    write_truth(edges, path)
    written = json.loads(path.read_text(encoding="utf-8"))["edges"]
    assert [TrueEdge(**{name: edge[name] for name in TrueEdge.__dataclass_fields__}) for edge in written] == edges
    assert all(edge["contained"] == (edge["missing_rows"] == 0) for edge in written)


def duckdb_edge(lake: Path, parent: str, child: str) -> tuple[int, int]:
    """Missing rows and missing copies by DuckDB's anti-join and EXCEPT ALL."""
    columns = [".".join(f'"{part}"' for part in token) for token in read_rows(lake / child).columns]
    names = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
    held, wanted = (
        f"(SELECT {names} FROM read_parquet('{files(lake / table)}') t)"  # noqa: S608 (a lake of our own)
        for table in (parent, child)
    )
    same = " AND ".join(f"p.c{i} IS NOT DISTINCT FROM c.c{i}" for i in range(len(columns)))
    missing = f"SELECT count(*) FROM {wanted} c ANTI JOIN {held} p ON {same}"  # noqa: S608
    copies = f"SELECT count(*) FROM ((FROM {wanted}) EXCEPT ALL (FROM {held}))"  # noqa: S608
    return counted(missing), counted(copies)


def counted(query: str) -> int:
    return int(duckdb.execute(query).fetchall()[0][0])


def files(location: Path) -> str:
    return str(location) if location.is_file() else f"{location}/**/*.parquet"


def test_duckdb_finds_the_same_missing_rows_in_every_pair(tmp_path: Path) -> None:
    lake = generate_lake(tmp_path, tables=24, rows=500, seed=11)
    edges = lake_truth(lake.path, all_pairs=True)
    assert sum(edge.contained for edge in edges) >= 20
    assert sum(not edge.contained for edge in edges) >= 20
    for edge in edges:
        found = duckdb_edge(lake.path, edge.parent, edge.child)
        assert (edge.missing_rows, edge.missing_copies) == found, edge
