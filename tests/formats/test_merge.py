"""The profile of many files is the profile of all their rows, however they are put together."""

from __future__ import annotations

import math
import tempfile
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import TableError
from r2d2.formats.merge import (
    ColumnProfile,
    FileRows,
    FilesProfile,
    from_json,
    merge_files,
    require_one_table,
    to_json,
)
from r2d2.formats.parquet.footer import read_footer
from r2d2.model.profile import ColumnStats, Value
from r2d2.model.schema import Token
from r2d2.model.types import kind_of
from tests.support.random_tables import VALUES, tables

# NaN aside: a file with nothing else has no bounds to state.
TYPES = [kind for kind in VALUES if not pa.types.is_floating(kind)]


def said(profile: FilesProfile) -> dict[Token, tuple[str, ColumnStats]]:
    """What counts of a profile: where a type was seen first does not."""
    return {token: (column.type_name, column.stats) for token, column in profile.columns.items()}


def merge_in_any_order(parts: list[FilesProfile], dice: st.DataObject) -> FilesProfile:
    """Merge two at a time, now these, now those."""
    left = list(parts)
    while len(left) > 1:
        one = left.pop(dice.draw(st.integers(0, len(left) - 1)))
        two = left.pop(dice.draw(st.integers(0, len(left) - 1)))
        left.append(merge_files([one, two]))
    return left[0]


def without_some_null_columns(part: pa.Table, dice: st.DataObject) -> pa.Table:
    """Older files often lack the columns that came later. The first is always there."""
    lacking = [
        name
        for name in part.column_names[1:]
        if part[name].null_count == part.num_rows
        and not pa.types.is_nested(part[name].type)
        and dice.draw(st.booleans())
    ]
    return part.drop_columns(lacking)


@settings(max_examples=150)
@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=5).flatmap(tables), st.data())
def test_merged_files_say_what_one_file_with_all_rows_says(table: pa.Table, dice: st.DataObject) -> None:
    cuts = sorted(dice.draw(st.lists(st.integers(0, table.num_rows), max_size=4)))
    edges = [0, *cuts, table.num_rows]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(table, folder / "whole.parquet")
        parts = []
        for number, (start, end) in enumerate(pairwise(edges)):
            part = table.slice(start, end - start)
            if number:
                part = without_some_null_columns(part, dice)
            pq.write_table(part, folder / f"{number}.parquet")
            parts.append(read_footer(str(folder / f"{number}.parquet")))
        whole = read_footer(str(folder / "whole.parquet"))
        merged = merge_in_any_order(parts, dice)
    assert said(merged) == said(whole)
    assert merged.rows == whole.rows == table.num_rows
    assert sorted(file.path for file in merged.files) == sorted(part.files[0].path for part in parts)


def profile(name: str, rows: int = 3, **columns: tuple[str, ColumnStats]) -> FilesProfile:
    named = {(token,): ColumnProfile(type_name, name, stats) for token, (type_name, stats) in columns.items()}
    return FilesProfile((FileRows(f"/lake/t/{name}", ((rows, 10),)),), named)


# ---- odd profiles, also such as no footer of ours gives: the rules of merging hold for them too ---------------------

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([-0.0, 0.0, 0.5, math.inf, float(2**53)]),
    st.sampled_from([Decimal("0.5"), Decimal("1.50"), Decimal(2**53 + 1), Decimal("-1E+5")]),
)


@st.composite
def stats(draw: st.DrawFn, rows: int, values: st.SearchStrategy[Value] = NUMBERS) -> ColumnStats:
    nulls = draw(st.none() | st.integers(0, rows))
    if nulls == rows:
        return ColumnStats(nulls)
    low, high = sorted(draw(st.lists(values, min_size=2, max_size=2)))
    low, high = (None if draw(st.integers(0, 3)) == 0 else bound for bound in (low, high))
    return ColumnStats(
        nulls, low, high, low is not None and draw(st.booleans()), high is not None and draw(st.booleans())
    )


