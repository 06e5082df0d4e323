"""A sampled row is found wherever it stands, and slices whose range excludes it are not even read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.engine.rows.hash_slices import Hashing, look_up_bundle, sample_bundle
from r2d2.formats.parquet.ranges import slice_range
from r2d2.formats.parquet.read import read_slice
from r2d2.model.schema import Token

KEY = bytes(16)
TOKENS = [["k"], ["v"]]
KINDS = [pa.int64(), pa.int8(), pa.uint8(), pa.date32(), pa.float64(), pa.string(), pa.decimal128(10, 2)]


def slices_of(path: Path) -> list[dict[str, Any]]:
    """One slice for each row group."""
    metadata = pq.read_metadata(path)
    found, first = [], 0
    for number in range(metadata.num_row_groups):
        rows = metadata.row_group(number).num_rows
        found.append({"path": str(path), "first": first, "rows": rows, "bytes": 1, "partition": [], "fold": False})
        first += rows
    return [part for part in found if part["rows"]]


def write(path: Path, keys: list[int | None], kind: pa.DataType, rows_per_group: int) -> Path:
    as_kind = {
        pa.date32(): lambda key: date(1970, 1, 1) + timedelta(days=key),
        pa.string(): str,
        pa.decimal128(10, 2): Decimal,
    }.get(kind, lambda key: key)
    values = [None if key is None else as_kind(key) for key in keys]
    table = pa.table({"k": pa.array(values, kind), "v": [key and key % 3 for key in keys]})
    pq.write_table(table, path, row_group_size=rows_per_group)
    return path


class Reads:
    """A reader that notes which slices it was asked for."""

    def __init__(self) -> None:
        self.first_rows: list[int] = []

    def __call__(self, part: Mapping[str, Any], tokens: Iterable[Token]) -> Any:
        self.first_rows.append(part["first"])
        return read_slice(part, tokens)


def found_in(parent: Path, child: Path, *, by_range: bool, read: Any = read_slice) -> tuple[set[str], set[str]]:
    """The sampled rows (here: all) of the child, and those found in the parent."""
    hashing = Hashing(read_slice, KEY)
    whole = [
        {"kind": "sample", "table": 1, "slice": part, "tokens": TOKENS, "places": list(range(part["rows"]))}
        for part in slices_of(child)
    ]
    rows = [row for answer in sample_bundle(whole, hashing=hashing) for row in answer["rows"]]
    asking = Hashing(read, KEY, range=slice_range if by_range else None)
    pieces = [
        {"kind": "look_up", "table": 0, "slice": part, "wanted": [[0, TOKENS, rows]]} for part in slices_of(parent)
    ]
    answers = list(look_up_bundle(pieces, hashing=asking))
    return {row[0] for row in rows}, {text for answer in answers for text in answer["found"]}


keys = st.lists(st.none() | st.integers(0, 60), min_size=1, max_size=40)


@given(keys, keys, st.sampled_from(KINDS), st.sampled_from(KINDS), st.integers(1, 10), st.booleans())
def test_ranges_change_what_is_read_and_never_what_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    parent_keys: list[int | None],
    child_keys: list[int | None],
    parent_kind: pa.DataType,
    child_kind: pa.DataType,
    rows_per_group: int,
    in_order: bool,
) -> None:
    folder = tmp_path_factory.mktemp("t")
    if in_order:
        parent_keys = sorted(parent_keys, key=lambda key: (key is None, key))
    parent = write(folder / "parent.parquet", parent_keys, parent_kind, rows_per_group)
    child = write(folder / "child.parquet", child_keys, child_kind, 100)
    assert found_in(parent, child, by_range=True) == found_in(parent, child, by_range=False)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint8(), pa.date32()])
def test_slices_out_of_range_are_not_read(tmp_path: Path, kind: pa.DataType) -> None:
    parent = write(tmp_path / "parent.parquet", list(range(100)), kind, 10)
    child = write(tmp_path / "child.parquet", [31, 35, 72], pa.date32() if kind == pa.date32() else pa.int32(), 100)
    reads = Reads()
    asked, found = found_in(parent, child, by_range=True, read=reads)
    assert found == asked and len(asked) == 3
    assert reads.first_rows == [30, 70]


def test_a_partition_value_is_a_range_of_one(tmp_path: Path) -> None:
    part = {
        "path": "no such file",
        "partition": [["Day", "2024-01-02", "date"], ["n", "7", "int64"], ["s", "x", "string"]],
        "fold": True,
    }
    assert slice_range(part, ("day",)) == ("date", 19724, 19724)
    assert slice_range(part, ("n",)) == ("number", 7, 7)
    assert slice_range(part, ("s",)) is None
