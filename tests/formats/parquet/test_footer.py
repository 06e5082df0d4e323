"""A footer gives a profile that is true or a reason in one sentence, whatever is in it (HAZARDS 25, 27)."""

from __future__ import annotations

import math
import os
import random
import tempfile
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import TableError
from r2d2.formats.arrow_types import flatten_fields
from r2d2.formats.merge import ColumnProfile, FilesProfile, from_json, to_json
from r2d2.formats.parquet.footer import read_footer
from r2d2.formats.parquet.statistics import _OLD_PARQUET_MR
from r2d2.lake.guarded import guarded_map
from r2d2.lake.read_metadata import read_bundle
from r2d2.model.profile import ColumnStats, Value
from r2d2.model.work import MetadataWork
from tests.lake.killer import write_encrypted, write_killer
from tests.support.random_tables import PLAIN_WRITERS, VALUES, Writer, tables, write_duckdb, write_polars


def write(path: Path, columns: Any, **options: Any) -> Path:
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def footer(path: Path) -> FilesProfile:
    return read_footer(str(path))


def only_column(path: Path) -> ColumnProfile:
    (column,) = footer(path).columns.values()
    return column


def reason(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        footer(path)
    because = str(caught.value.args[0])
    assert caught.value.hint and "\n" not in because
    return because


def read_all(paths: list[Path]) -> dict[int, FilesProfile | str]:
    """What a task answers when each of these files is a table."""
    answers: dict[int, FilesProfile | str] = {}
    bundle: list[MetadataWork] = [
        {"kind": "metadata", "table": n, "format": "parquet", "paths": [str(path)]} for n, path in enumerate(paths)
    ]
    for answer in read_bundle(bundle, timeout_seconds=30):
        assert answer["table"] not in answers, "answered twice"
        answers[answer["table"]] = from_json(answer["profile"]) if answer["kind"] == "profile" else answer["because"]
    return answers


def in_footer(path: Path, change: dict[bytes, bytes]) -> Path:
    """The same file with some bytes of its footer exchanged for as many others."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    body, metadata = content[: -8 - length], content[-8 - length :]
    for number, old in enumerate(change):
        assert old in metadata
        metadata = metadata.replace(old, bytes([number]) * len(old))
    for number, (old, new) in enumerate(change.items()):
        assert len(old) == len(new)
        metadata = metadata.replace(bytes([number]) * len(old), new)
    path.write_bytes(body + metadata)
    return path


# ---- a bound is true -------------------------------------------------------------------------------------------------


def canonical(column: pa.ChunkedArray) -> list[Value]:
    """The values of a column in the form of bounds, the slow way. NaN has no place among them."""
    kind = column.type
    if pa.types.is_temporal(kind):
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit] if hasattr(kind, "unit") else 1
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        return [value * factor for value in column.cast(whole).to_pylist() if value is not None]
    values = [value for value in column.to_pylist() if value is not None]
    if pa.types.is_boolean(kind):
        return [int(value) for value in values]
    if pa.types.is_string(kind):
        return [value.encode() for value in values]
    return [value for value in values if not (isinstance(value, float) and math.isnan(value))]


def assert_true_of(stats: ColumnStats, column: pa.ChunkedArray) -> None:
    values = canonical(column)
    assert stats.nulls in (None, column.null_count)
    if stats.low is not None:
        assert all(stats.low <= value for value in values)  # type: ignore[operator]
    if stats.high is not None:
        assert all(value <= stats.high for value in values)  # type: ignore[operator]
    assert not stats.low_exact or stats.low in values
    assert not stats.high_exact or stats.high in values


def leaf(table: pa.Table, token: tuple[str, ...]) -> pa.ChunkedArray:
    column = table[token[0]]
    for part in token[1:]:
        column = pc.struct_field(column, part)
    return column


@settings(max_examples=150)
@given(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=6).flatmap(tables), st.sampled_from(PLAIN_WRITERS))
def test_nulls_are_right_bounds_valid_and_exact_ones_in_the_column(table: pa.Table, write_table: Writer) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        write_table(table, path)
        profile = footer(path)
    assert profile.rows == table.num_rows
    for token, _, _ in flatten_fields(table.schema):
        if not pa.types.is_list(leaf(table, token).type):
            assert_true_of(profile.columns[token].stats, leaf(table, token))


@pytest.mark.parametrize("write_table", PLAIN_WRITERS)
@pytest.mark.parametrize(
    "length", [0, 15, 16, 17, 59, 60, 61, 63, 64, 65, 249, 250, 251, 255, 256, 257, 4095, 4096, 5000]
)
@pytest.mark.parametrize("letter", ["a", "ü"])
def test_a_text_bound_is_exact_only_where_it_is_whole(
    write_table: Writer, length: int, letter: str, tmp_path: Path
) -> None:
    table = pa.table({"s": [letter * length, letter * length + "b"]})
    write_table(table, tmp_path / "t.parquet")
    assert_true_of(only_column(tmp_path / "t.parquet").stats, table["s"])


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
@pytest.mark.parametrize(
    ("kind", "value", "nanoseconds"),
    [
        *((pa.timestamp(unit), datetime(2024, 1, 1), 1704067200 * 10**9) for unit in ("s", "ms", "us", "ns")),
        *((pa.timestamp(u, "Europe/Paris"), datetime(2024, 1, 1, tzinfo=UTC), 1704067200 * 10**9) for u in ("s", "ns")),
        *(
            (kind, time(1), 3600 * 10**9)
            for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
        ),
        *((pa.duration(unit), timedelta(seconds=5), 5 * 10**9) for unit in ("s", "ms", "us", "ns")),
        *((kind, date(1970, 1, 3), 2) for kind in (pa.date32(), pa.date64())),  # days
    ],
    ids=str,
)
def test_moments_are_nanoseconds_whatever_unit_the_file_has(
    kind: pa.DataType, value: Any, nanoseconds: int, version: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "t.parquet", {"t": pa.array([value], kind)}, version=version)
    assert only_column(path).stats == ColumnStats(0, nanoseconds, nanoseconds, True, True)


@pytest.mark.parametrize("text", ["0.1", "-99999999999999999999999999999999999999.99", "12345678901234567890.05"])
def test_decimals_of_any_precision_are_exact(text: str, tmp_path: Path) -> None:
    for number, kind in enumerate(
        [pa.decimal128(38, 2), pa.decimal256(76, 2), pa.decimal256(60, 20), pa.decimal128(22, 2), pa.decimal128(5, 1)]
    ):
        try:
            column = pa.array([Decimal(text)], kind)
        except pa.ArrowInvalid:
            continue  # it does not fit
        stats = only_column(write(tmp_path / f"{number}.parquet", {"d": column})).stats
        assert stats == ColumnStats(0, Decimal(text), Decimal(text), True, True)


def test_half_floats_have_bounds(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"h": pa.array([1.5, -0.25, None], pa.float16())})
    assert only_column(path).stats == ColumnStats(1, -0.25, 1.5, True, True)


def test_int96_has_no_bounds(tmp_path: Path) -> None:
    moments = {"t": [datetime(2024, 1, 1), datetime(2025, 1, 1)]}
    stats = only_column(write(tmp_path / "t.parquet", moments, use_deprecated_int96_timestamps=True)).stats
    assert stats._replace(nulls=None) == ColumnStats()


def test_text_that_is_not_utf8_has_bounds_by_bytes(tmp_path: Path) -> None:
    text = pa.array([b"\xff\xfe", b"ok"]).view(pa.string())
    assert only_column(write(tmp_path / "t.parquet", {"s": text})).stats == ColumnStats(
        0, b"ok", b"\xff\xfe", True, True
    )


# ---- unknown stays unknown -------------------------------------------------------------------------------------------


def test_without_statistics_everything_is_unknown(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"x": [1, 2, None]}, write_statistics=False)
    assert only_column(path).stats == ColumnStats()


def test_a_required_column_has_no_nulls_even_without_statistics(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    path = write(tmp_path / "t.parquet", pa.table({"x": [1, 2]}, schema=schema), write_statistics=False)
    assert only_column(path).stats == ColumnStats(nulls=0)


def test_one_row_group_without_bounds_makes_them_unknown(tmp_path: Path) -> None:
    long = write(tmp_path / "long.parquet", {"s": ["a", "b", "x" * 5000]}, row_group_size=2)  # too long to be stated
    assert only_column(long).stats == ColumnStats(nulls=0)
    nan = write(tmp_path / "nan.parquet", {"f": [1.0, 2.0, math.nan, math.nan]}, row_group_size=2)
    assert only_column(nan).stats == ColumnStats(nulls=0)


def test_row_groups_without_values_are_passed_over(tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.int64())])
    with pq.ParquetWriter(tmp_path / "t.parquet", schema) as writer:
        for values in ([5, 6], [], [None, None], [1]):
            writer.write_table(pa.table({"x": pa.array(values, pa.int64())}))
    profile = footer(tmp_path / "t.parquet")
    assert [rows for rows, _ in profile.files[0].parts] == [2, 0, 2, 1]
    assert profile.columns["x",].stats == ColumnStats(2, 1, 6, True, True)


def test_nan_does_not_count_as_a_bound(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"f": [math.nan, 1.0, -2.0]})
    assert only_column(path).stats == ColumnStats(0, -2.0, 1.0, True, True)
    assert only_column(write(path, {"f": [math.nan]})).stats == ColumnStats(nulls=0)


def test_all_null_and_no_rows_have_no_bounds(tmp_path: Path) -> None:
    nulls = write(tmp_path / "nulls.parquet", {"x": pa.array([None, None], pa.int64()), "n": pa.nulls(2)})
    assert [c.stats for c in footer(nulls).columns.values()] == [ColumnStats(nulls=2)] * 2
    empty = write(tmp_path / "empty.parquet", {"x": pa.array([], pa.int64()), "n": pa.nulls(0)})
    assert footer(empty).rows == 0
    assert [c.stats for c in footer(empty).columns.values()] == [ColumnStats(nulls=0)] * 2


def test_a_low_above_the_high_is_not_believed(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"s": ["aaaa", "bbbb"]})
    assert only_column(path).stats == ColumnStats(0, b"aaaa", b"bbbb", True, True)
    assert only_column(in_footer(path, {b"aaaa": b"bbbb", b"bbbb": b"aaaa"})).stats == ColumnStats(nulls=0)


OLD = (
    "parquet-mr",
    "parquet-mr version",
    "parquet-mr version 0.9.0",
    "parquet-mr version 1",
    "parquet-mr version 1.2.3",
    "parquet-mr version 1.4.2 (build abcd)",
    "parquet-mr version 1.6.0rc3 (build d4d5a07ec9bd262ca1e93c309f1d7d4a74ebda4c)",
    "parquet-mr version 1.6.100",
    "parquet-mr version 1.8.0",
    "parquet-mr version 1.8.1 (build 4aba4dae7bb0d4edbcf7923ae1339f28fd3f7fcf)",
    "parquet-mr version 1.9",
    "parquet-mr version 1.9.1-SNAPSHOT",
    "parquet-mr (build 32c46643845ea8a705c35d4ec8fc654cc8ff816d)",
    "parquet-mr version (build abcd)",
    "parquet-mr compatible",
)
NEW = (
    "parquet-mr version 1.10.0",
    "parquet-mr version 1.10.1 (build a89df8f9932b6ef6633d06069e50c9b7970bebd1)",
    "parquet-mr version 1.12.3",
    "parquet-mr version 1.16.0 (build d3c1e1f8d2b6e4e8b0d3f9e3e3c7a6e2b1e4f5a6)",
    "parquet-mr version 2.0.0",
    "parquet-cpp-arrow version 26.0.1",
    "parquet-cpp version 1.3.2-SNAPSHOT",
    "DuckDB version v1.4.0 (build b8a06e4a22)",
    "Polars",
    "",
)


@pytest.mark.parametrize("created_by", OLD)
def test_an_old_or_unnamed_parquet_mr_is_not_believed(created_by: str) -> None:
    assert _OLD_PARQUET_MR.match(created_by)


@pytest.mark.parametrize("created_by", NEW)
def test_a_newer_parquet_mr_and_others_are_believed(created_by: str) -> None:
    assert not _OLD_PARQUET_MR.match(created_by)


def test_text_bounds_of_an_old_parquet_mr_are_unknown_and_numbers_are_not(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"s": ["aaaa", "bbbb"], "x": [1, 2]})
    new = pq.read_metadata(path).created_by.encode()
    old = b"parquet-mr version 1.8.1 (build a)"[: len(new)].ljust(len(new))
    columns = footer(in_footer(path, {new: old})).columns
    assert columns["s",].stats[1:] == ColumnStats()[1:]
    assert columns["x",].stats == ColumnStats(0, 1, 2, True, True)


def test_byte_decimals_of_an_old_parquet_mr_have_no_bounds(tmp_path: Path) -> None:
    """It compared bytes as signed ones: to it, 128 is less than 1 is less than 257."""
    values = pa.array([Decimal(1), Decimal(128), Decimal(257)], pa.decimal128(30))
    path = by_another(write(tmp_path / "t.parquet", {"d": values}), "parquet-mr version 1.8.2 (build c6522788629e5900)")
    one, two = ((number).to_bytes(13, "big") for number in (1, 128))
    assert only_column(in_footer(path, {one: two})).stats == ColumnStats(nulls=0)


def test_text_bounds_of_an_unknown_writer_are_valid_but_not_exact(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", {"s": ["aaaa", "bbbb"], "x": [1, 2]})
    new = pq.read_metadata(path).created_by.encode()
    columns = footer(in_footer(path, {new: b"somebody's writer".ljust(len(new))})).columns
    assert columns["s",].stats == ColumnStats(0, b"aaaa", b"bbbb", False, False)
    assert columns["x",].stats == ColumnStats(0, 1, 2, True, True)


def by_another(path: Path, created_by: str) -> Path:
    """The same file, said to be of another writer."""
    now = pq.read_metadata(path).created_by.encode()
    return in_footer(path, {now: created_by.encode()[: len(now)].ljust(len(now))})


@pytest.mark.parametrize("created_by", ["parquet-cpp-arrow version 9.0.0", "parquet-cpp version 1.5.1-SNAPSHOT"])
def test_text_bounds_of_an_old_arrow_are_unknown_and_numbers_are_not(created_by: str, tmp_path: Path) -> None:
    """Before version 11 it took the bounds of a dictionary column from its first chunk."""
    path = by_another(write(tmp_path / "t.parquet", {"s": ["aaaa", "bbbb"], "x": [1, 2]}), created_by)
    columns = footer(path).columns
    assert columns["s",].stats == ColumnStats(nulls=0)
    assert columns["x",].stats == ColumnStats(0, 1, 2, True, True)


def duckdb_enum(path: Path) -> Path:
    """A column that holds one of the three values of its type."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TYPE letter AS ENUM ('a', 'b', 'z'); CREATE TABLE t AS SELECT 'b'::letter AS s")
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    return path


