"""Each transformation does what it says, on any table, however the table is cut into batches."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.synthetic import brute_force_edges, rows_of
from r2d2.synthetic.columns import takes_noise
from r2d2.synthetic.conditions import Between, OneOf
from r2d2.synthetic.draw import DEFAULT_MIX, Chooser
from r2d2.synthetic.reservoir import Reservoir
from r2d2.synthetic.steps_json import step_to_json
from r2d2.synthetic.stream import Stream, rechunk, split, stream_of
from r2d2.synthetic.transform import (
    AddColumn,
    AddNoise,
    AddRows,
    Copy,
    KeepFields,
    RepeatRows,
    SelectWhere,
    ShuffleRows,
    Step,
    WidenTypes,
    apply_steps,
)
from tests.support.lineage import step_from_json

SCHEMA = pa.schema(
    [
        ("tiny", pa.int8()),
        ("big", pa.int64()),
        ("real", pa.float64()),
        ("single", pa.float32()),
        ("price", pa.decimal128(6, 2)),
        ("word", pa.string()),
        ("day", pa.date32()),
        ("at", pa.timestamp("ms", "UTC")),
        ("flag", pa.bool_()),
        ("place", pa.struct([("city", pa.string()), ("lat", pa.float64())])),
        ("tags", pa.list_(pa.string())),
    ]
)
real = st.floats(-1e6, 1e6, width=32).map(lambda x: x + 0.0)
row = st.fixed_dictionaries(
    {
        "tiny": st.integers(-128, 127) | st.none(),
        "big": st.integers(-(2**63), 2**63 - 1) | st.none(),
        "real": real | st.none(),
        "single": real | st.none(),
        "price": st.decimals(-9999, 9999, places=2).map(lambda x: x + Decimal(0)) | st.none(),
        "word": st.sampled_from(["", "a", "b", "c", "01"]) | st.none(),
        "day": st.dates() | st.none(),
        "at": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)).map(
            _ms := lambda x: x.replace(microsecond=0)
        )
        | st.none(),
        "flag": st.booleans() | st.none(),
        "place": st.fixed_dictionaries({"city": st.text(max_size=2) | st.none(), "lat": real}) | st.none(),
        "tags": st.lists(st.sampled_from("xyz") | st.none(), max_size=3) | st.none(),
    }
)
tables = st.lists(row, max_size=25).map(lambda rows: pa.Table.from_pylist(rows, SCHEMA))
seeds = st.integers(0, 2**53 - 1)
shares = st.floats(0, 1)
few = settings(max_examples=30, deadline=None)
EVERY_STEP: list[Step] = [
    Copy(),
    SelectWhere(("big", "word"), (OneOf("word", ("a", None)),)),
    KeepFields("place", ("lat",)),
    AddRows(0.5, seed=1, reservoir_rows=4),
    RepeatRows(0.5, seed=2),
    AddColumn("new", (("tiny", 2.0), ("price", -1.5)), 3.0),
    AddNoise("real", 10.0, 0.5, seed=3),
    AddNoise("price", 10.0, 0.5, seed=4),
    ShuffleRows(4, seed=5),
    WidenTypes(("tiny", "single", "price", "word")),
]
named = pytest.mark.parametrize("step", EVERY_STEP, ids=lambda step: type(step).__name__)


def applied(step: Step, table: pa.Table, batch_rows: int = 1000) -> pa.Table:
    return step.apply(stream_of(table, batch_rows=batch_rows)).to_table()


def bag(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(rows_of(table).rows)


def edge_holds(*, parent: pa.Table, child: pa.Table) -> bool:
    edges = brute_force_edges({"parent": rows_of(parent), "child": rows_of(child)})
    return any(edge.parent == "parent" and edge.bag for edge in edges)


@named
@settings(max_examples=15, deadline=None)
@given(table=tables, cut=st.integers(1, 9))
def test_the_result_does_not_depend_on_the_batches_and_fits_its_schema(step: Step, table: pa.Table, cut: int) -> None:
    whole, cut_up = applied(step, table), applied(step, table, cut)
    assert rows_of(whole).rows == rows_of(cut_up).rows
    assert step.apply(stream_of(table)).schema == whole.schema
    whole.validate(full=True)


@named
@settings(max_examples=10, deadline=None)
@given(table=tables, most=st.integers(1, 6))
def test_no_batch_exceeds_the_limit(step: Step, table: pa.Table, most: int) -> None:
    steps = [step, RepeatRows(1.0, seed=1), ShuffleRows(50, seed=1)]
    batches = list(apply_steps(steps, stream_of(table, batch_rows=most), batch_rows=most).batches)
    assert all(0 < batch.num_rows <= most for batch in batches)


@named
def test_rows_come_out_before_the_source_is_read_to_its_end(step: Step) -> None:
    read = 0

    def endless() -> Iterator[pa.RecordBatch]:
        nonlocal read
        while True:
            read += 1
            yield pa.RecordBatch.from_pylist([{"tiny": 1, "word": "a", "price": Decimal("1.00")}] * 4, SCHEMA)

    assert len(list(islice(step.apply(Stream(SCHEMA, endless())).batches, 5))) == 5
    assert read <= 6


@named
def test_a_step_survives_the_way_to_json_and_back(step: Step) -> None:
    assert step_from_json(json.loads(json.dumps(step_to_json(step)))) == step


@few
@given(
    tables,
    st.lists(st.sampled_from(["a", "", "01", "zzz", None]), min_size=1),
    st.integers(-9, 9),
    st.integers(-9, 9),
)
def test_select_keeps_exactly_the_columns_and_rows_asked_for(
    table: pa.Table, words: list[str | None], low: int, high: int
) -> None:
    step = SelectWhere(("tiny", "tags"), (OneOf("word", tuple(words)), Between("real", str(low), str(high))))
    rows = [r for r in table.to_pylist() if r["word"] in words and r["real"] is not None and low <= r["real"] <= high]
    assert applied(step, table).to_pylist() == [{"tiny": r["tiny"], "tags": r["tags"]} for r in rows]


@few
@given(tables.filter(len), st.data())
def test_a_condition_on_a_value_of_any_column_finds_that_row(table: pa.Table, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SCHEMA.names[:9]))
    value = table[name][data.draw(st.integers(0, len(table) - 1))]
    text = value.cast(pa.string()).as_py()
    equal = SelectWhere((name,), (OneOf(name, (text,)),))
    expected = [v for v in table[name].to_pylist() if v == value.as_py()]
    assert applied(equal, table)[name].to_pylist() == expected
    if text is not None and name != "flag":
        around = SelectWhere((name,), (Between(name, text, text),))
        assert applied(around, table)[name].to_pylist() == expected


@few
@given(tables, shares, seeds)
def test_added_rows_follow_the_old_and_take_each_value_from_its_column(
    table: pa.Table, share: float, seed: int
) -> None:
    grown = applied(AddRows(share, seed, reservoir_rows=5), table)
    assert grown.slice(0, len(table)).equals(table)
    assert len(grown) == len(table) + round(share * len(table))
    for name in table.column_names:
        assert edge_holds_as_set(parent=table.select([name]), child=grown.select([name]))


def edge_holds_as_set(*, parent: pa.Table, child: pa.Table) -> bool:
    return set(rows_of(child).rows) <= set(rows_of(parent).rows)


@few
@given(tables, shares, seeds)
def test_repeated_rows_keep_the_set_and_at_most_double_the_bag(table: pa.Table, share: float, seed: int) -> None:
    before, after = bag(table), bag(applied(RepeatRows(share, seed), table))
    assert set(before) == set(after)
    assert all(before[row] <= after[row] <= 2 * before[row] for row in before)


@few
@given(tables, st.floats(-5, 5), st.floats(-5, 5))
def test_the_added_column_is_the_linear_combination(table: pa.Table, weight: float, constant: float) -> None:
    wide = applied(AddColumn("new", (("tiny", weight), ("price", 2.0)), constant), table)
    assert wide.select(SCHEMA.names).equals(table)
    for row in wide.to_pylist():
        if row["tiny"] is None or row["price"] is None:
            assert row["new"] is None
        else:
            expected = constant + row["tiny"] * weight + float(row["price"]) * 2.0
            assert row["new"] == pytest.approx(expected, abs=1e-9)
    assert not any(str(value) == "-0.0" for value in wide["new"].to_pylist())


@few
@given(
    tables,
    st.sampled_from([f.name for f in SCHEMA if takes_noise(f.type)]),
    st.floats(0.1, 1e6),
    shares,
    seeds,
)
def test_noise_touches_one_column_and_leaves_nulls_and_types(
    table: pa.Table, name: str, scale: float, share: float, seed: int
) -> None:
    noisy = applied(AddNoise(name, scale, share, seed), table)
    others = [other for other in SCHEMA.names if other != name]
    assert noisy.schema == SCHEMA
    assert noisy.select(others).equals(table.select(others))
    assert noisy[name].is_null().equals(table[name].is_null())
    assert share > 0 or noisy[name].equals(table[name])


def test_noise_moves_about_the_share_of_rows_it_was_given_and_stays_in_range() -> None:
    numbers = np.arange(20_000) % 100
    for kind in (pa.int8(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(4, 2)):
        table = pa.table({"x": pa.array(numbers).cast(pa.float64()).cast(kind)})
        noisy = applied(AddNoise("x", 3.0, 0.25, seed=5), table)
        moved = sum(a != b for a, b in zip(table["x"].to_pylist(), noisy["x"].to_pylist(), strict=True))
        assert 0.23 < moved / len(table) < 0.27, kind
        distance = np.abs(noisy["x"].cast(pa.float64()).to_numpy() - numbers)
        assert 1 < distance[distance > 0].mean() < 5, kind


@few
@given(tables, st.integers(1, 8), seeds)
def test_shuffled_rows_are_the_same_rows_and_stay_in_their_window(table: pa.Table, window: int, seed: int) -> None:
    shuffled = applied(ShuffleRows(window, seed), table)
    for start in range(0, len(table), window):
        assert bag(shuffled.slice(start, window)) == bag(table.slice(start, window))


@few
@given(tables)
def test_widened_types_hold_the_same_values(table: pa.Table) -> None:
    wide = applied(WidenTypes(tuple(SCHEMA.names)), table)
    assert [str(wide.schema.field(n).type) for n in ("tiny", "single", "price")] == [
        "int64",
        "double",
        "decimal128(12, 4)",
    ]
    assert rows_of(wide).rows == rows_of(table).rows


@few
@given(tables)
def test_a_narrowed_struct_keeps_the_chosen_fields_and_its_nulls(table: pa.Table) -> None:
    narrow = applied(KeepFields("place", ("lat",)), table)
    assert narrow["place"].to_pylist() == [p and {"lat": p["lat"]} for p in table["place"].to_pylist()]
    assert edge_holds(parent=table, child=narrow)


@settings(max_examples=40, deadline=None)
@given(tables.filter(len), seeds, st.sampled_from(list(DEFAULT_MIX)))
def test_every_kind_that_can_be_drawn_applies_and_survives_json(table: pa.Table, seed: int, kind: str) -> None:
    steps = Chooser(seed=1, skew=1.2, mix={kind: 1.0}).steps(table, np.random.default_rng(seed))
    assert steps
    again = [step_from_json(json.loads(json.dumps(step_to_json(step)))) for step in steps]
    first, second = (apply_steps(s, stream_of(table), batch_rows=7).to_table() for s in (steps, again))
    assert rows_of(first).rows == rows_of(second).rows
    if kind in ("select", "copy"):
        assert first.num_rows >= 1
        assert edge_holds(parent=table, child=first)


def test_hot_columns_are_chosen_most_of_the_time() -> None:
    habits = Chooser(seed=4, skew=1.2, mix=DEFAULT_MIX)
    random = np.random.default_rng(0)
    names = [f"column_{i}" for i in range(10)]
    picks = Counter(name for _ in range(500) for name in habits.pick_columns(names, 1, random))
    counts = sorted(picks.values(), reverse=True)
    assert counts[0] > 3 * counts[4]


@given(st.lists(st.integers(0, 12), max_size=8), st.integers(1, 10))
def test_rechunk_and_split_keep_the_rows_and_the_bounds(sizes: list[int], rows: int) -> None:
    batches = [pa.RecordBatch.from_arrays([pa.array(range(n), pa.int64())], ["x"]) for n in sizes]
    everything = [x for n in sizes for x in range(n)]
    exact, bounded = list(rechunk(batches, rows=rows)), list(split(batches, rows=rows))
    assert [x for batch in exact for x in batch.column(0).to_pylist()] == everything
    assert [x for batch in bounded for x in batch.column(0).to_pylist()] == everything
    assert all(batch.num_rows == rows for batch in exact[:-1])
    assert all(0 < batch.num_rows <= rows for batch in [*exact[-1:], *bounded])


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 30), seeds)
def test_a_reservoir_keeps_the_same_rows_however_they_arrive(total: int, rows: int, cut: int, seed: int) -> None:
    table = pa.table({"x": range(total)})
    held = []
    for batch_rows in (cut, total):
        reservoir = Reservoir(rows=rows, seed=seed)
        for batch in table.to_batches(max_chunksize=batch_rows):
            reservoir.add(batch)
        sample = reservoir.sample()
        assert sample is not None
        held.append(sample["x"].to_pylist())
    assert held[0] == held[1]
    assert len(held[0]) == len(set(held[0])) == min(rows, total)


def test_a_reservoir_gives_every_row_the_same_chance() -> None:
    kept: Counter[int] = Counter()
    for seed in range(600):
        reservoir = Reservoir(rows=5, seed=seed)
        for batch in pa.table({"x": range(50)}).to_batches(max_chunksize=7):
            reservoir.add(batch)
        sample = reservoir.sample()
        assert sample is not None
        kept.update(sample["x"].to_pylist())
    assert all(30 < kept[x] < 95 for x in range(50))  # 60 expected; 4.8 standard deviations
