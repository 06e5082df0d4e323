"""A file that schemas alone took out of a folder is not planned for deletion before a person says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from r2d2.lake.discover import discover
from r2d2.lake.taken_apart import taken_apart


def write(root: Path, *names: str) -> str:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"PAR1")
    return str(root)


FILES = ("1.parquet", "2.parquet", "t/1.parquet", "t/2.parquet", "u/part-0.parquet", "u/old.parquet", "lake2/x.parquet")


@pytest.mark.parametrize(
    ("split", "unconfirmed"),
    [
        ((), {"1.parquet": "lake", "2.parquet": "lake", "t/1.parquet": "t", "t/2.parquet": "t"}),
        (("t",), {"1.parquet": "lake", "2.parquet": "lake"}),
        (("lake",), {"t/1.parquet": "t", "t/2.parquet": "t"}),
        (("*",), {}),
    ],
)
def test_only_files_that_schemas_alone_took_apart_are_named(
    tmp_path: Path, split: tuple[str, ...], unconfirmed: dict[str, str]
) -> None:
    lake = write(tmp_path / "lake", *FILES)
    found = discover([lake], split=split, apart=[lake, f"{lake}/t"])
    assert taken_apart(found.tables, roots=found.roots, split=split) == unconfirmed


def test_of_several_roots_each_has_a_name(tmp_path: Path) -> None:
    roots = [write(tmp_path / name, "1.parquet", "2.parquet") for name in "ab"]
    found = discover(roots, split=["a"], apart=roots)
    said = taken_apart(found.tables, roots=found.roots, split=["a"])
    assert said == {"b/1.parquet": "b", "b/2.parquet": "b"}


def test_a_pattern_for_a_folder_does_not_speak_of_a_root_of_the_same_name(tmp_path: Path) -> None:
    lake = write(tmp_path / "t", "1.parquet", "2.parquet", "t/3.parquet", "t/4.parquet")
    found = discover([lake], split=["t"], apart=[lake])
    assert [table.name for table in found.tables] == ["1.parquet", "2.parquet", "t/3.parquet", "t/4.parquet"]
    assert taken_apart(found.tables, roots=found.roots, split=["t"]).keys() == {"1.parquet", "2.parquet"}


def test_a_lone_partition_folder_beside_files_may_be_part_of_its_folder(tmp_path: Path) -> None:
    files = (
        "t/cities.parquet",
        "t/day=1/x.parquet",
        "t/day=1/hour=2/0.parquet",
        "u/day=1/y.parquet",
        "u/day=2/y.parquet",
    )
    lake = write(tmp_path / "lake", *files)
    found = discover([lake])
    strays = {"t/day=1/x.parquet": "t", "t/day=1/hour=2": "t/day=1"}
    assert taken_apart(found.tables, roots=found.roots, split=()) == strays
    notice = next(problem for problem in found.problems if problem.where == "t")
    assert "day=1" in notice.because and "no column" in notice.because
    found = discover([lake], split=["t"])
    assert taken_apart(found.tables, roots=found.roots, split=["t"]) == {"t/day=1/hour=2": "t/day=1"}


def test_a_file_whose_name_has_an_equals_sign_is_no_partition(tmp_path: Path) -> None:
    found = discover([write(tmp_path / "lake", "t/a=b.parquet", "t/cities.parquet")])
    assert [table.name for table in found.tables] == ["t/a=b.parquet", "t/cities.parquet"]
    assert not taken_apart(found.tables, roots=found.roots, split=())