def test_an_exactness_flag_is_heeded_and_a_false_one_too(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_duckdb(pa.table({"s": ["a", "v" + "漢" * 120], "t": ["a", "b"]}), path)
    columns = footer(path).columns
    assert columns["s",].stats == ColumnStats(0, b"a", b"w", True, False)
    assert columns["t",].stats == ColumnStats(0, b"a", b"b", True, True)
    assert only_column(duckdb_enum(path)).stats[3:] == (False, False)  # it says so itself, though it is wrong


def test_the_flags_of_a_duckdb_that_sets_them_without_cause_are_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_duckdb(pa.table({"s": ["a", "b"], "x": [1, 2]}), path)
    columns = footer(by_another(path, "DuckDB version v1.5.2 (build d54cbbe3df)")).columns
    assert columns["s",].stats == ColumnStats(0, b"a", b"b", False, False)
    assert columns["x",].stats == ColumnStats(0, 1, 2, True, True)


def test_every_row_group_has_flags_of_its_own(tmp_path: Path) -> None:
    """The maximum is the second group's, which is cut; the minimum the first group's, which is whole."""
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        rows = "SELECT 'a' AS s FROM range(2048) UNION ALL SELECT 'v' || repeat('é', 300) FROM range(2048)"
        connection.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    assert pq.read_metadata(path).num_row_groups == 2
    assert only_column(path).stats == ColumnStats(0, b"a", b"w", True, False)


def test_a_decimal_of_polars_that_is_stored_as_bytes_has_no_bounds(tmp_path: Path) -> None:
    """Versions before 2.1 compared negative ones wrongly across pages; smaller decimals are stored as integers."""
    numbers = [Decimal("-1.5"), Decimal("2.5")]
    wide = {"d": pa.array(numbers, pa.decimal128(38, 1)), "e": pa.array(numbers, pa.decimal128(9, 1))}
    write_polars(pa.table(wide), tmp_path / "t.parquet")
    columns = footer(tmp_path / "t.parquet").columns
    assert columns["d",].stats == ColumnStats(nulls=0)
    assert columns["e",].stats == ColumnStats(0, *numbers, True, True)


@pytest.mark.parametrize("write_table", PLAIN_WRITERS)
def test_values_below_null_and_in_an_unused_dictionary_are_not_bounds(write_table: Writer, tmp_path: Path) -> None:
    hidden = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.array([1, 99, 5]).buffers()[1]])
    inside = pa.StructArray.from_arrays([pa.array([7, 99, 8])], names=["f"], mask=pa.array([False, True, False]))
    unused = pa.DictionaryArray.from_arrays(pa.array([1, 1, 1]), pa.array(["a", "b", "z"]))
    write_table(pa.table({"x": hidden, "s": inside, "e": unused}), tmp_path / "t.parquet")
    columns = footer(tmp_path / "t.parquet").columns
    for token, values in ((("x",), [1, 5]), (("s", "f"), [7, 8]), (("e",), [b"b"])):
        stats = columns[token].stats
        assert stats.low is None or (stats.low <= values[0] and (not stats.low_exact or stats.low in values))
        assert stats.high is None or (stats.high >= values[-1] and (not stats.high_exact or stats.high in values))


