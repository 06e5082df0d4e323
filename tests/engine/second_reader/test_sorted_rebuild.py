"""What Spark rebuilds in an order is in that order, by plain Python, however many files and tasks it takes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.second_reader import arrange as arrange_rows
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.rebuild import Rebuild
from r2d2.model.recipe import OutputColumn, Recipe, SortKey
from r2d2.model.schema import Column
from tests.engine.recipes.test_row_order import shuffled, tables
from tests.engine.second_reader.test_rebuilder import Put, put, rows_of
from tests.support.order_oracle import in_order, is_sorted


@pytest.fixture(scope="module")
def rebuilder(spark: Any) -> SparkRebuilder:
    return SparkRebuilder(lambda: spark)


def columns(schema: pa.Schema) -> tuple[OutputColumn, ...]:
    return tuple(OutputColumn(Column((field.name,), str(field.type)), (field.name,)) for field in schema)


def instructions(rebuilder: SparkRebuilder, recipe: Recipe, parent: Put, child: Put, **types: Any) -> dict[str, Any]:
    given = {"parent_types": {}, "child_types": {}} | types
    return rebuilder.instructions(recipe, parent=parent, child=child, **given)


def read(folder: Path, files: Any) -> list[Any]:
    """The rows in order of the files' names."""
    tables = [pq.ParquetFile(folder / file).read() for file in sorted(files)]
    return [row for table in tables for row in table.to_pylist()]


