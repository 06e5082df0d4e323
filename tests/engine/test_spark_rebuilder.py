"""Measuring, comparing and rebuilding by values, against plain Python on nasty tables."""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.spark_rebuilder import SparkRebuilder
from r2d2.engine.table_shape import shape_of
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.recipe import OutputColumn, Recipe
from r2d2.model.schema import Column
from r2d2.synthetic.canonical import canonical_values
from tests.random_tables import VALUES, pairs

UTC = datetime.UTC
EXTRA: dict[pa.DataType, list[Any]] = {
    pa.uint8(): [0, 255],
    pa.uint32(): [0, 2**32 - 1],
    pa.timestamp("ns"): [0, 1, -1, 10**18 + 7],
    pa.timestamp("ns", "UTC"): [0, 1],
    pa.timestamp("ms"): [0, -1, 10**12],
    pa.timestamp("ms", "UTC"): [0, -1],
    pa.timestamp("us", "Europe/Paris"): [0, -1],
    pa.time32("ms"): [0, 1],
    pa.time64("us"): [0, 1],
    pa.time64("ns"): [0, 1],
    pa.duration("us"): [0, -5],
    pa.null(): [None],
    pa.binary(2): [b"ab", b"\x00\xff"],
    pa.date64(): [datetime.date(1970, 1, 2)],
    pa.dictionary(pa.int32(), pa.string()): ["a", "b", ""],
    pa.map_(pa.string(), pa.float64()): [[("a", -0.0), ("b", math.nan)], [("b", math.nan), ("a", -0.0)], [("a", 0.0)], []],
    pa.list_(pa.struct([("x", pa.uint64()), ("y", pa.list_(pa.float32()))])): [
        [{"x": 2**64 - 1, "y": [-0.0]}],
        [{"x": 2**64 - 1, "y": [0.0]}],
        [{"x": None, "y": None}],
        [],
    ],
    pa.struct([("a.b", pa.struct([("c`d", pa.int32())])), ("m", pa.map_(pa.int32(), pa.string()))]): [
        {"a.b": {"c`d": 1}, "m": [(1, "x"), (2, None)]},
        {"a.b": {"c`d": 1}, "m": [(2, None), (1, "x")]},
        {"a.b": None, "m": []},
    ],
    pa.decimal128(7, 7): [Decimal("0.0000001"), Decimal("0E-7"), Decimal("-0.1234567")],
}  # fmt: skip


@dataclass(frozen=True)
class Put:
    path: str
    files: tuple[str, ...]


@pytest.fixture(scope="module")
def rebuilder(spark: Any) -> SparkRebuilder:
    return SparkRebuilder(lambda: spark)


def put(folder: Path, table: pa.Table, files: int = 1, **how: Any) -> Put:
    """Write a table as some files."""
    folder.mkdir(parents=True)
    step = -(-table.num_rows // files) or 1
    names = []
    for number in range(files):
        names.append(f"part {number}.parquet")
        pq.write_table(table.slice(number * step, step), folder / names[-1], **how)
    return Put(str(folder), tuple(names))


def rows_of(table: pa.Table) -> Counter[Any]:
    columns = [canonical_values(table.column(name).combine_chunks()) for name in table.column_names]
    return Counter(zip(*columns, strict=True)) if columns else Counter()


def same_schema(one: Put, other: Put) -> bool:
    return shape_of(one.path, one.files).signature == shape_of(other.path, other.files).signature


def everything() -> pa.Table:
    """A table of every type, with NULLs and copies."""
    columns = {}
    for number, (kind, values) in enumerate({**VALUES, **EXTRA}.items()):
        some = [values[place % len(values)] for place in range(6)]
        columns[f"c{number} {str(kind)[:9]}"] = pa.array([*some, None, some[0], None], kind)
    return pa.table(columns)


def whole(table: pa.Table, *, where: Any = None, distinct: bool = False) -> Recipe:
    """A recipe that takes each column as it is; the types in it are for people."""
    return Recipe(tuple(output(token) for token in tokens(table.schema)), where=where, distinct=distinct)


def output(token: tuple[str, ...], type_name: str = "int64") -> OutputColumn:
    return OutputColumn(Column(token, type_name), token)


def tokens(fields: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from tokens(field.type, (*above, field.name))
        else:
            yield (*above, field.name)


@settings(max_examples=8)
@given(pairs(), st.data())
def test_tables_are_the_same_exactly_if_python_says_so(
    rebuilder: SparkRebuilder, tmp_path_factory: pytest.TempPathFactory, both: Any, data: st.DataObject
) -> None:
    table, other = both
    folder = tmp_path_factory.mktemp("pair")
    order = data.draw(st.permutations(range(table.num_rows)))
    files = data.draw(st.integers(1, 3))
    one = put(folder / "one", table)
    shuffled = put(folder / "shuffled", table.take(pa.array(order, pa.int64())), files=files)
    two = put(folder / "two", other)
    rows = rows_of(table)
    measured = rebuilder.measure_all([one, shuffled, two])
    assert (measured[0].rows, measured[0].distinct_rows) == (rows.total(), len(rows))
    assert measured[0] == measured[1]
    same = same_schema(one, two) and rows == rows_of(other)
    assert (measured[0] == measured[2]) == same
    compared = rebuilder.compare(rebuilt=one, child=two)
    assert (compared.differs == "") == same
    assert compared.content == measured[0]


def test_every_type_is_measured_compared_and_rebuilt_exactly(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    table = everything()
    parent = put(tmp_path / "parent [1]* %20é", pa.concat_tables([table, table]), files=2)
    child = put(tmp_path / "child", table.slice(2, 5))
    keep = Compare(("c3 int64",), ">=", Literal("int", 0))
    made = child_of(tmp_path / "made", table, lambda row: row["c3 int64"] is not None and row["c3 int64"] >= 0, times=2)
    steps = rebuilder.instructions(whole(table, where=keep), parent=parent, child=made, parent_types={}, child_types={})
    assert rebuilder.verify(recipe=steps, parent=parent, child=made).differs == ""
    assert "rows" in rebuilder.verify(recipe=steps, parent=parent, child=child).differs
    into = tmp_path / "into"
    into.mkdir()
    written = rebuilder.rebuild(recipe=steps, parent=parent, into=str(into), one_file=False)
    rebuilt = Put(str(into), written)
    compared = rebuilder.compare(rebuilt=rebuilt, child=made)
    assert compared.differs == "" and compared.content == rebuilder.measure(made)
    assert sorted(os.listdir(into)) == sorted(written)
    assert pq.read_schema(into / written[0]).equals(
        pq.read_schema(Path(made.path) / made.files[0]), check_metadata=True
    )
    assert rows_of(pq.read_table(into / written[0])) == rows_of(pq.read_table(Path(made.path) / made.files[0]))


def child_of(folder: Path, table: pa.Table, keeps: Any, times: int = 1) -> Put:
    places = [place for place, row in enumerate(table.select(["c3 int64"]).to_pylist()) if keeps(row)]
    return put(folder, pa.concat_tables([table.take(places)] * times))
