"""Equal values, and only they, get equal hashes: docs/row-identity.md over all types."""

from __future__ import annotations

import decimal
import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.kernels import NotComparable, hash_column
from r2d2.engine.kernels.mixing import BLOCK_ROWS
from tests.engine.kernels.oracle import (
    KEY,
    LEAVES,
    NUMERIC,
    OTHER,
    TEXT,
    Column,
    arrow_value,
    columns_of,
    fixed_width,
    logical_kinds,
    logical_values,
    meaning_of,
    spellings,
)


def hashes_of(array: pa.Array, token: tuple[str, ...] = ("a",), key: bytes = KEY) -> list[tuple[int, int]]:
    first, second = hash_column(array, token=token, key=key)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def one(value: object, kind: pa.DataType) -> tuple[int, int]:
    return hashes_of(pa.array([value], kind))[0]


def assert_agree(*columns: Column) -> None:
    """Hashes are equal where the oracle says so; where it says no, even one half must differ."""
    by_value: dict[object, set[tuple[int, int]]] = {}
    for column in columns:
        for value, both in zip(column.values, hashes_of(column.array), strict=True):
            by_value.setdefault(value, set()).add(both)
    assert all(len(found) == 1 for found in by_value.values()), by_value
    for half in (0, 1):
        assert len({next(iter(found))[half] for found in by_value.values()}) == len(by_value), by_value


@settings(max_examples=400)
@given(st.lists(columns_of(NUMERIC), min_size=3, max_size=3))
def test_numbers_are_equal_if_and_only_if_mathematics_says_so(columns: list[Column]) -> None:
    assert_agree(*columns)


@settings(max_examples=200)
@given(st.lists(columns_of(TEXT), min_size=2, max_size=2))
def test_strings_and_binary_are_equal_by_bytes_and_never_to_each_other(columns: list[Column]) -> None:
    assert_agree(*columns)


@settings(max_examples=300)
@given(st.lists(columns_of(OTHER), min_size=3, max_size=3))
def test_dates_and_times_are_equal_across_units_and_never_across_meanings(columns: list[Column]) -> None:
    assert_agree(*columns)


@settings(max_examples=200)
@given(st.lists(columns_of(LEAVES), min_size=2, max_size=2))
def test_values_of_different_classes_are_never_equal(columns: list[Column]) -> None:
    assert_agree(*columns)


def test_every_edge_of_every_type_at_once() -> None:
    assert_agree(*(family.column([None, *family.edges]) for family in LEAVES))


@given(st.data())
@settings(max_examples=250)
def test_nested_values_are_equal_if_and_only_if_their_content_is(data: st.DataObject) -> None:
    kind = data.draw(logical_kinds().filter(lambda kind: kind[0] in ("list", "map")))
    columns = []
    for _ in range(2):
        spelled = data.draw(spellings(kind))
        content = data.draw(st.lists(logical_values(kind), max_size=8))
        array = pa.array([arrow_value(kind, spelled, value) for value in content], spelled)
        columns.append(Column(array, [meaning_of(kind, value) for value in content]))
    assert_agree(*columns)


@given(columns_of(LEAVES), st.integers(0, 12), st.integers(0, 12))
def test_a_slice_a_chunk_and_a_dictionary_hash_as_the_whole_does(column: Column, begin: int, length: int) -> None:
    whole = hashes_of(column.array)
    assert hashes_of(column.array.slice(begin, length)) == whole[begin : begin + length]
    chunks = pa.chunked_array([column.array.slice(0, begin), column.array.slice(begin)], column.array.type)
    assert hashes_of(chunks) == whole
    encodable = not pa.types.is_null(column.array.type) and not pa.types.is_float16(column.array.type)
    if encodable:
        try:
            encoded = column.array.dictionary_encode()
        except pa.ArrowNotImplementedError:
            return
        assert hashes_of(encoded.slice(begin, length)) == whole[begin : begin + length]
        assert hashes_of(encoded) == whole


@given(columns_of(LEAVES), st.integers(0, 3))
@settings(max_examples=200)
def test_hashing_leaves_the_array_as_it_was(column: Column, length: int) -> None:
    """A block of one row has buffers of every layout at once, so that a copy may turn out to be a view."""
    array = column.array.slice(0, length)
    before = [buffer and buffer.to_pybytes() for buffer in array.buffers()]
    assert hashes_of(array) == hashes_of(array)
    assert [buffer and buffer.to_pybytes() for buffer in array.buffers()] == before


