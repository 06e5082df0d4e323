"""Row hashes: sums of column hashes, for any projection, whatever the order of columns or the cut into chunks."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.kernels import (
    Fingerprint,
    NotComparable,
    fingerprint,
    hash_column,
    hash_rows,
)
from r2d2.engine.kernels.mixing import BLOCK_ROWS
from r2d2.engine.kernels.row_hash import plan_sums
from r2d2.synthetic.oracle.truth_rows import flatten
from tests.engine.kernels.oracle import KEY

COLUMNS = ("a", "b", "c", "d", "e")
cells = st.none() | st.integers(0, 2)
tables = st.lists(st.tuples(*(cells for _ in COLUMNS)), max_size=12)
projections = st.lists(st.sets(st.sampled_from(COLUMNS), min_size=1).map(sorted), min_size=1, max_size=6)


def columns_of(
    rows: list[tuple[int | None, ...]], names: tuple[str, ...] = COLUMNS
) -> dict[tuple[str, ...], pa.ChunkedArray]:
    table = pa.table({name: pa.array([row[place] for row in rows], pa.int8()) for place, name in enumerate(names)})
    return flatten(table)


def as_tuples(hashes: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(*hashes.tolist(), strict=True))


@given(tables, projections)
def test_rows_are_equal_if_and_only_if_their_projected_values_are(
    rows: list[tuple[int | None, ...]], chosen: list[list[str]]
) -> None:
    found = hash_rows(columns_of(rows), projections=[[(name,) for name in names] for names in chosen], key=KEY)
    for names, hashes in zip(chosen, found, strict=True):
        values = [tuple(sorted((name, row[COLUMNS.index(name)]) for name in names)) for row in rows]
        by_value: dict[object, set[tuple[int, int]]] = {}
        for value, row_hash in zip(values, as_tuples(hashes), strict=True):
            by_value.setdefault(value, set()).add(row_hash)
        assert all(len(hashed) == 1 for hashed in by_value.values())
        assert len(set().union(*by_value.values())) == len(by_value) if by_value else True


@given(tables, projections)
def test_a_projection_costs_no_second_look_and_changes_nothing(
    rows: list[tuple[int | None, ...]], chosen: list[list[str]]
) -> None:
    """Together or alone, with or without other columns, a projection gives the same."""
    wanted = [[(name,) for name in names] for names in chosen]
    together = hash_rows(columns_of(rows), projections=wanted, key=KEY)
    for projection, hashes in zip(wanted, together, strict=True):
        alone = {token: column for token, column in columns_of(rows).items() if token in projection}
        assert (hash_rows(alone, projections=[projection], key=KEY)[0] == hashes).all()


@given(tables, st.permutations(COLUMNS))
def test_the_order_of_columns_does_not_count(rows: list[tuple[int | None, ...]], order: list[str]) -> None:
    """HAZARDS 5."""
    shuffled = [tuple(row[COLUMNS.index(name)] for name in order) for row in rows]
    whole = [[(name,) for name in COLUMNS]]
    assert (
        hash_rows(columns_of(rows), projections=whole, key=KEY)[0]
        == hash_rows(columns_of(shuffled, tuple(order)), projections=whole, key=KEY)[0]
    ).all()


@given(st.lists(st.sets(st.integers(0, 9)), max_size=12))
def test_the_plan_of_sums_gives_every_projection(wanted: list[set[int]]) -> None:
    done: dict[int, set[int]] = {}
    for projection, start, add, subtract in plan_sums(wanted):
        base = set() if start is None else done[start]
        assert not base & set(add) and set(subtract) <= base
        done[projection] = (base | set(add)) - set(subtract)
    assert [done[number] for number in range(len(wanted))] == wanted


def test_values_that_change_places_change_the_hash() -> None:
    """(null, a) is not (a, null): HAZARDS 4."""
    one, other = columns_of([(None, 1, 0, 0, 0)]), columns_of([(1, None, 0, 0, 0)])
    whole = [[(name,) for name in COLUMNS]]
    assert (hash_rows(one, projections=whole, key=KEY)[0] != hash_rows(other, projections=whole, key=KEY)[0]).all()


@pytest.mark.parametrize("chunk", [1, 7, BLOCK_ROWS, BLOCK_ROWS + 1])
def test_chunks_leave_no_seam(chunk: int) -> None:
    rows = min(2 * BLOCK_ROWS + 5, 500 * chunk)
    numbers = pa.array(range(rows), pa.int64())
    words = pa.array([f"{n}" * (n % 5) for n in range(rows)], pa.string())
    encoded = pa.array([str(n % 3) for n in range(rows)]).dictionary_encode()
    whole = pa.table({"n": numbers, "w": words, "e": encoded})
    pieces = pa.concat_tables([whole.slice(begin, chunk) for begin in range(0, rows, chunk)])
    plain = whole.set_column(2, "e", encoded.dictionary_decode())
    everything = [[("n",), ("w",), ("e",)]]
    found = [hash_rows(flatten(table), projections=everything, key=KEY)[0] for table in (whole, pieces, plain)]
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_an_empty_table_has_no_hashes_and_an_empty_projection_is_refused() -> None:
    empty = hash_rows(columns_of([]), projections=[[("a",)], [("b",)]], key=KEY)
    assert [hashes.shape for hashes in empty] == [(2, 0), (2, 0)]
    assert hash_rows({}, projections=[], key=KEY) == []
    with pytest.raises(ValueError, match="without columns"):
        hash_rows(columns_of([]), projections=[[("a",)], []], key=KEY)
    with pytest.raises(KeyError):
        hash_rows(columns_of([]), projections=[[("missing",)]], key=KEY)


@pytest.mark.parametrize("bits", [1, 8, 63, 64, 65, 127, 128])
def test_fewer_bits_are_the_upper_bits(bits: int) -> None:
    columns = flatten(pa.table({"n": range(1000)}))
    full = [first << 64 | second for first, second in as_tuples(hash_rows(columns, projections=[[("n",)]], key=KEY)[0])]
    cut = [
        first << 64 | second
        for first, second in as_tuples(hash_rows(columns, projections=[[("n",)]], key=KEY, bits=bits)[0])
    ]
    assert cut == [number >> (128 - bits) << (128 - bits) for number in full]


@pytest.mark.parametrize("bits", [0, 129])
def test_a_hash_has_one_to_128_bits(bits: int) -> None:
    with pytest.raises(ValueError, match="1 to 128"):
        hash_rows(columns_of([]), projections=[[("a",)]], key=KEY, bits=bits)


# Structs at the top.


def test_a_null_struct_is_a_struct_of_nulls() -> None:
    kind = pa.struct([("x", pa.int8()), ("in", pa.struct([("y", pa.string())]))])
    content = [
        {"x": 1, "in": {"y": "a"}},
        {"x": 1, "in": None},
        {"x": 1, "in": {"y": None}},
        None,
        {"x": None, "in": {"y": None}},
    ]
    columns = flatten(pa.table({"p": pa.array(content, kind), "p.x": pa.array(range(5))}))
    assert list(columns) == [("p", "x"), ("p", "in", "y"), ("p.x",)]
    a, b, c, d, e = as_tuples(hash_rows(columns, projections=[[("p", "x"), ("p", "in", "y")]], key=KEY)[0])
    assert b == c and d == e and len({a, b, d}) == 3
    sliced = flatten(pa.table({"p": pa.array(content, kind)}).slice(1, 3))
    assert as_tuples(hash_rows(sliced, projections=[list(sliced)], key=KEY)[0]) == [b, c, d]


def test_a_field_under_a_null_struct_is_null_even_where_its_own_bytes_say_otherwise() -> None:
    inner = pa.array([7, 8], pa.int8())
    hidden = pa.StructArray.from_arrays([inner], ["x"], mask=pa.array([False, True]))
    assert flatten(pa.table({"p": hidden}))[("p", "x")].to_pylist() == [7, None]


def test_what_cannot_be_hashed_is_refused_by_name() -> None:
    with pytest.raises(NotComparable, match=r"column d.at cannot be compared: values of type"):
        kind = pa.struct([("at", pa.month_day_nano_interval())])
        columns = flatten(pa.table({"d": pa.array([None], kind)}))
        hash_rows(columns, projections=[list(columns)], key=KEY)
    with pytest.raises(ValueError, match="hash its fields"):
        hash_column(pa.array([{"x": 1}]), token=("s",), key=KEY)


def test_polars_and_pyarrow_give_the_same_hashes() -> None:
    content = {
        "text": (["a", None, "long enough to leave the view"], pl.String, pa.string()),
        "category": (["a", None, "b"], pl.Categorical, pa.string()),
        "choice": (["a", None, "b"], pl.Enum(["b", "a"]), pa.large_string()),
        "bytes": ([b"a", None, b"long enough to leave the view"], pl.Binary, pa.binary()),
        "price": ([Decimal("1.50"), None, Decimal("2.25")], pl.Decimal(10, 2), pa.decimal128(20, 5)),
        "half": ([0.5, None, -0.0], pl.Float16, pa.float64()),
        "number": ([1, None, 255], pl.UInt8, pa.float32()),
        "array": ([[1, 2], None, [3, None]], pl.Array(pl.Int8, 2), pa.list_(pa.int64())),
        "list": ([["a"], None, []], pl.List(pl.String), pa.large_list(pa.large_string())),
        "nothing": ([None, None, None], pl.Null, pa.int32()),
        "flag": ([True, None, False], pl.Boolean, pa.bool_()),
    }
    frame = pl.DataFrame({name: pl.Series(values, dtype=theirs) for name, (values, theirs, _) in content.items()})
    table = pa.table({name: pa.array(values, ours) for name, (values, _, ours) in content.items()})
    for name in content:
        ours, theirs = table.column(name), frame[name].to_arrow(compat_level=pl.CompatLevel.newest())
        hashes = [hash_column(column, token=(name,), key=KEY) for column in (ours, theirs)]
        assert (hashes[0] == hashes[1]).all(), name


# Fingerprints.


@given(tables, st.randoms())
@settings(max_examples=50)
def test_a_fingerprint_knows_the_rows_and_not_their_order(rows: list[tuple[int | None, ...]], random: object) -> None:
    whole = [[(name,) for name in COLUMNS]]
    shuffled = rows.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    print_of = lambda some: fingerprint(hash_rows(columns_of(some), projections=whole, key=KEY)[0])  # noqa: E731
    assert print_of(rows) == print_of(shuffled) == print_of(rows[:3]) + print_of(rows[3:])
    assert (print_of(rows) == print_of([*rows[1:], *rows[:1], (9, 9, 9, 9, 9)])) is False
    if rows:
        assert print_of(rows) != print_of([*rows[:-1], (9, 9, 9, 9, 9)]) != Fingerprint()


def test_a_fingerprint_knows_which_values_stood_in_one_row() -> None:
    one, other = (
        columns_of([(1, 1, 0, 0, 0), (2, 2, 0, 0, 0)]),
        columns_of([(1, 2, 0, 0, 0), (2, 1, 0, 0, 0)]),
    )
    whole = [[(name,) for name in COLUMNS]]
    assert fingerprint(hash_rows(one, projections=whole, key=KEY)[0]) != fingerprint(
        hash_rows(other, projections=whole, key=KEY)[0]
    )
