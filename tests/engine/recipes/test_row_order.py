"""The order of rows is noticed where there is one, and never where there is none; against plain Python."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.recipes.jobs import RecipeJobs
from r2d2.engine.recipes.notice_order import notice_order
from r2d2.engine.recipes.row_order import Steps, place_sums, sequence_sum
from r2d2.engine.recipes.sums import Rebuilt
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.run.inline import Inline
from r2d2.engine.second_reader.declared_order import declared_in, sorting_columns
from r2d2.engine.second_reader.shape import shape_of_file
from r2d2.formats.parquet.read import read_slice
from r2d2.model.literal import Literal
from r2d2.model.predicate import Compare
from r2d2.model.recipe import OutputColumn, Recipe, SortKey
from r2d2.model.schema import Column
from tests.engine.recipes.test_search import stored
from tests.support.order_oracle import in_order, is_sorted

TYPES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [None, -(2**63), -1, 0, 1, 2**63 - 1],
    pa.uint64(): [None, 0, 2**63, 2**64 - 1],
    pa.float64(): [None, -math.inf, -1.5, -0.0, 0.0, 2.0, math.inf, math.nan],
    pa.string(): [None, "", "a", "B", "é", "漢", "\U0001f600", "\uffff"],
    pa.binary(): [None, b"", b"\x00", b"\x7f", b"\xff"],
    pa.bool_(): [None, False, True],
    pa.date32(): [None, datetime.date(1, 1, 1), datetime.date(2024, 2, 29)],
    pa.decimal128(10, 2): [None, Decimal("-1.50"), Decimal("0.00"), Decimal("99.99")],
    pa.timestamp("us"): [None, datetime.datetime(1900, 1, 1), datetime.datetime(2024, 1, 1, 0, 0, 0, 1)],
}
KEY = st.tuples(st.booleans(), st.booleans())


@st.composite
def tables(draw: st.DrawFn, most: int = 12) -> tuple[pa.Table, tuple[SortKey, ...]]:
    """A few columns of any types, sometimes sorted by some of them, and keys."""
    kinds = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=3))
    count = draw(st.integers(0, most))
    columns = [draw(st.lists(st.sampled_from(TYPES[kind]), min_size=count, max_size=count)) for kind in kinds]
    places = draw(st.permutations(range(len(kinds))))[: draw(st.integers(1, len(kinds)))]
    keys = tuple(SortKey((f"c{place}",), *draw(KEY)) for place in places)
    rows = [{f"c{n}": column[row] for n, column in enumerate(columns)} for row in range(count)]
    if draw(st.booleans()):
        rows = in_order(rows, keys)
    schema = pa.schema([(f"c{n}", kind) for n, kind in enumerate(kinds)])
    return pa.Table.from_pylist(rows, schema=schema), keys


@settings(max_examples=400)
@given(tables())
def test_rows_fit_an_order_exactly_if_plain_python_says_so(drawn: tuple[pa.Table, tuple[SortKey, ...]]) -> None:
    table, keys = drawn
    steps = Steps({(name,): table.column(name) for name in table.column_names})
    assert steps.fit(keys) is is_sorted(table.to_pylist(), keys)


@settings(max_examples=300)
@given(st.lists(st.integers(0, 5), max_size=30), st.data())
def test_sequences_have_one_sum_however_they_are_cut_and_others_have_another(rows: list[int], data: Any) -> None:
    hashes = np.random.default_rng(7).integers(0, 2**63, (2, 6), dtype=np.uint64)

    def cut(sequence: list[int]) -> list[Any]:
        ends = sorted(data.draw(st.lists(st.integers(0, len(sequence)), max_size=3)))
        parts = zip([0, *ends], [*ends, len(sequence)], strict=True)
        return [("f", begin, *place_sums(hashes[:, sequence[begin:end]])) for begin, end in parts]

    other = data.draw(st.permutations(rows))
    assert sequence_sum(cut(rows)) == sequence_sum(cut(rows))
    assert (sequence_sum(cut(other)) == sequence_sum(cut(rows))) is (other == rows)


def noticed(
    tmp_path: Path, parent: pa.Table, child: pa.Table, files: int = 1, where: Any = None, **flags: Any
) -> Rebuilt:
    """What the trial of a recipe says, without Spark."""
    tables = [stored(tmp_path / "parent", parent), stored(tmp_path / "child", child, files)]
    if flags:
        pq.write_table(child, tmp_path / "child", row_group_size=7, **flags)
    columns = tuple(OutputColumn(column, column.token) for column in tables[1].columns)
    recipe = Recipe(columns, where)
    hashing = Hashing(read_slice, bytes(32))
    jobs = RecipeJobs(Content(Inline(), tables, hashing, lambda parts: {}), lambda **given: None)
    found = jobs.rebuild({(0, 1): recipe})[0, 1]
    assert found.same
    return found


def shuffled(table: pa.Table, seed: int = 1) -> pa.Table:
    places = list(range(table.num_rows))
    random.Random(seed).shuffle(places)
    return table.take(pa.array(places, pa.int64()))


IDS = pa.table({"a": [n % 4 for n in range(60)], "b": [f"{n * 37 % 60:02}" for n in range(60)]})
A, B = SortKey(("a",)), SortKey(("b",))


def test_further_keys_are_noticed_among_ties(tmp_path: Path) -> None:
    child = IDS.sort_by([("a", "ascending"), ("b", "descending")])
    expected = A, SortKey(("b",), descending=True, nulls_first=False)
    assert noticed(tmp_path, shuffled(IDS), child).order == expected


def test_a_filtered_copy_in_the_parents_order_is_seen_to_be_so(tmp_path: Path) -> None:
    parent = shuffled(IDS)
    child = parent.filter(pa.compute.less(parent["a"], 2))
    below_two = Compare(("a",), "<", Literal("int", 2))
    assert noticed(tmp_path, parent, child, files=3, where=below_two).order == ()
    again = tmp_path / "again"
    again.mkdir()
    assert noticed(again, parent, shuffled(child, 5), where=below_two).order is None


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_shuffled_rows_have_no_order(tmp_path_factory: pytest.TempPathFactory, seed: int, files: int) -> None:
    folder = tmp_path_factory.mktemp("t")
    assert noticed(folder, IDS, shuffled(IDS, seed), files=files) == Rebuilt(60, True)


@settings(max_examples=150)
@given(tables(most=60), st.integers(1, 4), st.integers(0, 99))
def test_every_slice_is_sorted_by_what_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[pa.Table, Any], files: int, seed: int
) -> None:
    table, _ = drawn
    found = noticed(tmp_path_factory.mktemp("t"), shuffled(table, seed), table, files=files)
    step = -(-table.num_rows // files) or 1
    for first in range(0, table.num_rows, step):
        assert is_sorted(table.slice(first, step).to_pylist(), found.order or ())


def test_files_that_are_sorted_one_by_one_are_noticed(tmp_path: Path) -> None:
    halves = [shuffled(IDS).slice(first, 30).sort_by("b") for first in (0, 30)]
    assert noticed(tmp_path, shuffled(IDS, 3), pa.concat_tables(halves), files=2).order == (B,)


def test_a_key_that_is_constant_in_some_files_is_noticed_with_the_next(tmp_path: Path) -> None:
    table = pa.table({"day": [n // 60 for n in range(240)], "v": [n * 37 % 240 for n in range(240)]})
    child = table.sort_by([("day", "ascending"), ("v", "ascending")])
    assert noticed(tmp_path, shuffled(table), child, files=4).order == (SortKey(("day",)), SortKey(("v",)))


@pytest.mark.parametrize(
    ("flag", "order", "lost"),
    [
        ([pq.SortingColumn(0)], (SortKey(("a",), nulls_first=False),), ""),
        ([pq.SortingColumn(1)], (A,), "sorted by b NULLS LAST, and its rows are not"),
        ([pq.SortingColumn(0, True)], (A,), "sorted by a DESC, and its rows are not"),
    ],
)
def test_a_declared_order_counts_if_it_is_true(tmp_path: Path, flag: Any, order: Any, lost: str) -> None:
    child = shuffled(IDS, 4).sort_by("a")
    found = noticed(tmp_path, shuffled(IDS), child, sorting_columns=flag)
    assert found.order == order and found.lost_order.endswith(lost) and bool(found.lost_order) is bool(lost)


def test_orders_inside_structs_are_read_and_written_and_those_inside_lists_are_not(tmp_path: Path) -> None:
    table = pa.table({"l": [[1], [2]], "s": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]})
    flags = [pq.SortingColumn(2, nulls_first=True), pq.SortingColumn(1, descending=True)]
    pq.write_table(table, tmp_path / "s", sorting_columns=flags)
    order = SortKey(("s", "y")), SortKey(("s", "x"), descending=True, nulls_first=False)
    assert declared_in(str(tmp_path / "s")) == shape_of_file(tmp_path / "s").orders == {order}
    assert sorting_columns(order, shape_of_file(tmp_path / "s").nodes) == flags
    pq.write_table(table, tmp_path / "l", sorting_columns=[pq.SortingColumn(0)])
    assert declared_in(str(tmp_path / "l")) == {None}
    pq.write_table(table.slice(0, 0), tmp_path / "e", sorting_columns=flags)
    assert declared_in(str(tmp_path / "e")) == frozenset()


def test_an_order_that_a_person_gives_is_checked() -> None:
    column = OutputColumn(Column(("a",), "int64"), ("a",))
    slices = [{"declared": [[]], "held": [], "asked": []}]
    given_order = Recipe((column,), order=(A,))
    assert notice_order(given_order, slices, rows=9, as_in_parent=True).wrong == "the child is not sorted by a"
    in_place = Recipe((column,), order=())
    assert notice_order(in_place, slices, rows=9, as_in_parent=False).wrong == "the child is not in the parent's order"
    assert not notice_order(in_place, slices, rows=9, as_in_parent=True).wrong