@given(st.data())
@settings(max_examples=100)
def test_a_slice_of_nested_values_hashes_as_the_whole_does(data: st.DataObject) -> None:
    kind = data.draw(logical_kinds().filter(lambda kind: kind[0] in ("list", "map")))
    spelled = data.draw(spellings(kind))
    content = data.draw(st.lists(logical_values(kind), max_size=8))
    array = pa.array([arrow_value(kind, spelled, value) for value in content], spelled)
    begin, length = data.draw(st.integers(0, 8)), data.draw(st.integers(0, 8))
    assert hashes_of(array.slice(begin, length)) == hashes_of(array)[begin : begin + length]


def test_the_examples_of_the_design() -> None:
    assert one(2**53 + 1, pa.int64()) != one(float(2**53), pa.float64())
    assert one(2**53, pa.int64()) == one(float(2**53), pa.float64())
    assert (
        one(Decimal("1.50"), pa.decimal128(5, 2)) == one(1.5, pa.float64()) == one(Decimal("1.5"), pa.decimal256(50, 1))
    )
    assert one(Decimal("0.1"), pa.decimal128(5, 1)) != one(0.1, pa.float64())
    with decimal.localcontext(prec=76):
        exactly = Decimal.from_float(0.1)
        assert one(exactly, pa.decimal256(76, 55)) == one(0.1, pa.float64()) != one(0.1, pa.float32())
    assert one("01", pa.string()) != one("1", pa.string()) != one(1, pa.int8())
    assert one(0, pa.int8()) == one(0.0, pa.float64()) != one(-0.0, pa.float64())
    assert one(-0.0, pa.float32()) == one(-0.0, pa.float64())
    assert one(True, pa.bool_()) != one(1, pa.int8())
    assert one(2**64 - 1, pa.uint64()) != one(-1, pa.int64())


def test_every_nan_is_the_same_value() -> None:
    patterns = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF], np.uint64)
    doubles = hashes_of(pa.array(patterns.view(np.float64), from_pandas=False))
    assert len({*doubles, one(np.float32("nan"), pa.float32()), one(np.float16("nan"), pa.float16())}) == 1
    assert doubles[0] != one(None, pa.float64())


def test_null_is_one_value_whatever_the_type_and_another_in_every_column() -> None:
    kinds = [
        pa.null(),
        pa.int64(),
        pa.string(),
        pa.list_(pa.int8()),
        pa.dictionary(pa.int8(), pa.string()),
        pa.decimal128(5, 2),
    ]
    assert len({one(None, kind) for kind in kinds}) == 1
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int8()), pa.array(["x", None]))
    assert hashes_of(encoded)[1:] == [one(None, pa.null())] * 2
    assert hashes_of(pa.nulls(1), ("a",)) != hashes_of(pa.nulls(1), ("b",))


def test_a_dictionary_may_be_larger_than_its_column_and_of_views() -> None:
    """Polars' categoricals come like that, and pyarrow 26 cannot decode them."""
    encoded = pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0], pa.uint32()), pa.array(["a", "b", "c"], pa.string_view())
    )
    assert hashes_of(encoded.slice(0, 1)) == hashes_of(encoded)[:1] == hashes_of(pa.array(["c"]))
    assert hashes_of(encoded) == hashes_of(pa.array(["c", None, "a"]))


def test_null_empty_and_null_inside_are_three_lists() -> None:
    a, b, c, d = hashes_of(pa.array([None, [], [None], [None, None]], pa.list_(pa.int8())))
    assert len({a, b, c, d}) == 4
    nested = hashes_of(pa.array([[[]], [], [[], []], [None], [[None]]], pa.list_(pa.list_(pa.int8()))))
    assert len(set(nested)) == 5
    point = pa.list_(pa.struct([("x", pa.int8())]))
    assert len(set(hashes_of(pa.array([[None], [{"x": None}], []], point)))) == 3


def test_what_lies_under_a_null_list_does_not_count() -> None:
    values, content = pa.array([1, 2, 3], pa.int8()), [[1], None, [3]]
    bounds, lengths = pa.array([0, 1, 2, 3], pa.int32()), pa.array([1, 1, 1], pa.int32())
    hole = pa.array([False, True, False])
    hidden = [
        pa.ListArray.from_arrays(bounds, values, mask=hole),
        pa.ListViewArray.from_arrays(bounds[:3], lengths, values, mask=hole),
        pa.FixedSizeListArray.from_arrays(values, 1, mask=hole),
    ]
    plain = hashes_of(pa.array(content, pa.list_(pa.int8())))
    assert [hashes_of(array) for array in hidden] == [plain, plain, plain]
    entries = pa.MapArray.from_arrays(bounds, pa.array(["a", "b", "c"]), values, mask=hole)
    assert hashes_of(entries) == hashes_of(pa.array([[("a", 1)], None, [("c", 3)]], entries.type))


