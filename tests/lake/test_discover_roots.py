"""What the user types for a lake."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.lake.discover import discover
from r2d2.lake.roots import printable_uri

SECRET = st.text("XYZ019+/=%:?#@", min_size=1, max_size=30)


def write(root: Path, *names: str, content: bytes = b"PAR1 and so on") -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def names(*roots: Path | str) -> list[str]:
    return [table.name for table in discover([str(root) for root in roots]).tables]


@pytest.mark.parametrize("scheme", ["s3", "s3a", "abfss", "hdfs", "gs", "wasbs", "https", "dbfs"])
def test_other_stores_are_refused_with_a_way_out(scheme: str) -> None:
    with pytest.raises(UserError) as caught:
        discover([f"{scheme}://bucket/lake"])
    assert str(caught.value) == (
        f"cannot open {scheme}://bucket/lake: {scheme} is not supported yet\n"
        "Hint: mount it or copy it to a local folder, and give that folder's path"
    )


@given(secret=SECRET, tail=st.sampled_from(["", "?sig=", "#"]))
def test_no_secret_of_a_uri_is_printed(secret: str, tail: str) -> None:
    with pytest.raises(UserError) as caught:
        discover([f"s3a://user:{secret}@bucket/lake{tail}{secret if tail else ''}"])
    assert str(caught.value).startswith("cannot open s3a://")
    assert not set(str(caught.value)) & set("XYZ019+=%?#@") and "user" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("abfss://box@account.dfs.core.windows.net/x", "abfss://account.dfs.core.windows.net/x"),
        ("hdfs://name:9000/a", "hdfs://name:9000/a"),
        ("dbfs:/mnt/x", "dbfs:/mnt/x"),
        ("gs://bucket", "gs://bucket"),
    ],
)
def test_the_rest_of_a_uri_is_printed(uri: str, shown: str) -> None:
    assert printable_uri(uri) == shown


def test_a_file_uri_of_another_machine_is_refused() -> None:
    with pytest.raises(UserError, match="file://host/x is on another machine"):
        discover(["file://me:pw@host/x"])


def test_a_missing_path_is_refused_with_names_like_it(tmp_path: Path) -> None:
    write(tmp_path, "warehouse/a.parquet")
    with pytest.raises(UserError) as caught:
        discover([str(tmp_path / "warehose")])
    assert str(caught.value) == (
        f"cannot open {tmp_path}/warehose: no such file or folder\nHint: did you mean {tmp_path}/warehouse?"
    )
    with pytest.raises(UserError, match=f"did you mean {tmp_path}/warehouse"):
        discover([str(tmp_path / "warehouze/x/y")])
    with pytest.raises(UserError, match=f"the nearest folder that exists is {tmp_path}"):
        discover([str(tmp_path / "qqq")])


@pytest.mark.parametrize("root", ["", "a\0b", "file:", "/etc/hostname/x"])
def test_a_root_that_is_no_path_is_refused(root: str) -> None:
    with pytest.raises(UserError):
        discover([root])


def test_no_root_is_refused() -> None:
    with pytest.raises(UserError, match="no lake was named"):
        discover([])


def test_a_root_that_leads_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "me").symlink_to("me")
    with pytest.raises(UserError, match="cannot open"):
        discover([str(tmp_path / "me")])


def test_a_file_is_that_single_table(tmp_path: Path) -> None:
    write(tmp_path, "t/part-0.parquet", "t/part-1.parquet")
    found = discover([str(tmp_path / "t/part-1.parquet")])
    assert [(table.name, table.location) for table in found.tables] == [
        ("part-1.parquet", str(tmp_path / "t/part-1.parquet"))
    ]


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "b.txt", content=b"x")
    with pytest.raises(UserError, match="1 CSV file"):
        discover([str(tmp_path / "a.csv")])
    with pytest.raises(UserError, match="no table under"):
        discover([str(tmp_path / "b.txt")])


@pytest.mark.parametrize("inside", ["_delta_log/0.json", "metadata/v1.metadata.json", ".hoodie/x"])
def test_a_part_of_a_table_of_another_format_is_refused(tmp_path: Path, inside: str) -> None:
    write(tmp_path, f"t/{inside}", "t/data/d=1/part-0.parquet")
    for root in ("t/data", "t/data/d=1", "t/data/d=1/part-0.parquet"):
        with pytest.raises(UserError, match="lies inside a table"):
            discover([str(tmp_path / root)])


def test_metadata_of_something_else_above_a_root_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, "metadata/x.metadata.json", "lake/a.parquet")
    assert names(tmp_path / "lake") == ["a.parquet"]


def test_one_string_is_one_root(tmp_path: Path) -> None:
    assert discover(str(write(tmp_path, "a.parquet"))).tables[0].name == "a.parquet"


def test_names_of_several_roots_begin_with_the_roots(tmp_path: Path) -> None:
    write(tmp_path, "one/a.parquet", "two/b/part-0.parquet", "three/part-0.parquet", "x.parquet")
    assert names(tmp_path / "one", tmp_path / "two", tmp_path / "three", tmp_path / "x.parquet") == [
        "one/a.parquet",
        "three",
        "two/b",
        "x.parquet",
    ]


def test_roots_of_the_same_name_are_numbered_whatever_their_order(tmp_path: Path) -> None:
    one, two = write(tmp_path / "p/lake", "a.parquet"), write(tmp_path / "q/lake", "a.parquet")
    assert names(one, two) == names(two, one) == ["lake#2/a.parquet", "lake/a.parquet"]


def test_a_root_inside_another_adds_nothing(tmp_path: Path) -> None:
    write(tmp_path, "a/b/part-0.parquet", "a/c.parquet")
    assert names(tmp_path, tmp_path / "a", tmp_path / "a/b", tmp_path / "a/c.parquet") == ["a/b", "a/c.parquet"]


def test_a_hidden_folder_is_looked_into_if_it_is_named(tmp_path: Path) -> None:
    write(tmp_path / "lake", "a.parquet", "_old/b.parquet")
    assert names(tmp_path / "lake", tmp_path / "lake/_old") == ["_old/b.parquet", "lake/a.parquet"]


def test_one_root_without_tables_among_others_is_named(tmp_path: Path) -> None:
    write(tmp_path, "one/a.parquet", "two/b.csv")
    found = discover([str(tmp_path / "one"), str(tmp_path / "two")])
    assert [(problem.where, problem.kind) for problem in found.problems] == [("two", "notice"), ("two", "unsupported")]


def test_a_path_with_a_colon_or_percent_sign_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "s3:/lake/a.parquet", "b%20c/d.parquet")
    assert names("s3:/lake") == ["a.parquet"]
    assert names("b%20c") == names("file:b%2520c") == ["d.parquet"]


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_root_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    root = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(root)
    with pytest.raises(UserError, match=r"\\xff is not UTF-8"):
        discover([root])
