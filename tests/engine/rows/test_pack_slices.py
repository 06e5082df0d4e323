"""Slices give the same hashes whether they are hashed alone or together with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.kernels import from_bytes, unpack
from r2d2.engine.rows import pack_slices
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.pack_slices import block_bundle
from r2d2.engine.run.contract import NOTE
from r2d2.engine.run.exchange import InMemory
from r2d2.errors import TableError

Rows = Counter[tuple[int, int, int, int]]  # projection and table with both halves of a hash
TYPES = {"small": pa.int8(), "wide": pa.int64(), "text": pa.string(), "odd": pa.month_day_nano_interval()}


def read(part: Any, tokens: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], pa.ChunkedArray]:
    """Columns of the rows that the path lists, by the type that it names."""
    kind, _, listed = part["path"].partition(":")
    if kind == "broken":
        raise TableError("it cannot be read")
    numbers = [int(number) for number in listed.split()]
    values = {"text": list(map(str, numbers)), "odd": [(n, 0, 0) for n in numbers]}.get(kind, numbers)
    return {token: pa.chunked_array([pa.array(values, TYPES[kind])]) for token in tokens}


def rows_of(items: Sequence[Any], most_bytes: int) -> tuple[Rows, Counter[int]]:
    """The hashes by projection and table, and the tables that failed, each as often as it did."""
    blocks: dict[tuple[int, int, int], list[InMemory]] = {}
    failed: Counter[int] = Counter()
    for projection, part, table, pieces in block_bundle(items, most_bytes, hashing=Hashing(read, bytes(32))):
        if projection == NOTE:
            failed[table] += 1
        else:
            block = b"".join(pieces)
            assert not most_bytes or from_bytes(block).distinct_rows <= max(1, most_bytes // 16)
            blocks.setdefault((projection, part, table), []).append(InMemory(block))
    rows: Rows = Counter()
    for (projection, _, table), mine in blocks.items():
        (block,) = unpack([mine])
        counts = [1] * block.distinct_rows if block.counts is None else block.counts.tolist()
        for first, second, count in zip(*block.hashes.tolist(), counts, strict=True):
            rows[projection, table, first, second] += count
    return rows, failed


SLICES = st.tuples(
    st.sampled_from(["small", "small", "wide", "text", "odd", "broken"]),
    st.lists(st.integers(0, 5), max_size=6),
    st.sampled_from([[(0, [["x"]], 1)], [(0, [["x"]], 1), (1, [["x"], ["y"]], 3)]]),
)


@settings(max_examples=300)
@given(st.lists(SLICES, max_size=8), st.sampled_from([0, 1, 40]), st.sampled_from([0, 3, 100]), st.integers(1, 9))
def test_hashed_together_they_are_what_they_are_alone(
    slices: list[Any], most_bytes: int, small: int, together: int
) -> None:
    items = [
        {"kind": "hash", "table": table, "slice": {"path": f"{kind}:{' '.join(map(str, n))}", "bytes": 1}}
        | {"projections": projections}
        for table, (kind, n, projections) in enumerate(slices)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pack_slices, "SMALL_ROWS", -1)
        alone = rows_of(items, most_bytes)
        patch.setattr(pack_slices, "SMALL_ROWS", small)
        patch.setattr(pack_slices, "TOGETHER_ROWS", together)
        patch.setattr(pack_slices, "AT_ONCE_BYTES", 16 * together)
        patch.setattr(pack_slices, "LEAST_ROWS", 1)
        assert rows_of(items, most_bytes) == alone
    numbers = {table for table, (kind, n, _) in enumerate(slices) if kind == "broken" or (kind == "odd" and n)}
    assert alone[1].keys() == numbers