@st.composite
def parts(draw: st.DrawFn) -> list[FilesProfile]:
    several = []
    for number in range(draw(st.integers(1, 5))):
        rows = draw(st.integers(0, 3))
        columns = {
            name: (draw(st.sampled_from(["int32", "int64", "float64", "decimal(9,2)", "null"])), draw(stats(rows)))
            for name in ["always", *draw(st.sets(st.sampled_from("abc")))]
        }
        several.append(profile(f"{number}.parquet", rows, **columns))
    return several


@settings(max_examples=300)
@given(parts(), st.data())
def test_the_order_of_merging_does_not_matter(several: list[FilesProfile], dice: st.DataObject) -> None:
    assert said(merge_in_any_order(several, dice)) == said(merge_files(several))


@given(parts())
def test_merging_leaves_its_arguments_alone(several: list[FilesProfile]) -> None:
    before = [to_json(part) for part in several]
    merge_files(several)
    assert [to_json(part) for part in several] == before


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from(["int64", "float32", "string", "timestamp(us)", "timestamp(us,UTC)", "null"]),
        min_size=1,
        max_size=5,
    ),
    st.data(),
)
def test_types_of_several_kinds_clash_in_any_order_and_others_do_not(types: list[str], dice: st.DataObject) -> None:
    several = [profile(f"{n}.parquet", x=(name, ColumnStats(nulls=0))) for n, name in enumerate(types)]
    if len({kind_of(name) for name in types} - {"null"}) > 1:
        with pytest.raises(TableError, match=r"column x is .* in \d\.parquet and .* in \d\.parquet"):
            merge_in_any_order(several, dice)
    else:
        merge_in_any_order(several, dice)


def test_a_clash_names_the_column_both_types_and_both_files() -> None:
    several = [
        profile("a.parquet", x=("null", ColumnStats(nulls=3))),
        profile("b.parquet", x=("int64", ColumnStats())),
        profile("c.parquet", x=("int32", ColumnStats())),
        profile("d.parquet", x=("string", ColumnStats())),
    ]
    with pytest.raises(TableError) as caught:
        merge_files(several)
    assert str(caught.value.args[0]) == "column x is int64 in b.parquet and string in d.parquet"
    assert "folder" in caught.value.hint


def test_files_without_a_common_column_are_not_one_table() -> None:
    several = [profile("b.parquet", y=("int64", ColumnStats())), profile("a.parquet", x=("int64", ColumnStats()))]
    with pytest.raises(TableError) as caught:
        require_one_table(merge_files(several))
    assert str(caught.value.args[0]) == "its files a.parquet and b.parquet have no column in common"


def islands_by_hand(columns: list[set[str]]) -> int:
    """How many groups of files hang together: spread out from one file as far as it goes, then from another."""
    left = [names for names in columns if names]
    groups = 0
    while left:
        groups += 1
        reached = left.pop()
        while touching := [names for names in left if names & reached]:
            reached = reached.union(*touching)
            left = [names for names in left if names not in touching]
    return groups


def verdict(profile: FilesProfile) -> str:
    try:
        require_one_table(profile)
    except TableError as error:
        return str(error.args[0])
    return ""


@given(st.lists(st.sets(st.sampled_from("abcdef"), max_size=3), min_size=1, max_size=6), st.data())
def test_whether_files_hang_together_does_not_depend_on_their_order(
    columns: list[set[str]], dice: st.DataObject
) -> None:
    known = ("int64", ColumnStats())
    files = [profile(f"{n}.parquet", **dict.fromkeys(sorted(names), known)) for n, names in enumerate(columns)]
    merged = merge_in_any_order([from_json(to_json(file)) for file in files], dice)
    assert from_json(to_json(merged)) == merged
    assert len(merged.islands) == islands_by_hand(columns)
    other = merge_in_any_order(files, dice)
    assert verdict(merged) == verdict(other)
    assert bool(verdict(merged)) == (len(merged.islands) > 1)


NUMBERS = ("int8", "int64", "uint8", "uint64", "decimal(9,2)", "decimal(20,5)", "float32", "float64", "null")