@settings(max_examples=8)
@given(drawn=st.lists(tables(most=20), min_size=2, max_size=4), seed=st.integers(0, 99))
def test_what_is_rebuilt_is_sorted_and_ties_are_as_in_the_parent(
    rebuilder: SparkRebuilder, tmp_path_factory: pytest.TempPathFactory, drawn: Any, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("sorted")
    asked, expected = [], []
    for number, (table, keys) in enumerate(drawn):
        parent = shuffled(table, seed)
        rows = in_order(parent.to_pylist(), keys)
        child = pa.Table.from_pylist(rows, schema=parent.schema)
        flags = [pq.SortingColumn(child.schema.get_field_index(k.column[0]), k.descending, k.nulls_first) for k in keys]
        there = put(folder / f"child{number}", child, sorting_columns=flags)
        place = put(folder / f"parent{number}", parent, files=2 if parent.num_rows > 3 else 1)
        steps = instructions(rebuilder, Recipe(columns(child.schema), order=keys), place, there)
        (folder / f"out{number}").mkdir()
        asked.append(Rebuild(steps, (place,), str(folder / f"out{number}"), True))  # type: ignore[arg-type]
        expected.append((rows, tuple(flags)))
    for how in (rebuilder.rebuild_many, lambda some: [rebuilder.rebuild_many([one])[0] for one in some]):
        for one, written, (rows, flags) in zip(asked, how(asked), expected, strict=True):
            assert isinstance(written, tuple), written
            made = read(Path(one.into), written)
            assert repr(made) == repr(rows)
            groups = pq.read_metadata(Path(one.into) / written[0]).row_group(0) if rows else None
            assert groups is None or groups.sorting_columns == flags


def test_files_in_order_of_their_names_are_sorted_as_a_whole(
    rebuilder: SparkRebuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(3)
    table = pa.table({"k": [rng.randrange(50) for _ in range(2000)], "v": [rng.random() for _ in range(2000)]})
    keys = (SortKey(("k",), descending=True, nulls_first=False),)
    parent = put(tmp_path / "p", table, files=5)
    flags = [pq.SortingColumn(0, descending=True)]
    child = put(tmp_path / "c", pa.Table.from_pylist(in_order(table.to_pylist(), keys)), files=4, sorting_columns=flags)
    size = sum((tmp_path / "p" / name).stat().st_size for name in parent.files)
    monkeypatch.setattr(arrange_rows, "BYTES_PER_TASK", size // 3)
    for number, order in enumerate((keys, ())):
        steps = instructions(rebuilder, Recipe(columns(table.schema), order=order), parent, child)
        into = tmp_path / f"out{number}"
        into.mkdir()
        written = rebuilder.rebuild(recipe=steps, parent=parent, into=str(into), one_file=False)
        assert len(written) > 1
        assert read(into, written) == in_order(table.to_pylist(), order)
        declared = {pq.read_metadata(into / file).row_group(0).sorting_columns for file in written}
        assert declared == ({tuple(flags)} if order else {()})


def test_each_partition_is_sorted_and_structs_too(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = [{"s": {"a.b": rng.randrange(40), "z": "x"}, "day": n % 3} for n in range(300)]
    parent = put(tmp_path / "p", pa.Table.from_pylist(rows))
    key = (SortKey(("s", "a.b")),)
    files = []
    for day in range(3):
        part = [{"s": row["s"]} for row in in_order(rows, key) if row["day"] == day]
        (tmp_path / f"c/day={day}").mkdir(parents=True)
        files.append(f"day={day}/f.parquet")
        flags = [pq.SortingColumn(0, nulls_first=True)]
        pq.write_table(pa.Table.from_pylist(part), tmp_path / "c" / files[-1], sorting_columns=flags)
    child = Put(str(tmp_path / "c"), tuple(files))
    tokens = (("s", "a.b"), ("s", "z"), ("day",))
    recipe = Recipe(tuple(OutputColumn(Column(token, "int64"), token) for token in tokens), order=key)
    steps = instructions(rebuilder, recipe, parent, child, child_types={"day": "int64"})
    (tmp_path / "out").mkdir()
    written = rebuilder.rebuild(recipe=steps, parent=parent, into=str(tmp_path / "out"), one_file=False)
    assert {file.split("/")[0] for file in written} == {"day=0", "day=1", "day=2"}
    for file in written:
        assert is_sorted(read(tmp_path / "out", [file]), key)
        assert pq.read_metadata(tmp_path / "out" / file).row_group(0).sorting_columns == (
            pq.SortingColumn(0, nulls_first=True),
        )


def test_rows_that_are_made_once_each_are_sorted_after_that(rebuilder: SparkRebuilder, tmp_path: Path) -> None:
    table = pa.table({"k": [n * 7 % 40 for n in range(400)]})
    parent = put(tmp_path / "p", table)
    child = put(tmp_path / "c", pa.table({"k": list(range(20))}))
    below = Compare(("k",), "<", Literal("int", 20))
    recipe = Recipe(columns(table.schema), below, distinct=True, order=(SortKey(("k",)),))
    steps = instructions(rebuilder, recipe, parent, child)
    (tmp_path / "out").mkdir()
    (written,) = rebuilder.rebuild_many([Rebuild(steps, (parent,), str(tmp_path / "out"), True)])  # type: ignore[arg-type]
    assert isinstance(written, tuple)
    assert read(tmp_path / "out", written) == [{"k": n} for n in range(20)]


def test_a_parent_whose_rows_cannot_say_their_place_is_rebuilt_all_the_same(
    rebuilder: SparkRebuilder, tmp_path: Path
) -> None:
    table = pa.table({"k": [3, 1, 2], "_metadata": ["a", "b", "c"]})
    parent, child = put(tmp_path / "p", table), put(tmp_path / "c", table.sort_by("k"))
    for number, order in enumerate([(SortKey(("k",)),), ()]):
        steps = instructions(rebuilder, Recipe(columns(table.schema), order=order), parent, child)
        into = tmp_path / f"out{number}"
        into.mkdir()
        written = rebuilder.rebuild(recipe=steps, parent=parent, into=str(into), one_file=True)
        (made,) = (pq.read_table(into / file) for file in written)
        assert rows_of(made) == rows_of(table)
        assert not order or made["k"].to_pylist() == [1, 2, 3]