# ---- columns ---------------------------------------------------------------------------------------------------------


def test_a_dotted_name_is_not_a_field_of_a_struct(tmp_path: Path) -> None:
    inner = pa.array([{"b": 7, "c": {"d": "x"}}, None])
    profile = footer(write(tmp_path / "t.parquet", {"a.b": [1, 2], "a": inner}))
    assert {token: column.stats[:3] for token, column in profile.columns.items()} == {
        ("a.b",): (0, 1, 2),
        ("a", "b"): (1, 7, 7),
        ("a", "c", "d"): (1, b"x", b"x"),
    }


def test_lists_and_maps_are_one_column_without_statistics(tmp_path: Path) -> None:
    columns = {
        "l": pa.array([[1, 2], None]),
        "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        "s": pa.array([[{"x": 1, "y": 2}], []]),
        "after": [5, 6],
    }
    profile = footer(write(tmp_path / "t.parquet", columns))
    assert {token[0]: column.type_name for token, column in profile.columns.items()} == {
        "l": "list<int64>",
        "m": "map<string,int64>",
        "s": "list<struct<x:int64,y:int64>>",
        "after": "int64",
    }
    assert profile.columns["l",].stats == profile.columns["m",].stats == ColumnStats()
    assert profile.columns["after",].stats == ColumnStats(0, 5, 6, True, True)  # leaves are counted right


