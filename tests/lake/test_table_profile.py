"""What folder names say joins what files say, once, typed as written, in one spelling (HAZARDS 8, 11, 28)."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import TableError
from r2d2.formats.merge import ColumnProfile, FileRows, FilesProfile
from r2d2.lake.table_profile import partition_type, partition_value, table_profile
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Token
from r2d2.model.table import DataFile, Table
from r2d2.model.versions import FileVersion

Partition = tuple[tuple[str, str | None], ...]


def profile_of(
    partitions: list[Partition], rows: list[int] | None = None, columns: tuple[Token, ...] = (("x",),), **options: Any
) -> TableProfile:
    """The profile of a table with a file for each of these partitions."""
    rows = rows or [1] * len(partitions)
    paths = [f"/lake/t/{number}.parquet" for number in range(len(partitions))]
    files = tuple(DataFile(path, 100, 0, FileVersion(str(n), ""), partitions[n]) for n, path in enumerate(paths))
    read = tuple(FileRows(path, ((count, 50),)) for path, count in zip(paths, rows, strict=True))
    in_files = {token: ColumnProfile("int64", "0.parquet", ColumnStats(nulls=0)) for token in columns}
    table, profile = table_profile(Table("t", "parquet", "/lake/t", files), FilesProfile(read, in_files), **options)
    assert [file.parts for file in table.files] == [file.parts for file in read]
    assert (profile.table, profile.rows, profile.size_bytes) == ("t", sum(rows), 100 * len(rows))
    assert list(profile.schema.columns) == sorted(profile.schema.columns)
    return profile


def column(values: list[str | None], rows: list[int] | None = None, **options: Any) -> tuple[str, ColumnStats]:
    """Type and statistics of a partition column with these folder values."""
    profile = profile_of([(("p", value),) for value in values], rows, **options)
    found = {c.token: (c.type_name, stats) for c, stats in zip(profile.schema.columns, profile.stats, strict=True)}
    assert found.keys() == {("p",), ("x",)}
    return found["p",]


RAW = st.one_of(
    st.integers().map(str),
    st.dates().map(str),
    st.text(max_size=6),
    st.sampled_from(
        ["01", "-0", "+1", "1.0", " 1", "1_000", "٣", "", "2024-1-1", "20240101", "9" * 19, "-" + "9" * 19]
    ),
)


@settings(max_examples=300)
@given(st.lists(RAW | st.none(), min_size=1, max_size=4), st.booleans())
def test_a_typed_value_prints_as_its_folder_is_named(values: list[str | None], infer: bool) -> None:
    type_name = partition_type(values, infer=infer)
    assert infer or type_name == "string"
    for raw in values:
        if raw is not None:
            value = partition_value(raw, type_name)
            if type_name == "int64":
                assert str(value) == raw and isinstance(value, int) and -(2**63) <= value < 2**63
            elif type_name == "date":
                assert (
                    isinstance(value, int) and date.fromordinal(date(1970, 1, 1).toordinal() + value).isoformat() == raw
                )
            else:
                assert isinstance(value, bytes) and value.decode("utf-8", "surrogateescape") == raw


@settings(max_examples=200)
@given(st.lists(st.tuples(RAW | st.none(), st.integers(0, 3)), min_size=1, max_size=5))
def test_statistics_are_those_of_the_values_with_rows(files: list[tuple[str | None, int]]) -> None:
    values, rows = [value for value, _ in files], [count for _, count in files]
    type_name, stats = column(values, rows)
    there = [partition_value(raw, type_name) for raw, count in files if raw is not None and count]
    nulls = sum(count for raw, count in files if raw is None)
    assert stats == ColumnStats(
        nulls,
        min(there, default=None),
        max(there, default=None),
        bool(there),
        bool(there),  # type: ignore[type-var]
    )


def test_whole_numbers_are_numbers_and_exact() -> None:
    assert column(["2023", "2024", "-7"]) == ("int64", ColumnStats(0, -7, 2024, True, True))


def test_dates_are_days() -> None:
    assert column(["1970-01-02", "2024-01-01"]) == ("date", ColumnStats(0, 1, 19723, True, True))


def test_01_is_text_and_takes_its_neighbours_with_it() -> None:
    assert column(["01", "2"]) == ("string", ColumnStats(0, b"01", b"2", True, True))


def test_a_date_among_numbers_makes_text() -> None:
    assert column(["2024", "2024-01-01"])[0] == "string"


def test_an_empty_value_is_an_empty_text_not_null() -> None:
    assert column([""]) == ("string", ColumnStats(0, b"", b"", True, True))


def test_hives_null_is_null_and_leaves_the_type_to_the_others() -> None:
    assert column([None, "5"], [10, 2]) == ("int64", ColumnStats(10, 5, 5, True, True))
    assert column([None], [3]) == ("string", ColumnStats(nulls=3))


def test_the_user_can_ask_for_text() -> None:
    assert column(["1", "2"], partition_types="string") == ("string", ColumnStats(0, b"1", b"2", True, True))


def test_a_number_beyond_64_bits_is_text() -> None:
    assert column(["9223372036854775807"])[0] == "int64"
    assert column(["9223372036854775808"])[0] == "string"


def test_several_partition_columns_join() -> None:
    profile = profile_of([(("year", "2024"), ("month", "01")), (("year", "2025"), ("month", "02"))], [3, 4])
    assert profile.schema.columns == (
        Column(("month",), "string"),
        Column(("x",), "int64"),
        Column(("year",), "int64"),
    )
    assert profile.stats == (
        ColumnStats(0, b"01", b"02", True, True),
        ColumnStats(nulls=0),
        ColumnStats(0, 2024, 2025, True, True),
    )


@pytest.mark.parametrize("in_file", [("p",), ("p", "field")], ids=["column", "struct"])
def test_a_column_in_files_and_in_folder_names_is_an_error(in_file: Token) -> None:
    with pytest.raises(TableError, match="column p stands in its files and in its folder names") as caught:
        profile_of([(("p", "1"),)], columns=(in_file,))
    assert caught.value.hint


def test_case_counts_unless_it_is_to_be_ignored() -> None:
    names = (("ID",), ("Straße", "Nr"))
    assert profile_of([()], columns=names).schema.tokens == names
    assert profile_of([()], columns=names, ignore_case=True).schema.tokens == (("id",), ("strasse", "nr"))


def test_folded_columns_keep_their_own_statistics() -> None:
    profile = profile_of([(("B", "7"),)], columns=(("a",), ("C",)), ignore_case=True)
    assert {c.token: s.low for c, s in zip(profile.schema.columns, profile.stats, strict=True)} == {
        ("a",): None,
        ("b",): 7,
        ("c",): None,
    }


@pytest.mark.parametrize("partition", [(), (("ID", "1"),)])
def test_two_columns_that_fold_together_are_an_error_that_names_both(partition: Partition) -> None:
    columns: tuple[Token, ...] = (("id",),) if partition else (("ID",), ("id",))
    profile_of([partition], columns=columns)
    with pytest.raises(TableError, match=r"columns (ID and id|id and ID) differ in case only"):
        profile_of([partition], columns=columns, ignore_case=True)
