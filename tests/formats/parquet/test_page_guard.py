"""A page that is not what its writer wrote proves nothing, though the fast reader would read on (HAZARDS 13)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastparquet
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import TableError
from r2d2.formats.parquet import page_guard as check_pages
from r2d2.formats.parquet.page_guard import can_be_believed
from r2d2.formats.parquet.read import _same_kind, read_slice
from tests.support.mutate_parquet import pages_of
from tests.support.random_tables import PLAIN_WRITERS, tables

ROWS = 50_000
CODECS = ("none", "snappy", "gzip", "zstd", "lz4", "brotli")


def columns_of(path: Path) -> list[tuple[Any, Any]]:
    file = pq.ParquetFile(path)
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    return [(group.column(n), file.schema.column(n)) for group in groups for n in range(file.metadata.num_columns)]


def a_table() -> pa.Table:
    numbers = np.random.default_rng(1).permutation(ROWS)
    nullable = pa.array(numbers, mask=numbers % 7 == 0)
    return pa.table({"n": numbers, "nullable": nullable, "s": pa.array(numbers % 99).cast(pa.string())})


def whole(path: Path) -> dict[str, Any]:
    """The file as one slice that is large enough for the fast reader."""
    return {
        "path": str(path),
        "first": 0,
        "rows": ROWS,
        "bytes": 1 << 20,
        "partition": [],
        "fold": False,
        "small": False,
    }


def read(path: Path) -> dict[Any, Any]:
    return read_slice(whole(path), [("n",), ("nullable",), ("s",)])


@pytest.mark.slow
@pytest.mark.parametrize("pages", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", CODECS)
def test_what_a_writer_wrote_is_read(tmp_path: Path, codec: str, pages: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(a_table(), path, compression=codec, data_page_version=pages, write_page_checksum=codec == "zstd")
    assert read(path)["n",].to_pylist() == a_table().column("n").to_pylist()
    assert read(path)["nullable",].to_pylist() == a_table().column("nullable").to_pylist()


@pytest.mark.parametrize("codec", CODECS)
def test_pages_that_would_not_get_smaller_are_stored_as_they_are(tmp_path: Path, codec: str) -> None:
    """In pages of the second kind; what is stored then looks like nothing that the codec makes."""
    path = tmp_path / "t.parquet"
    table = pa.table({"n": np.random.default_rng(3).integers(-(2**63), 2**63, ROWS, dtype=np.int64)})
    pq.write_table(table, path, compression=codec, data_page_version="2.0", use_dictionary=False, data_page_size=800)
    assert all(can_be_believed(str(path), [columns_of(path)]))
    assert read_slice(whole(path), [("n",)])["n",].to_pylist() == table.column("n").to_pylist()


@settings(max_examples=60)
@given(st.data())
def test_what_any_writer_wrote_is_read_as_pyarrow_reads_it(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "t.parquet"
    path.unlink(missing_ok=True)
    types = [pa.int64(), pa.string(), pa.bool_(), pa.float64(), pa.list_(pa.int64()), pa.binary()]
    table = data.draw(tables(data.draw(st.lists(st.sampled_from(types), min_size=1, max_size=3))))
    data.draw(st.sampled_from(PLAIN_WRITERS))(table, path)
    if path.exists() and table.num_rows:
        found = read_slice(whole(path) | {"rows": table.num_rows}, [(name,) for name in table.column_names])
        strict = pq.ParquetFile(path).read()
        for name in table.column_names:
            assert repr(found[name,].to_pylist()) == repr(strict.column(name).to_pylist())


@pytest.mark.parametrize("has_nulls", [True, False])
@pytest.mark.parametrize("codec", ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"])
def test_pages_with_more_in_them_than_their_values_are_read(tmp_path: Path, codec: str, has_nulls: bool) -> None:
    """fastparquet puts a few zeros behind the values of a page."""
    path, frame = tmp_path / "t.parquet", a_table().select(["n", "s"]).to_pandas()
    fastparquet.write(str(path), frame, compression=codec, has_nulls=has_nulls)
    found = read_slice(whole(path), [("n",), ("s",)])
    assert found["n",].to_pylist() == frame["n"].tolist() and found["s",].to_pylist() == frame["s"].tolist()


def test_one_flipped_bit_in_a_page_with_a_checksum_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(a_table(), path, compression="none", use_dictionary=False, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[pages_of(bytes(content))[0] + 5_000] ^= 1
    path.write_bytes(content)
    assert not all(can_be_believed(str(path), [columns_of(path)[:1]]))
    for small in (False, True):
        with pytest.raises(TableError, match=r"could not verify page integrity|CRC"):
            read_slice(whole(path) | {"small": small}, [("n",)])


def test_a_header_that_lies_about_a_size_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(a_table(), path, compression="snappy", use_dictionary=False)
    content = bytearray(path.read_bytes())
    place = pages_of(bytes(content))[0]
    assert content[place : place + 3] == b"\x15\x00\x15"  # a data page, and its size follows
    content[place + 3] ^= 2
    path.write_bytes(content)
    assert not all(can_be_believed(str(path), [columns_of(path)[:1]]))
    with pytest.raises(TableError):
        read(path)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_a_header_that_is_none_is_found(tmp_path: Path, offset: int) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(a_table(), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    place = pages_of(bytes(content))[0]
    content[place + offset] = 0xFF
    path.write_bytes(content)
    assert not all(can_be_believed(str(path), [columns_of(path)[:1]]))
    with pytest.raises(TableError):
        read(path)


@pytest.mark.parametrize("small", [True, False])
def test_text_that_is_none_is_found_by_both_readers(tmp_path: Path, small: bool) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": ["zzzz"] * ROWS}), path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"zzzz", b"z\xffzz"))
    with pytest.raises(TableError, match=r"(?i)utf-?8"):
        read_slice(whole(path) | {"small": small}, [("s",)])


def test_a_column_that_is_of_another_kind_to_the_fast_reader_is_the_slow_readers(tmp_path: Path) -> None:
    """As after damage to a type in the footer."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s": [b"a"]}), path)
    with pq.ParquetFile(path) as file:
        assert _same_kind(file.schema_arrow, "s", pa.chunked_array([pa.array([b"a"], pa.large_binary())]))
        assert not _same_kind(file.schema_arrow, "s", pa.chunked_array([pa.array(["a"])]))


