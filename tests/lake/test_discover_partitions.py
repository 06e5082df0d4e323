"""Hive partition folders make one table, or a conflict that is named."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.lake.discover import discover
from r2d2.lake.partitions import split_partition
from r2d2.model.table import Discovery

PARQUET = b"PAR1 and so on"
# What a folder may be called: no slash, no NUL, and at most 255 bytes.
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="/\0%"), max_size=40)


def write(root: Path, *names: str, content: bytes = PARQUET) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def conflict(found: Discovery, where: str) -> str:
    (problem,) = [problem for problem in found.problems if problem.where == where]
    assert problem.kind == "unreadable" and problem.needs_a_look
    return problem.because


def test_the_topmost_folder_of_partitions_is_the_table(tmp_path: Path) -> None:
    write(tmp_path, *(f"raw/sales/y={y}/m={m:02}/any name.parquet" for y in (2023, 2024) for m in (1, 2)))
    write(tmp_path, "raw/sales/_SUCCESS", "raw/sales/y=2023/_SUCCESS", content=b"")
    (table,) = discover([str(tmp_path)]).tables
    assert (table.name, table.location, table.unexplained) == ("raw/sales", str(tmp_path / "raw/sales"), ())
    assert [file.partition for file in table.files] == [
        (("y", y), ("m", m)) for y in ("2023", "2024") for m in ("01", "02")
    ]


def test_values_are_raw_unquoted_and_null_where_hive_says_so(tmp_path: Path) -> None:
    folders = ["k=001", "k=", "k=a%20b%2Fc", "k=__HIVE_DEFAULT_PARTITION__", "k=a=b", "k=%zz"]
    (table,) = discover([str(write(tmp_path, *(f"t/{folder}/0.parquet" for folder in folders)))]).tables
    assert {file.partition for file in table.files} == {
        (("k", value),) for value in ("001", "", "a b/c", None, "a=b", "%zz")
    }


@given(st.sets(VALUES, min_size=1, max_size=4))
def test_every_value_comes_back_as_written(values: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), *(f"t/k={value}/0.parquet" for value in values))
        (table,) = discover([folder]).tables
        assert {file.partition for file in table.files} == {(("k", value),) for value in values}


def test_a_partition_column_may_begin_with_an_underscore_as_for_spark(tmp_path: Path) -> None:
    (table,) = discover([str(write(tmp_path, "t/_day=1/0.parquet"))]).tables
    assert table.files[0].partition == (("_day", "1"),)


@pytest.mark.parametrize("name", ["2024", "=x", "", "_x"])
def test_a_name_without_column_and_value_is_no_partition(name: str) -> None:
    assert split_partition(name) is None


@pytest.mark.parametrize(
    ("files", "because"),
    [
        (
            ["y=1/0.parquet", "y=1/m=1/0.parquet"],
            "different partition columns: y in t/y=1 but y, m in t/y=1/m=1",
        ),
        (["y=1/0.parquet", "x=1/0.parquet"], "different partition columns: x in t/x=1 but y in t/y=1"),
        (["y=1/m=1/0.parquet", "m=1/y=1/0.parquet"], "different partition columns: m, y"),
        (["y=1/0.parquet", "Y=1/0.parquet"], "different partition columns"),
        (["y=1/y=2/0.parquet"], "a partition column stands twice in t/y=1/y=2"),
        (["y=1/0.parquet", "y=2/0.parquet", "part-0.parquet"], "data lies beside its partition folders (part-0."),
        (["y=1/0.parquet", "part-0.parquet", "_SUCCESS"], "data lies beside its partition folders (part-0.parquet)"),
        (["y=1/0.parquet", "cities.parquet", "_SUCCESS"], "data lies beside its partition folders (cities.parquet)"),
        (["y=1/0.parquet", "y=1/extra/0.parquet"], "t/y=1/extra holds data and is no partition folder"),
        (["y=1/0.parquet", "y=2/_delta_log/0.json"], "t/y=2 is a Delta table"),
        (["y=1/0.parquet", "y=1/sub/.hoodie/x"], "t/y=1/sub is a Hudi table"),
        (["y=%ff/0.parquet"], "the value in t/y=%ff is not UTF-8"),
    ],
)
def test_files_that_disagree_make_the_table_unreadable(tmp_path: Path, files: list[str], because: str) -> None:
    write(tmp_path, *(f"t/{name}" for name in files), "ok.parquet")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["ok.parquet"]
    assert because in conflict(found, "t")


@pytest.mark.parametrize("name", ["sales {}.parquet", "1-1000{}-1.parquet", "part-{}.parquet"])
def test_one_stray_partition_folder_leaves_the_files_beside_it_what_they_are(tmp_path: Path, name: str) -> None:
    files = [f"t/{name.format(number)}" for number in range(20)]
    without = discover([str(write(tmp_path / "one", *files))])
    found = discover([str(write(tmp_path / "two", *files, "t/a=b/x.parquet", "t/a=b/c=1/0.parquet"))])
    assert not [problem for problem in found.problems if problem.needs_a_look]
    tables = [(table.name, len(table.files)) for table in found.tables if "a=b" not in table.name]
    assert tables == [(table.name, len(table.files)) for table in without.tables]
    stray = [(table.name, len(table.files), table.files[0].partition) for table in found.tables if "a=b" in table.name]
    assert stray == [("t/a=b/c=1", 1, ()), ("t/a=b/x.parquet", 1, ())]


def test_files_beside_several_partition_folders_are_tables_of_their_own(tmp_path: Path) -> None:
    found = discover([str(write(tmp_path, "t/y=1/0.parquet", "t/y=2/0.parquet", "t/cities.parquet"))])
    assert [(table.name, len(table.files)) for table in found.tables] == [("t", 2), ("t/cities.parquet", 1)]
    assert found.overlaps == {("t", "t/cities.parquet")}
    (problem,) = found.problems
    assert (problem.where, problem.kind) == ("t", "notice") and "cities.parquet" in problem.because


def test_partition_folders_that_disagree_cost_the_files_beside_them_nothing(tmp_path: Path) -> None:
    found = discover([str(write(tmp_path, "t/y=1/0.parquet", "t/x=2/0.parquet", "t/cities.parquet"))])
    assert [table.name for table in found.tables] == ["t/cities.parquet"]
    assert [problem.where for problem in found.problems if problem.needs_a_look] == ["t"]


def test_what_is_no_data_in_partitions_is_unexplained(tmp_path: Path) -> None:
    foreign = ["y=1/a.csv", "y=1/notes/x.txt", "y=1/notes/deep/z", "y=1/_tmp.parquet", "README.md"]
    write(tmp_path / "t", "y=1/0.parquet", "y=1/.0.parquet.crc", *foreign[:2], *foreign[3:])
    write(tmp_path / "t", "y=1/notes/deep/z", "y=1/_temporary/0.parquet", content=b"")
    (table,) = discover([str(tmp_path)]).tables
    assert set(table.unexplained) == {*foreign, "y=1/_temporary/"}


def test_a_plain_folder_beside_partitions_holds_tables_of_its_own(tmp_path: Path) -> None:
    found = discover([str(write(tmp_path, "t/y=1/0.parquet", "t/other/a.parquet"))])
    assert [table.name for table in found.tables] == ["t", "t/other/a.parquet"]
    assert found.overlaps == {("t", "t/other/a.parquet")}


def test_folders_of_tables_may_be_called_like_partitions(tmp_path: Path) -> None:
    write(tmp_path, "env=prod/sales/part-0.parquet", "env=prod/users/d=1/0.parquet", "env=test/a/x.parquet")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == [
        "env=prod/sales",
        "env=prod/users",
        "env=test/a/x.parquet",
    ]
    assert found.tables[1].files[0].partition == (("d", "1"),)


def test_partitioned_files_of_another_format_are_counted_once(tmp_path: Path) -> None:
    write(tmp_path, *(f"t/d={day}/a.csv" for day in range(30)), content=b"1")
    with pytest.raises(UserError, match="30 CSV files"):
        discover([str(tmp_path)])
    (problem,) = discover([str(write(tmp_path, "ok.parquet"))]).problems
    assert (problem.where, problem.because) == ("t", "30 CSV files in partition folders; not supported yet")


def test_partitioned_files_of_another_format_inside_a_table_are_unexplained(tmp_path: Path) -> None:
    (table,) = discover([str(write(tmp_path, "t/part-0.parquet", "t/d=1/a.csv"))]).tables
    assert table.unexplained == ("d=1/a.csv",)


def test_empty_partition_folders_change_nothing(tmp_path: Path) -> None:
    write(tmp_path, "t/part-0.parquet")
    (tmp_path / "t" / "d=1" / "h=2").mkdir(parents=True)
    (table,) = discover([str(tmp_path)]).tables
    assert (len(table.files), table.unexplained) == (1, ())


def test_the_root_itself_may_be_partitioned(tmp_path: Path) -> None:
    (table,) = discover([str(write(tmp_path / "sales", "d=1/0.parquet"))]).tables
    assert (table.name, table.files[0].partition) == ("sales", (("d", "1"),))


@pytest.mark.parametrize("link", ["d=2", "d=1/1.parquet"])
def test_a_link_that_a_reader_would_follow_makes_the_table_unreadable(tmp_path: Path, link: str) -> None:
    write(tmp_path, "t/d=1/0.parquet", "u/d=1/0.parquet")
    (tmp_path / "t" / link).symlink_to(tmp_path / ("u/d=1" if link == "d=2" else "u/d=1/0.parquet"))
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["u"]
    assert f"t/{link} is a link" in conflict(found, "t")