@pytest.mark.parametrize(
    ("types", "named"),
    [
        (("int64", "uint8"), "int64"),
        (("uint64", "int64"), "uint64"),
        (("decimal(9,2)", "decimal(20,5)"), "decimal(20,5)"),
        (("int64", "float32"), "float32"),
    ],
)
def test_the_wider_type_names_the_column(types: tuple[str, str], named: str) -> None:
    for order in (types, types[::-1]):
        merged = merge_files([profile(f"{n}.parquet", x=(kind, ColumnStats())) for n, kind in enumerate(order)])
        assert merged.columns["x",].type_name == named


@given(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=5), st.data())
def test_the_name_of_a_type_does_not_depend_on_the_order(types: list[str], dice: st.DataObject) -> None:
    files = [profile(f"{n}.parquet", x=(kind, ColumnStats())) for n, kind in enumerate(types)]
    assert said(merge_in_any_order(files, dice)) == said(merge_in_any_order(files, dice))


def test_a_file_without_columns_joins_any() -> None:
    one, none = profile("a.parquet", x=("int64", ColumnStats(nulls=1))), profile("b.parquet", rows=5)
    assert said(merge_files([none, one])) == said(merge_files([one, none])) == {("x",): ("int64", ColumnStats(nulls=6))}


def test_rows_without_the_column_count_as_nulls() -> None:
    full = profile("a.parquet", k=("int64", ColumnStats()), x=("int64", ColumnStats(1, 5, 9, True, True)))
    lacking = profile("b.parquet", rows=10, k=("int64", ColumnStats()))
    assert merge_files([full, lacking]).columns["x",].stats == ColumnStats(11, 5, 9, True, True)
    unknown = profile("c.parquet", k=("int64", ColumnStats()), x=("int64", ColumnStats(None, 5, 9)))
    assert merge_files([lacking, unknown]).columns["x",].stats == ColumnStats(None, 5, 9)


def test_an_all_null_file_changes_no_bound_and_an_unknown_one_makes_it_unknown() -> None:
    known = profile("a.parquet", x=("int64", ColumnStats(0, 5, 9, True, True)))
    nothing = profile("b.parquet", x=("int64", ColumnStats(nulls=3)))
    unknown = profile("c.parquet", x=("int64", ColumnStats(nulls=0)))
    assert merge_files([known, nothing]).columns["x",].stats == ColumnStats(3, 5, 9, True, True)
    assert merge_files([known, unknown]).columns["x",].stats == ColumnStats(nulls=0)


def test_of_two_equal_bounds_one_exact_is_enough() -> None:
    exact = profile("a.parquet", x=("int64", ColumnStats(0, 5, 9, True, True)))
    valid = profile("b.parquet", x=("int64", ColumnStats(0, 5, 9)))
    wider = profile("c.parquet", x=("int64", ColumnStats(0, 4, 10)))
    for several in ([exact, valid], [valid, exact]):
        assert merge_files(several).columns["x",].stats == ColumnStats(0, 5, 9, True, True)
    assert merge_files([exact, wider]).columns["x",].stats == ColumnStats(0, 4, 10, False, False)


# ---- JSON ------------------------------------------------------------------------------------------------------------

ANY_VALUE = st.one_of(
    st.integers(-(2**200), 2**200),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.binary(),
)
ANY_STATS = st.builds(
    ColumnStats, st.none() | st.integers(0), st.none() | ANY_VALUE, st.none() | ANY_VALUE, st.booleans(), st.booleans()
)
ANY_PROFILE = st.builds(
    FilesProfile,
    st.lists(
        st.builds(FileRows, st.text(), st.lists(st.tuples(st.integers(0), st.integers(0))).map(tuple)), max_size=3
    ).map(tuple),
    st.dictionaries(
        st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple),
        st.builds(ColumnProfile, st.text(max_size=9), st.text(max_size=9), ANY_STATS),
        max_size=3,
    ),
)


@settings(max_examples=200)
@given(ANY_PROFILE)
def test_a_profile_travels_as_json_unchanged(any_profile: FilesProfile) -> None:
    travelled = from_json(to_json(any_profile))
    assert travelled == any_profile
    assert repr(travelled) == repr(any_profile)  # so 1, 1.0 and Decimal(1) are told apart, and 0.0 from -0.0
