"""The compiled loops give the hashes that NumPy gives, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.kernels import block_of, find_missing, hash_column, hash_rows, merge
from r2d2.engine.kernels.loops import LOOPS
from r2d2.engine.kernels.mixing import Hashes
from tests.engine.kernels.oracle import (
    LEAVES,
    Column,
    arrow_value,
    columns_of,
    logical_kinds,
    logical_values,
    spellings,
)
from tests.engine.kernels.test_hash_stability import GOLDEN, KEY, in_hex

TOKEN = ("a", "b")


@contextmanager
def loops(compiled: bool) -> Iterator[None]:
    before = LOOPS.compiled
    LOOPS.compiled = None
    if compiled:
        LOOPS.load()
        assert LOOPS.compiled, "Numba is installed where tests run"
    try:
        yield
    finally:
        LOOPS.compiled = before


def both(column: pa.Array | pa.ChunkedArray) -> tuple[Hashes, Hashes]:
    with loops(compiled=False):
        plain = hash_column(column, token=TOKEN, key=KEY)
    with loops(compiled=True):
        return plain, hash_column(column, token=TOKEN, key=KEY)


def assert_same(column: pa.Array | pa.ChunkedArray) -> None:
    plain, fast = both(column)
    np.testing.assert_array_equal(plain, fast)


@settings(max_examples=400)
@given(columns_of(LEAVES), st.integers(0, 12), st.integers(0, 12))
def test_every_type_hashes_alike_whole_and_in_slices(column: Column, begin: int, length: int) -> None:
    assert_same(column.array)
    assert_same(column.array.slice(begin, length))


def test_every_edge_of_every_type_hashes_alike() -> None:
    for family in LEAVES:
        assert_same(family.column([None, *family.edges]).array)


@settings(max_examples=100)
@given(st.data())
def test_nested_values_hash_alike(data: st.DataObject) -> None:
    kind = data.draw(logical_kinds().filter(lambda kind: kind[0] in ("list", "map")))
    spelled = data.draw(spellings(kind))
    content = data.draw(st.lists(logical_values(kind), max_size=8))
    assert_same(pa.array([arrow_value(kind, spelled, value) for value in content], spelled))


@settings(max_examples=200)
@given(st.lists(st.none() | st.binary(max_size=30) | st.integers(0, 700).map(bytes), max_size=20), st.integers(0, 5))
def test_bytes_of_every_length_hash_alike_in_every_layout(values: list[bytes | None], skip: int) -> None:
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        assert_same(pa.array(values, kind).slice(skip))


@pytest.mark.parametrize(("value", "kind", "golden"), GOLDEN)
def test_the_compiled_loops_give_the_golden_hashes(value: object, kind: pa.DataType, golden: str) -> None:
    with loops(compiled=True):
        column = pa.array([value], kind)
        assert in_hex(hash_column(column, token=TOKEN, key=KEY)[:, 0]) == golden


@pytest.mark.parametrize("bits", [1, 8, 64, 65, 128])
def test_rows_under_several_projections_hash_alike(bits: int) -> None:
    columns = {("x",): pa.chunked_array([pa.array(range(5_000))]), ("y",): pa.chunked_array([pa.array(["é"] * 5_000)])}
    asked = [[("x",)], [("x",), ("y",)], [("y",)]]
    with loops(compiled=False):
        plain = hash_rows(columns, projections=asked, key=KEY, bits=bits)
    with loops(compiled=True):
        fast = hash_rows(columns, projections=asked, key=KEY, bits=bits)
    np.testing.assert_array_equal(plain, fast)


hashes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60).map(
    lambda pairs: np.array(pairs, np.uint64).reshape(-1, 2).T.copy() << np.uint64(62)
)


@settings(max_examples=300)
@given(hashes, hashes)
def test_blocks_and_what_is_missing_are_alike(child: Hashes, parent: Hashes) -> None:
    answers = []
    for compiled in (False, True):
        with loops(compiled):
            blocks = [block_of(rows) for rows in (child, parent)]
            both_ways = [merge([blocks[0], blocks[1]]), merge([blocks[1], blocks[1]])]
            counts = [[1] * block.distinct_rows if block.counts is None else block.counts.tolist() for block in blocks]
            missing = [find_missing(child=a, parent=b) for a, b in product([*blocks, *both_ways], repeat=2)]
            answers.append((counts, [block.hashes.tolist() for block in [*blocks, *both_ways]], missing))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("rows", [0, 1, 2, 5_000, 300_000])
def test_many_rows_are_sorted_alike(rows: int) -> None:
    many = np.random.default_rng(rows).integers(0, 2**64, (2, rows), dtype=np.uint64)
    many[:, rows // 2 :] = many[:, : rows - rows // 2]  # each twice
    many[0, : rows // 8] = many[0, :1]  # some that share their first half
    with loops(compiled=False):
        plain = block_of(many)
    with loops(compiled=True):
        fast = block_of(many)
    np.testing.assert_array_equal(plain.hashes, fast.hashes)
    np.testing.assert_array_equal(
        plain.counts_at(np.arange(plain.distinct_rows)), fast.counts_at(np.arange(rows and fast.distinct_rows))
    )
