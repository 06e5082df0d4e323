"""A row that the parent lacks is found exactly if there is one, and its values are the row's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.engine.rows import missing_row
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.missing_row import find_missing_row
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.rows.value_text import value_text
from r2d2.formats.parquet.read import read_slice
from r2d2.model.schema import Column

Rows = list[tuple[int | None, str | None]]
ROWS = st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.sampled_from(["", "a", "b"])), max_size=12)
COLUMNS = (Column(("n",), "int64"), Column(("s",), "string"))


def write(folder: Path, name: str, rows: Rows) -> TableContent:
    """A table of slices of at most five rows."""
    parts = []
    for first in range(0, len(rows), 5):
        some = rows[first : first + 5]
        path = folder / f"{name}-{first}.parquet"
        pq.write_table(pa.table({"n": pa.array([n for n, _ in some], pa.int64()), "s": [s for _, s in some]}), path)
        parts.append({"path": str(path), "first": 0, "rows": len(some), "bytes": 1, "partition": [], "fold": False})
    return TableContent(tuple(parts), COLUMNS)


@given(held=ROWS, wanted=ROWS, width=st.sampled_from([1, 2]), at_once=st.sampled_from([2, 1 << 20]))
def test_it_is_what_looking_for_each_row_finds(
    tmp_path_factory: pytest.TempPathFactory, held: Rows, wanted: Rows, width: int, at_once: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    parent, child = write(folder, "parent", held), write(folder, "child", wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(missing_row, "ROWS_AT_ONCE", at_once)
        found = find_missing_row(
            parent=parent,
            child=child,
            tokens=[c.token for c in COLUMNS[:width]],
            hashing=Hashing(read_slice, bytes(32)),
        )
    as_text = (
        [(None if n is None else str(n), s) for n, s in held],
        [(None if n is None else str(n), s) for n, s in wanted],
    )
    there, asked = ({row[:width] for row in rows} for rows in as_text)
    if found is None:
        assert asked <= there
    else:
        assert tuple(found.values()) in asked - there


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, pa.int64(), None),
        ("a\x1b", pa.string_view(), "a\x1b"),
        (True, pa.bool_(), "true"),
        (b"\x00\xff", pa.binary(), "0x00ff"),
        (1, pa.timestamp("ns"), "1970-01-01 00:00:00.000000001"),
        (2**62, pa.timestamp("us"), "<value out of range: 4611686018427387904>"),
        (10**7, pa.date32(), "29349-01-26"),
        (5, pa.duration("ms"), "5 ms"),
        ([["a"], None], pa.list_(pa.list_(pa.string())), '[["a"], null]'),
        ([("k", 1)], pa.map_(pa.string(), pa.int64()), '{"k": 1}'),
        ([{"x": 1.5}], pa.list_(pa.struct([("x", pa.float64())])), '[{"x": 1.5}]'),
    ],
)
def test_values_of_every_kind_have_a_text(value: Any, kind: pa.DataType, text: str | None) -> None:
    assert value_text(pa.array([value], kind)[0]) == text