def test_a_name_that_the_fast_reader_cannot_say_is_the_slow_readers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a\0b": np.arange(ROWS)}), path)
    assert read_slice(whole(path), [("a\0b",)])["a\0b",].to_pylist() == list(range(ROWS))


@pytest.mark.slow
@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("pages", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", CODECS)
def test_the_fast_reader_is_believed_where_nothing_is_null_or_pages_have_checksums(
    tmp_path: Path, codec: str, pages: str, checksums: bool, nulls: bool
) -> None:
    path = tmp_path / "t.parquet"
    table = a_table().select(["nullable" if nulls else "n", "s"])
    pq.write_table(table, path, compression=codec, data_page_version=pages, write_page_checksum=checksums)
    # The codec can be begun; or levels stand apart, and these numbers do not get smaller by it.
    known = codec not in ("lz4", "brotli") or (codec == "lz4" and pages == "2.0")
    expected = {"nullable": checksums, "n": checksums or known, "s": checksums or known}
    assert {
        chunk.path_in_schema: can_be_believed(str(path), [[(chunk, schema)]])[0] for chunk, schema in columns_of(path)
    } == {name: expected[name] for name in table.column_names}


@pytest.mark.slow
@pytest.mark.parametrize("write", PLAIN_WRITERS, ids=lambda write: write.__name__)
def test_the_fast_reader_is_believed_about_columns_of_any_writer_without_nulls(tmp_path: Path, write: Any) -> None:
    path = tmp_path / "t.parquet"
    write(a_table().drop_columns(["nullable"]), path)
    without_statistics = "without_statistics" in write.__name__
    assert can_be_believed(str(path), [[pair] for pair in columns_of(path)]) == [not without_statistics] * len(
        columns_of(path)
    )


def with_levels(path: Path, level: int, *, counted: bool) -> Path:
    """A file without NULLs, in which the run that says so says *level* instead of 1 for all rows of the first page."""
    table = pa.table({"n": np.arange(ROWS)})
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=counted)
    content = bytearray(path.read_bytes())
    content[content.index(b"\x01" + bytes(8), pages_of(bytes(content))[0])] = level  # the number 0 comes next
    path.write_bytes(content)
    return path