def test_order_counts_in_lists_and_not_in_maps() -> None:
    assert one([1, 2], pa.list_(pa.int8())) != one([2, 1], pa.list_(pa.int8()))
    kind = pa.map_(pa.string(), pa.int8())
    assert one([("a", 1), ("b", 2)], kind) == one([("b", 2), ("a", 1)], kind) != one([("a", 2), ("b", 1)], kind)
    as_list = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int8())]))
    assert one([("a", 1)], kind) != one([{"key": "a", "value": 1}], as_list)


def test_a_fixed_size_list_is_a_list() -> None:
    content = [[1, 2], None, [None, 3], [4, 5]]
    fixed, plain = pa.array(content, pa.list_(pa.int8(), 2)), pa.array(content, pa.list_(pa.int64()))
    assert hashes_of(fixed) == hashes_of(plain)
    assert hashes_of(fixed.slice(1, 2)) == hashes_of(plain)[1:3]


def test_structs_inside_lists_go_by_field_name() -> None:
    one_way = pa.list_(pa.struct([("x", pa.int8()), ("y", pa.int8())]))
    other_way = pa.list_(pa.struct([("y", pa.int64()), ("x", pa.int64())]))
    assert one([{"x": 1, "y": 2}], one_way) == one([{"x": 1, "y": 2}], other_way) != one([{"x": 2, "y": 1}], one_way)


def test_a_uuid_is_its_sixteen_bytes_and_run_ends_are_their_values() -> None:
    number = uuid.UUID(int=12345)
    assert hashes_of(pa.array([number.bytes], pa.uuid())) == [one(number.bytes, pa.binary(16))]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None]))
    assert hashes_of(runs) == hashes_of(pa.array(["a", "a", None]))


def test_token_and_key_both_count() -> None:
    array = pa.array([1])
    tokens = [("a", "b"), ("a.b",), ("ab",), ("acb",), ("a", "b", ""), ("b", "a"), ("a\0",), ()]
    keys = (bytes(16), bytes(32), b"k" * 16)
    assert len({hashes_of(array, token, key)[0] for token in tokens for key in keys}) == len(tokens) * len(keys)
    with pytest.raises(ValueError, match="16 or 32"):
        hash_column(array, token=("a",), key=b"short")


@pytest.mark.parametrize(
    "kind",
    [
        pa.month_day_nano_interval(),
        pa.dense_union([pa.field("a", pa.int8())]),
        pa.list_(pa.month_day_nano_interval()),
        pa.opaque(pa.binary(), "x", "y"),
        pa.bool8(),
        pa.list_(pa.struct([("x", pa.int8()), ("x", pa.int8())])),
        pa.dictionary(pa.int8(), pa.month_day_nano_interval()),
    ],
    ids=str,
)
def test_a_type_without_a_defined_equality_is_refused_by_name(kind: pa.DataType) -> None:
    with pytest.raises(NotComparable, match=r"column a\.b cannot be compared") as refused:
        hash_column(pa.chunked_array([], kind), token=("a", "b"), key=KEY)
    assert refused.value.token == ("a", "b")


def test_a_date64_inside_a_day_is_refused_unless_it_is_under_a_null() -> None:
    kind = pa.date64()
    with pytest.raises(NotComparable, match="not a whole day"):
        hash_column(fixed_width(kind, [86_400_001], 8), token=("d",), key=KEY)
    assert hashes_of(fixed_width(kind, [None], 8)) == [one(None, pa.null())]  # 0x5A milliseconds underneath


def test_blocks_leave_no_seam() -> None:
    """Longer than a block, with long and short strings, against the same values one by one."""
    count = BLOCK_ROWS + 100
    content = [None if n % 11 == 0 else "v" * (n % 40) + str(n % 7) for n in range(count)]
    whole = hashes_of(pa.array(content, pa.string()))
    distinct = sorted({value for value in content if value is not None})
    alone = {value: hashes_of(pa.array([value], pa.string_view()))[0] for value in distinct}
    alone[None] = one(None, pa.null())
    assert whole == [alone[value] for value in content]


def test_very_long_values_hash_the_same_alone_and_in_company() -> None:
    """Alone a value is read along, in company across; beyond 2^16 words always along."""
    sizes = [13, 21, 300, 4_000, 600_000]
    values = [bytes(np.random.default_rng(size).integers(0, 256, size, np.uint8)) for size in sizes]
    alone = {value: hashes_of(pa.array([value], pa.binary()))[0] for value in values}
    company = [*(values[n % 4] for n in range(200)), *values]
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        assert hashes_of(pa.array(company, kind)) == [alone[value] for value in company]
    assert hashes_of(pa.array([values[-1][:-1] + b"\0", values[-1][:-1]], pa.binary())) != [alone[values[-1]]] * 2
