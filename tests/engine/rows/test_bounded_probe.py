"""Where a proof follows, sampled rows are looked for only as far as bounds confine them to a small share of a parent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.rows.choose_rows import choose_rows
from r2d2.engine.rows.content import Content, Looked
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.inline import Inline
from r2d2.formats.arrow_types import type_name
from r2d2.formats.parquet.ranges import slice_range
from r2d2.formats.parquet.read import read_slice
from r2d2.model.schema import Column, Token
from r2d2.steps.prune_by_content import Probe

PER_GROUP = 10
KINDS: dict[pa.DataType, Any] = {
    pa.int64(): int,
    pa.float64(): float,
    pa.string(): lambda n: f"{n:05}",
    pa.decimal128(9, 2): lambda n: Decimal(n) / 4,
    pa.date32(): lambda n: date(2024, 1, 1) + timedelta(days=n),
    pa.timestamp("us"): lambda n: datetime(2024, 1, 1) + timedelta(seconds=n),
}


class Watched:
    """A reader that notes the first row of every slice that it reads."""

    def __init__(self) -> None:
        self.read: list[tuple[str, int]] = []

    def __call__(self, part: Mapping[str, Any], tokens: Iterable[Token]) -> Any:
        self.read.append((Path(part["path"]).stem, part["first"]))
        return read_slice(part, tokens)


def write(path: Path, keys: list[int], kind: pa.DataType) -> TableContent:
    table = pa.table({"k": pa.array([KINDS[kind](key) for key in keys], kind), "v": [key % 3 for key in keys]})
    pq.write_table(table, path, row_group_size=PER_GROUP)
    columns = tuple(Column((field.name,), type_name(field.type)) for field in table.schema)
    slices = [
        {
            "format": "parquet",
            "path": str(path),
            "first": first,
            "rows": min(PER_GROUP, len(keys) - first),
            "bytes": 100,
            "partition": [],
            "fold": False,
        }
        for first in range(0, len(keys), PER_GROUP)
    ]
    return TableContent(tuple(slices), columns)


def look(parent: TableContent, child: TableContent, within: float) -> tuple[dict[Any, Looked], list[int]]:
    """The rows looked for and found, and the first rows of the parent's slices that were read."""
    reader = Watched()
    content = Content(Inline(), [parent, child], Hashing(reader, bytes(32), range=slice_range), lambda parts: {})
    probe = Probe(1, child.columns, 40, uniform=False)
    samples = content.take_samples([probe])
    found = content.look_for_rows({1: [0]}, {1: probe}, samples, within=within)
    return found, [first for name, first in reader.read if name == "parent"]


@pytest.mark.parametrize("kind", list(KINDS), ids=str)
def test_a_sorted_parent_is_read_only_where_the_rows_may_be(tmp_path: Path, kind: pa.DataType) -> None:
    parent = write(tmp_path / "parent.parquet", list(range(200)), kind)
    inside, beside = write(tmp_path / "a.parquet", [33, 37], kind), write(tmp_path / "b.parquet", [33, 500], kind)
    found, read = look(parent, inside, 0.1)
    assert found[0, 1].looked_for == found[0, 1].there and len(found[0, 1].there) == 2
    assert read == [30]
    found, read = look(parent, beside, 0.1)
    assert found[0, 1].looked_for > found[0, 1].there, "the row that no slice may hold is missed"


def test_a_parent_in_no_order_is_not_read_at_all(tmp_path: Path) -> None:
    shuffled = [n * 77 % 200 for n in range(200)]
    parent = write(tmp_path / "parent.parquet", shuffled, pa.int64())
    child = write(tmp_path / "child.parquet", [90, 110], pa.int64())
    assert look(parent, child, 0.1) == ({}, [])
    assert look(parent, child, 1.0)[0][0, 1].there


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=120),
    st.lists(st.integers(0, 99), min_size=1, max_size=9),
    st.sampled_from(list(KINDS)),
    st.booleans(),
    st.sampled_from([0.1, 0.3, 0.7]),
)
def test_whatever_is_said_to_be_missing_is_missing_and_little_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    keys: list[int],
    wanted: list[int],
    kind: pa.DataType,
    in_order: bool,
    within: float,
) -> None:
    folder = tmp_path_factory.mktemp("probe")
    parent = write(folder / "parent.parquet", sorted(keys) if in_order else keys, kind)
    child = write(folder / "child.parquet", wanted, kind)
    found, read = look(parent, child, within)
    everything, _ = look(parent, child, 1.0)
    assert len(set(read)) <= within * len(parent.slices)
    if found:
        some, every = found[0, 1], everything[0, 1]
        assert some.looked_for <= every.looked_for and some.there == some.looked_for & every.there


@given(st.dictionaries(st.integers(0, 20), st.lists(st.integers(0, 5), max_size=6, unique=True)), st.integers(0, 60))
def test_the_chosen_rows_can_be_looked_for_at_no_more_than_the_price(
    where: dict[int, list[int]], most_bytes: int
) -> None:
    places = {(0, str(row)): found for row, found in where.items()}
    chosen = choose_rows(places, places, slice_bytes=[7, 8, 9, 10, 11, 12], most_bytes=most_bytes)
    assert sum([7, 8, 9, 10, 11, 12][place] for place in chosen.places) <= most_bytes
    assert all(chosen.places.issuperset(places[row]) for row in chosen.rows)
    assert {row for row, found in places.items() if not found} <= chosen.rows, "these cost nothing"