def test_levels_that_only_the_fast_reader_understands_prove_nothing(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"(?i)level"):
        read_slice(whole(with_levels(tmp_path / "t.parquet", 40, counted=False)), [("n",)])


@pytest.mark.parametrize("pages", ["1.0", "2.0"])
@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
def test_numbers_of_a_dictionary_that_are_no_bits_wide_are_the_strict_readers(
    tmp_path: Path, pages: str, nullable: bool, codec: str
) -> None:
    """The fast reader would take them all for the first, whatever stands there."""
    path = tmp_path / "t.parquet"
    values = [str(number % 7) for number in range(400)]
    schema = pa.schema([pa.field("s", pa.string(), nullable=nullable)])
    table = pa.table({"s": values}, schema=schema)
    pq.write_table(table, path, compression=codec, data_page_version=pages)
    believed = codec != "lz4"  # whose beginning is not read here
    assert all(can_be_believed(str(path), [columns_of(path)])) == believed
    if codec == "none":
        content = bytearray(path.read_bytes())
        with path.open("rb") as file:
            _, start = check_pages._read_header(check_pages._File(file.fileno()), pages_of(bytes(content))[-1])
        width = start + ((4 if pages == "1.0" else 0) + len(b"\xa0\x06\x01") if nullable else 0)
        assert content[width] == 3
        content[width] = 0
        path.write_bytes(content)
        assert not all(can_be_believed(str(path), [columns_of(path)]))


@pytest.mark.parametrize("further", [0, 1])
def test_where_a_footer_is_of_two_minds_about_where_a_column_begins_the_strict_reader_has_the_word(
    tmp_path: Path, further: int
) -> None:
    """The dictionary comes before the data, if there is one; some readers begin at the one place, some at the other."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"n": [7] * 3}), path, compression="none")
    assert all(can_be_believed(str(path), [columns_of(path)]))
    ((chunk, _),) = columns_of(path)
    data_at, dictionary_at = chunk.data_page_offset, chunk.dictionary_page_offset
    assert dictionary_at < data_at < 63  # so that either takes one byte in the footer: an I64, two fields further on
    content = path.read_bytes()
    told = bytes([0x26, 2 * data_at, 0x26, 2 * dictionary_at])
    assert content.count(told) == 1
    path.write_bytes(content.replace(told, bytes([0x26, 2 * data_at, 0x26, 2 * (data_at + further)])))
    ((chunk, _),) = columns_of(path)
    assert chunk.dictionary_page_offset == data_at + further
    assert not all(can_be_believed(str(path), [columns_of(path)]))


def test_where_the_footer_counts_other_nulls_the_strict_reader_has_the_word(tmp_path: Path) -> None:
    path = with_levels(tmp_path / "t.parquet", 0, counted=True)
    (column,) = read_slice(whole(path), [("n",)]).values()
    assert column.null_count and column.to_pylist() == pq.ParquetFile(path).read().column("n").to_pylist()


def test_the_checksums_of_spark_hold_until_a_bit_flips(spark: Any, tmp_path: Path) -> None:
    spark.range(ROWS).selectExpr("id AS n", "IF(id % 7 = 0, NULL, id) AS nullable", "CAST(id AS STRING) AS s").coalesce(
        1
    ).write.parquet(str(tmp_path / "t"))
    (path,) = (tmp_path / "t").glob("*.parquet")
    assert sorted(read(path)["n",].to_pylist()) == list(range(ROWS))
    content = bytearray(path.read_bytes())
    content[pages_of(bytes(content))[0] + 5_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(TableError, match="checksum"):
        read(path)
