"""Blocks of hashes against collections.Counter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.kernels import (
    HashBlock,
    block_of,
    common_rows,
    find_missing,
    fingerprint,
    from_bytes,
    hash_rows,
    merge,
    pack_rows,
    split,
    to_bytes,
    unpack,
)
from r2d2.engine.run.exchange import InMemory
from r2d2.model.containment import Missing
from r2d2.synthetic.oracle.truth_rows import flatten
from tests.engine.kernels.oracle import KEY
from tests.engine.kernels.test_compiled import loops

# First and second halves from few values, so that each repeats with and without the other; the edges of the
# range, and neighbours that differ in the lowest bits, which the packed sort does not look at first.
halves = st.sampled_from([0, 1, 2, 3, 2**20, 2**20 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1])
rows = st.lists(st.tuples(halves, halves), max_size=60)
Row = tuple[int, int]


def hashes_of(some: list[Row]) -> np.ndarray:
    return np.array(some, np.uint64).reshape(-1, 2).T.copy()


def content(block: HashBlock) -> Counter[Row]:
    keys = list(zip(*block.hashes.tolist(), strict=True)) if block.distinct_rows else []
    counts = block.counts_at(np.arange(block.distinct_rows)).tolist()
    assert keys == sorted(set(keys)) and all(counts)
    return Counter(dict(zip(keys, counts, strict=True)))


def expected(child: Counter[Row], parent: Counter[Row]) -> Missing:
    return Missing(
        rows=sum(count for row, count in child.items() if row not in parent),
        copies=sum((child - parent).values()),
    )


@given(rows)
@settings(max_examples=300)
def test_a_block_is_the_multiset_of_its_rows(some: list[Row]) -> None:
    block = block_of(hashes_of(some))
    assert content(block) == Counter(some)
    assert (block.rows, block.distinct_rows) == (len(some), len(set(some)))
    assert fingerprint(block.hashes, block.counts) == fingerprint(hashes_of(some))


@given(rows, rows)
@settings(max_examples=500)
def test_what_is_missing_is_what_a_counter_says(child: list[Row], parent: list[Row]) -> None:
    found = find_missing(child=block_of(hashes_of(child)), parent=block_of(hashes_of(parent)))
    assert found == expected(Counter(child), Counter(parent))


@given(rows, rows)
def test_common_rows_stand_side_by_side(child: list[Row], parent: list[Row]) -> None:
    one, other = block_of(hashes_of(child)), block_of(hashes_of(parent))
    in_child, in_parent = common_rows(child=one, parent=other)
    assert (one.hashes[:, in_child] == other.hashes[:, in_parent]).all()
    assert len(in_child) == len(set(child) & set(parent))


@given(st.lists(rows, max_size=5))
@settings(max_examples=200)
def test_merging_slices_gives_the_table(slices: list[list[Row]]) -> None:
    merged = merge([block_of(hashes_of(some)) for some in slices])
    assert content(merged) == Counter(row for some in slices for row in some)


@given(rows, st.integers(1, 9))
def test_splitting_keeps_every_row_in_its_range(some: list[Row], ranges: int) -> None:
    block = block_of(hashes_of(some))
    parts = split(block, ranges)
    assert len(parts) == ranges
    for number, part in enumerate(parts):
        assert all(first * ranges >> 64 == number for first, _ in content(part))
    assert content(merge(parts)) == content(block)


@pytest.mark.parametrize("ranges", [2, 3, 7, 16, 1000])
def test_ranges_meet_without_a_gap(ranges: int) -> None:
    bounds = [(number << 64) // ranges + step for number in range(1, ranges) for step in (-1, 0, 1)]
    for number, part in enumerate(split(block_of(hashes_of([(bound, 0) for bound in bounds])), ranges)):
        assert all(first * ranges >> 64 == number for first, _ in content(part))


@given(rows, rows, st.integers(1, 9))
def test_what_is_missing_adds_up_over_ranges(child: list[Row], parent: list[Row], ranges: int) -> None:
    one, other = (split(block_of(hashes_of(some)), ranges) for some in (child, parent))
    parts = [find_missing(child=a, parent=b) for a, b in zip(one, other, strict=True)]
    assert Missing(*map(sum, zip(*parts, strict=True))) == expected(Counter(child), Counter(parent))


@given(rows, st.integers(0, 7))
def test_bytes_hold_the_block_wherever_they_start(some: list[Row], shift: int) -> None:
    block = block_of(hashes_of(some))
    data = to_bytes(block)
    assert content(from_bytes(data)) == content(from_bytes(memoryview(b"x" * shift + data)[shift:])) == content(block)
    for broken in (data[:-1], data + b"x", b"X" + data[1:], data[:4] + b"\xff" + data[5:], b""):
        with pytest.raises(ValueError, match="hash block"):
            from_bytes(broken)


@settings(max_examples=300)
@given(st.lists(st.lists(rows, max_size=3), max_size=4), st.integers(1, 5), st.integers(0, 7), st.booleans())
def test_rows_that_are_packed_come_together_again(
    tables: list[list[list[Row]]], ranges: int, most_rows: int, compiled: bool
) -> None:
    """Each table is packed part by part; some parts repeat their rows, and so go counted."""
    with loops(compiled):
        packed: list[list[list[InMemory]]] = [[[] for _ in tables] for _ in range(ranges)]
        for number, parts in enumerate(tables):
            for part in parts:
                for place, pieces in pack_rows(hashes_of(part), ranges, most_rows):
                    block = b"".join(pieces)
                    assert from_bytes(block).distinct_rows <= (most_rows or len(part))
                    packed[place][number].append(InMemory(block))
        together: list[Counter[Row]] = [Counter() for _ in tables]
        for blocks in packed:
            for number, block in enumerate(unpack(blocks)):
                together[number] += content(block)
    assert together == [Counter(row for part in parts for row in part) for parts in tables]


@pytest.mark.parametrize("count", [1, 2, 255, 256, 65_535, 65_536, 2**32, 2**63])
def test_any_multiplicity_survives_the_trip(count: int) -> None:
    block = HashBlock(hashes_of([(1, 2), (3, 4)]), np.array([1, count], np.uint64))
    assert content(from_bytes(to_bytes(block))) == Counter({(1, 2): 1, (3, 4): count})


def test_a_large_block_is_sorted_and_counted() -> None:
    random = np.random.default_rng(7)
    some = random.integers(0, 2**64, (2, 50_000), dtype=np.uint64)
    some[0, :20_000] = some[0, :20_000] >> np.uint64(45) << np.uint64(45)  # first halves that collide in droves
    twice = np.concatenate([some, some[:, 10_000:30_000]], axis=1)
    block = block_of(twice[:, random.permutation(70_000)])
    assert content(block) == Counter(zip(*twice.tolist(), strict=True))


# With few bits collisions are the norm: what is contained must stay so, and nothing may become more missing.

values = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=40)


def truncated(some: list[tuple[int, int]], bits: int) -> HashBlock:
    table = pa.table({"a": pa.array([a for a, _ in some], pa.int8()), "b": pa.array([b for _, b in some], pa.int8())})
    return block_of(hash_rows(flatten(table), projections=[[("a",), ("b",)]], key=KEY, bits=bits)[0])


@given(values, values, st.sampled_from([1, 8, 70]))
def test_few_bits_lose_no_true_containment(
    child: list[tuple[int, int]], more: list[tuple[int, int]], bits: int
) -> None:
    parent = child + more
    assert find_missing(child=truncated(child, bits), parent=truncated(parent, bits)) == Missing()
    assert truncated(child, bits).rows == len(child)


@given(values, values)
def test_few_bits_can_only_hide_what_is_missing(child: list[tuple[int, int]], parent: list[tuple[int, int]]) -> None:
    few = find_missing(child=truncated(child, 8), parent=truncated(parent, 8))
    all_bits = find_missing(child=truncated(child, 128), parent=truncated(parent, 128))
    assert all_bits == expected(Counter(child), Counter(parent))  # type: ignore[arg-type]
    assert few.rows <= all_bits.rows and few.copies <= all_bits.copies