def test_a_column_that_stands_twice_is_a_reason(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "column a stands twice" in reason(write(tmp_path / "t.parquet", twice))
    structs = [pa.array([{"x": 1}]), pa.array([{"y": 1}])]
    fields = pa.Table.from_arrays(structs, names=["a", "a"])  # a.x and a.y, each once
    assert "column a stands twice" in reason(write(tmp_path / "fields.parquet", fields))


def test_a_file_without_columns_has_none(tmp_path: Path) -> None:
    assert footer(write(tmp_path / "t.parquet", pa.table({}))).columns == {}


# ---- damaged files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write(tmp_path / "whole.parquet", {"x": list(range(100)), "s": ["text"] * 100})


def test_a_zero_byte_file_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").touch()
    assert reason(tmp_path / "t.parquet") == "t.parquet is empty (0 bytes)"


def test_a_file_cut_anywhere_is_a_reason(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    for length in [1, 3, 4, 5, 7, 8, 11, 12, *range(13, len(content), 37), len(content) - 1]:
        path = tmp_path / "t.parquet"
        path.write_bytes(content[:length])
        assert "is not a Parquet file" in reason(path) if length < 4 else "truncated" in reason(path)


@pytest.mark.parametrize(
    "content", [b"hello, world", b"{}", b"\x1f\x8b\x08", b"ORC" + bytes(50), b" PAR1" + bytes(20) + b"PAR1"]
)
def test_what_is_not_parquet_is_a_reason(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    assert reason(tmp_path / "t.parquet") == "t.parquet is not a Parquet file"


def test_an_encrypted_footer_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PARE" + bytes(100) + b"PARE")
    assert reason(tmp_path / "t.parquet") == "t.parquet has an encrypted footer"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(8),
        random.Random(0).randbytes(500),
        b"\xff" * 100,
        b"a" * 8 + (2**31 - 1).to_bytes(4, "little"),
        bytes(92) + (96).to_bytes(4, "little"),
    ],
)
def test_garbage_between_the_magics_is_a_reason(content: bytes, tmp_path: Path, whole: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + content + b"PAR1")
    answers = read_all([path, whole])
    assert isinstance(answers[0], str) and answers[0].startswith("t.parquet ")
    assert answers[1] == footer(whole)


@pytest.mark.parametrize("what", ["missing", "folder"])
def test_what_cannot_be_opened_is_a_reason(what: str, tmp_path: Path) -> None:
    if what == "folder":
        (tmp_path / "t.parquet").mkdir()
    assert reason(tmp_path / "t.parquet").startswith("t.parquet cannot be opened (")


def test_a_file_without_permission_is_a_reason(whole: Path) -> None:
    whole.chmod(0)

    def as_somebody(path: str) -> str:
        if os.geteuid() == 0:
            os.setuid(65534)  # in the child that guarded_map makes
        return to_json(read_footer(path))

    (outcome,) = guarded_map(as_somebody, [str(whole)], timeout_seconds=30)
    assert outcome.because == "whole.parquet cannot be opened (Permission denied)"


@pytest.mark.parametrize(("encrypted", "named"), [(["x"], "x"), (["y", "x"], "x and 1 more")])
def test_encrypted_columns_below_a_plain_footer_are_named(
    encrypted: list[str], named: str, whole: Path, tmp_path: Path
) -> None:
    write_encrypted(tmp_path / "t.parquet", encrypted)
    assert reason(tmp_path / "t.parquet") == f"t.parquet has encrypted columns: {named}"
    answers = read_all([whole, tmp_path / "t.parquet", whole])
    assert isinstance(answers[1], str) and answers[0] == answers[2] == footer(whole)


def test_what_kills_its_reader_costs_its_table_only(whole: Path, tmp_path: Path) -> None:
    write_killer(tmp_path / "t.parquet")
    answers = read_all([whole, tmp_path / "t.parquet", whole])
    assert isinstance(answers[1], str) and "killed" in answers[1] and answers[0] == answers[2] == footer(whole)


# ---- FUZZ ------------------------------------------------------------------------------------------------------------


def mutated(content: bytes, dice: random.Random) -> bytes:
    length = int.from_bytes(content[-8:-4], "little")
    metadata = bytearray(content[-8 - length : -8])
    for _ in range(dice.choice([1, 1, 1, 2, 4, 16])):
        where, deed = dice.randrange(len(metadata)), dice.randrange(5)
        if deed == 0:
            metadata[where] ^= 1 << dice.randrange(8)
        elif deed == 1:
            metadata[where] = dice.randrange(256)
        elif deed == 2:
            del metadata[where : where + dice.randrange(1, 9)]
        elif deed == 3:
            metadata[where:where] = dice.randbytes(dice.randrange(1, 9))
        else:
            metadata[where : where + 4] = b"\xff" * 4
    return content[: -8 - length] + bytes(metadata) + len(metadata).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_mutated_footer_is_a_profile_or_a_reason_and_harms_no_other(seed: int, tmp_path: Path) -> None:
    columns = {f"c{n}": pa.array((values * 8)[:8], kind) for n, (kind, values) in enumerate(VALUES.items())}
    columns["h"] = pa.array([1.5, None] * 4, pa.float16())
    good = write(tmp_path / "good.parquet", columns, row_group_size=3, store_schema=seed == 1)
    dice = random.Random(seed)
    paths = []
    for number in range(200):
        paths.append(tmp_path / f"{number}.parquet")
        paths[-1].write_bytes(mutated(good.read_bytes(), dice))
        if number % 20 == 0:
            paths.append(good)
    answers = read_all(paths)
    assert sorted(answers) == list(range(len(paths)))
    for path, answer in zip(paths, (answers[n] for n in range(len(paths))), strict=True):
        if path == good:
            assert answer == footer(good)
        elif isinstance(answer, str):
            assert answer and "\n" not in answer and "exit code 1)" not in answer, answer  # 1 would be a bug of ours


def test_a_file_with_a_profile_can_be_asked_for_its_codecs(tmp_path: Path) -> None:
    """A codec that there is not kills whoever asks; that must have happened where dying is allowed."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n": [1]}), path, store_schema=False)
    content = path.read_bytes()
    paths = []
    for place in range(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content) - 8):
        paths.append(tmp_path / f"{place}.parquet")
        paths[-1].write_bytes(content[:place] + bytes([18]) + content[place + 1 :])  # 18 is how 9 is written
    answers = read_all(paths)
    profiled = [str(paths[number]) for number, answer in answers.items() if not isinstance(answer, str)]
    assert profiled and not [
        outcome for outcome in guarded_map(_codecs, profiled, timeout_seconds=30) if outcome.because
    ]


def _codecs(path: str) -> str:
    metadata = pq.ParquetFile(path).metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return str([group.column(number).compression for group in groups for number in range(metadata.num_columns)])
