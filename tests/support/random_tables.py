"""Random tables of every type, text at the lengths where writers cut, and the writers that lakes are full of."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

UTC = datetime.UTC

# A few values of each type, so that equal rows and equal bounds come up all the time; the odd ones among them.
VALUES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [True, False],
    pa.int8(): [-128, 0, 1, 127],
    pa.int32(): [-(2**31), 0, 1, 7],
    pa.int64(): [-(2**63), 0, 1, 2**53, 2**53 + 1],
    pa.uint16(): [0, 1, 65535],
    pa.uint64(): [0, 1, 2**63, 2**64 - 1],
    pa.float32(): [0.0, -0.0, 1.0, 0.5, math.nan, math.inf],
    pa.float64(): [0.0, -0.0, 1.0, -1.5, math.nan, -math.inf, float(2**53)],
    pa.decimal128(9, 2): [Decimal("0.00"), Decimal("1.00"), Decimal("-1.50"), Decimal("9999999.99")],
    pa.decimal128(38, 10): [Decimal("1.0000000000"), Decimal("-1234567890123456789012345678.0123456789")],
    pa.string(): ["", "a", "A", "ü", "z" * 70, "z" * 300, "\x00", "a\x00"],
    pa.binary(): [b"", b"\x00", b"\xff" * 70, b"a"],
    pa.date32(): [datetime.date(1970, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    pa.timestamp("us"): [datetime.datetime(1970, 1, 1), datetime.datetime(2024, 2, 29, 12, 0, 0, 123456)],
    pa.timestamp("us", "UTC"): [datetime.datetime(1970, 1, 1, tzinfo=UTC), datetime.datetime(2024, 2, 29, tzinfo=UTC)],
    pa.list_(pa.int64()): [[], [1], [1, None], [2, 1]],
    pa.struct([("f", pa.int64()), ("g", pa.string())]): [{"f": 1, "g": "a"}, {"f": None, "g": ""}],
}
SPARK_LACKS = (pa.uint16(), pa.uint64())

# Where writers cut the bounds of text and binary, or leave them out: parquet-mr if told to, Polars and parquet-rs,
# DuckDB, Arrow. Characters of one to four bytes, and the last of each size, which cannot be raised by one.
CUTS = (4, 16, 64, 256, 4096)
LETTERS = ("z", "\x7f", "é", "\u07ff", "漢", "\uffff", "\U0001f600", "\U0010ffff")
BYTES = (b"z", b"\x7f", b"\x80", b"\xff", b"\xfe\xff")


def text_at_a_cut(rng: random.Random) -> str:
    """A text of about as many bytes as a writer keeps, or twice as many."""
    letter = rng.choice(LETTERS)
    count = _length_at_a_cut(rng) // len(letter.encode())
    return rng.choice(["", "v", letter]) + letter * count + rng.choice(["", "", "a", "\U0010ffff"])


def bytes_at_a_cut(rng: random.Random) -> bytes:
    """As `text_at_a_cut`, of bytes that need not be text."""
    piece = rng.choice(BYTES)
    return rng.choice([b"", b"v", piece]) + piece * (_length_at_a_cut(rng) // len(piece)) + rng.choice([b"", b"\0"])


def _length_at_a_cut(rng: random.Random) -> int:
    return max(0, rng.choice(CUTS) * rng.choice([1, 1, 1, 2]) + rng.randint(-4, 4))


def random_value(rng: random.Random, kind: pa.DataType, pool: list[Any]) -> Any:
    """One of a few, or, if it is text or binary, sometimes a long one."""
    if kind in _AT_A_CUT and rng.random() < 0.4:
        return _AT_A_CUT[kind](rng)
    return rng.choice(pool)


_AT_A_CUT: dict[pa.DataType, Callable[[random.Random], Any]] = {
    pa.string(): text_at_a_cut,
    pa.binary(): bytes_at_a_cut,
}


def _values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    few = st.sampled_from(VALUES[kind])
    if kind not in _AT_A_CUT:
        return few
    return few | st.integers(0, 2**32).map(lambda seed: _AT_A_CUT[kind](random.Random(seed)))


@st.composite
def tables(draw: st.DrawFn, types: list[pa.DataType]) -> pa.Table:
    """A table of up to eight rows, with NULLs."""
    rows = draw(st.integers(0, 8))
    columns = {}
    for number, kind in enumerate(types):
        values = draw(st.lists(st.none() | _values(kind), min_size=rows, max_size=rows))
        columns[f"c{number}"] = pa.array(values, kind)
    return pa.table(columns)


@st.composite
def pairs(draw: st.DrawFn, types: list[pa.DataType] | None = None) -> tuple[pa.Table, pa.Table]:
    """A parent and a child that is often, not always, made of its rows and columns."""
    chosen = draw(st.lists(st.sampled_from(types or list(VALUES)), min_size=1, max_size=4))
    parent = draw(tables(chosen))
    kept = sorted(draw(st.sets(st.integers(0, len(chosen) - 1), min_size=1)))
    picked = draw(st.lists(st.integers(0, parent.num_rows - 1), max_size=6)) if parent.num_rows else []
    child = parent.take(pa.array(picked, pa.int64())).select([f"c{number}" for number in kept])
    if draw(st.integers(0, 3)) == 0:
        child = draw(tables(chosen)).select(child.column_names)
    return parent, child


Writer = Callable[[pa.Table, Path], None]


def write_pyarrow(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=3)


def write_pyarrow_without_statistics(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, write_statistics=False, use_dictionary=False)


def write_polars(table: pa.Table, path: Path) -> None:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(path, row_group_size=4)


def write_duckdb(table: pa.Table, path: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.register("t", table)
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")


def write_fastparquet(table: pa.Table, path: Path) -> None:
    """By fastparquet what it writes as it is; by pyarrow the rest."""
    import fastparquet
    import pandas as pd

    if not table.num_rows or not all(_fastparquet_writes(column) for column in table.columns):
        write_pyarrow(table, path)
        return
    objects = {pa.string(): "utf8", pa.binary(): "bytes"}
    columns = {
        name: pd.Series(column.to_pylist(), dtype=object) if column.type in objects else column.to_pandas()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    encodings = {field.name: objects[field.type] for field in table.schema if field.type in objects}
    fastparquet.write(str(path), pd.DataFrame(columns), stats=True, object_encoding=encodings, has_nulls=True)


def _fastparquet_writes(column: pa.ChunkedArray) -> bool:
    """Numbers without NULL, which would become others, and NaN, which would become NULL."""
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return True
    return bool(pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)) and not column.null_count


PLAIN_WRITERS: tuple[Writer, ...] = (
    write_pyarrow,
    write_pyarrow_without_statistics,
    write_polars,
    write_duckdb,
    write_fastparquet,
)
