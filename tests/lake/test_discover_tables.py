"""Which folders and files are tables, and what each is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.lake.discover import discover
from r2d2.lake.recognise import looks_like_a_part
from r2d2.model.table import Discovery
from r2d2.stores.local import version_of

PARQUET = b"PAR1 and so on"
UUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
PARTS = [
    f"part-00000-{UUID}-c000.snappy.parquet",
    "part-0.parquet",
    "part_1.PARQ",
    "part.0.parquet",
    "part-r-00000.gz.parquet",
    "000000_0",
    "000000_0_copy_1",
    "0.parquet",
    "00000000.parquet",
    "2024-01-01.pq",
    f"{UUID}.parquet",
    f"{UUID}-0.parquet",
    f"00000-0-{UUID}-00001.parquet",
    "9f86d081884c7d659a2feaa0c55ad015.parquet",
    "d84f6f8c2c8d7c0a-1c5ab7e100000000_1234_data.0.parq",
    "data-0.parquet",
    "data_0.parquet",
    "data_0_0_0.snappy.parquet",
    "file-000000000000.parquet",
    "chunk_12.parquet",
    "output-3.parquet",
    f"20240101_123456_00001_abcde_{UUID}",
    "0000_part_00.parquet",
]
OWN = [
    "cities500.parquet",
    "part.parquet",
    "partsupp.parquet",
    "part_suppliers.parquet",
    "parts_2024.parquet",
    "sales_2024.parquet",
    "v2.parquet",
    "data.parquet",
    "data1.parquet",
    "facade.parquet",
    "part-0.parquet.bak",
    "export-part-0.parquet",
]


def write(root: Path, *names: str, content: bytes = PARQUET) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def names(found: Discovery) -> list[str]:
    return [table.name for table in found.tables]


def said(found: Discovery, where: str) -> list[tuple[str, str]]:
    return [(problem.kind, problem.because) for problem in found.problems if problem.where == where]


@pytest.mark.parametrize("name", PARTS)
def test_files_named_as_writers_name_parts_make_their_folder_one_table(tmp_path: Path, name: str) -> None:
    (table,) = discover([str(write(tmp_path, f"sales/{name}"))]).tables
    assert (table.name, table.format, table.location) == ("sales", "parquet", str(tmp_path / "sales"))
    assert [file.path for file in table.files] == [str(tmp_path / "sales" / name)]


@pytest.mark.parametrize("name", OWN)
def test_a_file_named_otherwise_is_a_table_of_its_own(tmp_path: Path, name: str) -> None:
    found = discover([str(write(tmp_path, f"sales/{name}", "sales/zebra.parquet"))])
    assert names(found) == sorted([f"sales/{name}", "sales/zebra.parquet"])
    assert not looks_like_a_part(name)


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\0"), max_size=80))
@example("0" * 250)
@example("a" * 250 + ".parquet")
def test_any_name_is_judged(name: str) -> None:
    assert looks_like_a_part(name) in (True, False)


def test_copies_side_by_side_are_tables_of_their_own(tmp_path: Path) -> None:
    found = discover([str(write(tmp_path, "cities500.parquet", "cities1000.parquet", "a/b/cities15000.PQ"))])
    assert names(found) == ["a/b/cities15000.PQ", "cities1000.parquet", "cities500.parquet"]
    assert not found.overlaps and not found.problems


@pytest.mark.parametrize("marker", ["_SUCCESS", "_metadata", "_common_metadata", "_started_12", "_committed_12"])
def test_a_marker_makes_all_parquet_in_its_folder_one_table(tmp_path: Path, marker: str) -> None:
    write(tmp_path, f"t/{marker}", content=b"")
    (table,) = discover([str(write(tmp_path, "t/north.parquet", "t/south.parquet"))]).tables
    assert (table.name, len(table.files), table.unexplained) == ("t", 2, ())


@pytest.mark.parametrize("name", ["data.parquet", "sales.parquet", "Sales.pq"])
def test_a_lone_file_named_data_or_like_its_folder_is_the_folder(tmp_path: Path, name: str) -> None:
    assert names(discover([str(write(tmp_path, f"sales/{name}"))])) == ["sales"]


def test_a_folder_table_given_by_the_user_is_one_table(tmp_path: Path) -> None:
    write(tmp_path, "t/north.parquet", "t/south.parquet", "t/deeper/a.parquet", "u/north.parquet", "t/x.csv")
    found = discover([str(tmp_path)], folder_tables=["t"])
    assert names(found) == ["t", "t/deeper/a.parquet", "u/north.parquet"]
    assert found.tables[0].unexplained == ("x.csv",)


def test_a_split_folder_is_no_table_and_each_of_its_files_is_one(tmp_path: Path) -> None:
    write(tmp_path, "t/part-0.parquet", "t/part-1.parquet", "t/d=1/0.parquet", "t/d=2/0.parquet", "u/part-0.parquet")
    write(tmp_path, "t/_SUCCESS", "t/x.csv", content=b"")
    found = discover([str(tmp_path)], split=["t"])
    assert names(found) == ["t/d=1", "t/d=2", "t/part-0.parquet", "t/part-1.parquet", "u"]
    assert not found.overlaps
    assert [(problem.where, problem.because) for problem in found.problems] == [("t", "1 CSV file; not supported yet")]


def test_the_root_itself_can_be_split(tmp_path: Path) -> None:
    lake = write(tmp_path / "lake", "1.parquet", "2.parquet", "lake2/1.parquet", "lake2/2.parquet")
    assert names(discover([str(lake)], split=["lake"])) == ["1.parquet", "2.parquet", "lake2"]
    assert names(discover([str(lake)], split=["*"])) == ["1.parquet", "2.parquet", "lake2/1.parquet", "lake2/2.parquet"]


def test_a_folder_cannot_be_split_and_one_table(tmp_path: Path) -> None:
    write(tmp_path, "t/1.parquet", "u/1.parquet")
    with pytest.raises(UserError, match="--split and --folder-table both match t"):
        discover([str(tmp_path)], split=["t"], folder_tables=["*"])
    assert names(discover([str(tmp_path)], split=["t"], folder_tables=["u"])) == ["t/1.parquet", "u"]


def test_a_split_that_matches_nothing_is_named(tmp_path: Path) -> None:
    (problem,) = discover([str(write(tmp_path, "t/1.parquet"))], split=["nothing"]).problems
    assert (problem.kind, problem.because) == ("notice", "--split 'nothing' matched nothing")


@pytest.mark.parametrize(
    ("files", "by_names"),
    [
        (["1-17-1.parquet", "1-18-1.parquet"], True),
        (["2024-01-01.parquet", "2024-01-02.parquet"], True),
        (["part-0.parquet", "part-1.parquet"], False),
        (["000000_0", "000001_0"], False),
        (["1.parquet", "2.parquet", "_SUCCESS"], False),
        (["1.parquet"], False),
    ],
)
def test_names_that_only_writers_give_and_markers_settle_what_a_table_is(
    tmp_path: Path, files: list[str], by_names: bool
) -> None:
    lake = write(tmp_path, *(f"t/{name}" for name in files))
    (table,) = discover([str(lake)]).tables
    assert (table.name, table.by_names) == ("t", by_names)
    apart = discover([str(lake)], apart=[str(tmp_path / "t")])
    assert names(apart) == ([f"t/{name}" for name in files] if by_names else ["t"])


def test_what_lay_in_a_folder_that_is_no_table_is_accounted_for(tmp_path: Path) -> None:
    write(tmp_path, "t/1.parquet", "t/2.parquet", "t/sub/part-0.parquet")
    write(tmp_path, "t/x.csv", "t/odd", content=b"-")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    found = discover([str(tmp_path)], apart=[str(tmp_path / "t")])
    assert names(found) == ["t/1.parquet", "t/2.parquet", "t/sub"]
    assert [table.aliases for table in found.tables] == [("link/1.parquet",), ("link/2.parquet",), ("link/sub",)]
    assert not found.overlaps and not any(table.unexplained for table in found.tables)
    said = {" ".join(problem.because.split(" ")[:2]) for problem in found.problems}
    assert said == {"1 CSV", "1 other", "2 files"}


def test_parts_beside_other_names_are_one_table_and_the_others_their_own(tmp_path: Path) -> None:
    found = discover([str(write(tmp_path, "t/part-0.parquet", "t/part-1.parquet", "t/old.parquet"))])
    assert names(found) == ["t", "t/old.parquet"]
    assert [len(table.files) for table in found.tables] == [2, 1]
    assert found.overlaps == {("t", "t/old.parquet")}
    (problem,) = found.problems
    assert (problem.where, problem.kind) == ("t", "notice") and "old.parquet" in problem.because


def test_a_root_that_is_a_table_has_its_base_name(tmp_path: Path) -> None:
    lake = write(tmp_path / "lake", "part-0.parquet", "sub/part-0.parquet")
    found = discover([str(lake)])
    assert names(found) == ["lake", "sub"]
    assert found.overlaps == {("lake", "sub")}


def test_a_root_and_a_folder_in_it_of_the_same_name_stay_apart(tmp_path: Path) -> None:
    lake = write(tmp_path / "lake", "part-0.parquet", "lake/part-0.parquet")
    assert names(discover([str(lake)])) == ["lake", "lake#2"]


def test_tables_nested_in_tables_are_both_found_and_overlap(tmp_path: Path) -> None:
    write(tmp_path, "a/part-0.parquet", "a/b/part-0.parquet", "a/b/c/x.parquet", "ab/part-0.parquet")
    found = discover([str(tmp_path)])
    assert names(found) == ["a", "a/b", "a/b/c/x.parquet", "ab"]
    assert found.overlaps == {("a", "a/b"), ("a", "a/b/c/x.parquet"), ("a/b", "a/b/c/x.parquet")}


@pytest.mark.parametrize(
    ("inside", "what"),
    [
        ("_delta_log/0.json", "is a Delta table"),
        ("metadata/v1.metadata.json", "is an Iceberg table"),
        (".hoodie/hoodie.properties", "is a Hudi table"),
    ],
)
def test_other_table_formats_are_named_and_never_read(tmp_path: Path, inside: str, what: str) -> None:
    write(tmp_path, "t/part-0.parquet", "t/deep/part-0.parquet", "t/d=1/part-0.parquet", "ok.parquet")
    write(tmp_path, f"t/{inside}", content=b"{}")
    found = discover([str(tmp_path)])
    assert names(found) == ["ok.parquet"]
    assert said(found, "t") == [("unsupported", f"{what}; not supported yet")]


def test_a_folder_called_metadata_does_not_make_an_iceberg_table(tmp_path: Path) -> None:
    assert names(discover([str(write(tmp_path, "t/part-0.parquet", "t/metadata/a.parquet"))])) == [
        "t",
        "t/metadata/a.parquet",
    ]


def test_a_broken_link_called_metadata_makes_nothing_unreadable(tmp_path: Path) -> None:
    write(tmp_path, "t/part-0.parquet", "u/part-0.parquet")
    (tmp_path / "t/metadata").symlink_to("missing")
    (tmp_path / "u/_delta_log").symlink_to("missing")
    found = discover([str(tmp_path)])
    assert [(table.name, table.unexplained) for table in found.tables] == [("t", ("metadata",))]
    assert said(found, "u") == [("unsupported", "is a Delta table; not supported yet")]


def test_other_formats_are_counted_by_folder(tmp_path: Path) -> None:
    write(tmp_path, "raw/a.csv", "raw/b.CSV.gz", "raw/c.json", "raw/d.ndjson", "raw/e.tsv", content=b"1")
    write(tmp_path, "raw/000000_0", content=b"ORC...")
    write(tmp_path, "raw/1", content=b"Obj\x01...")
    found = discover([str(write(tmp_path, "ok.parquet"))])
    assert sorted(because for _, because in said(found, "raw")) == [
        "1 Avro file; not supported yet",
        "1 JSON file; not supported yet",
        "1 NDJSON file; not supported yet",
        "1 ORC file; not supported yet",
        "1 TSV file; not supported yet",
        "2 CSV files; not supported yet",
    ]
    assert {problem.kind for problem in found.problems} == {"unsupported"}


def test_parquet_without_the_extension_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    write(tmp_path, "a/export", "b/old.bak", "c/x.parquet.gzip", "d/notes.txt")
    assert names(discover([str(tmp_path)])) == ["a/export", "b/old.bak", "c/x.parquet.gzip"]


def test_a_backup_beside_parts_is_no_part(tmp_path: Path) -> None:
    write(tmp_path, "t/part-0.parquet", "t/part-0.parquet.bak", "t/_SUCCESS")
    found = discover([str(tmp_path)])
    assert [(table.name, len(table.files)) for table in found.tables] == [
        ("t", 1),
        ("t/part-0.parquet.bak", 1),
    ]


def test_what_is_no_part_of_a_table_in_its_folder_is_unexplained(tmp_path: Path) -> None:
    known = ["_SUCCESS", "_metadata", ".part-0.parquet.crc", ".DS_Store", "_committed_1", "_started_1"]
    foreign = ["_x.parquet", ".y.parquet", "README.txt", "z.csv", "sub/notes.md", "sub/deep/a.csv"]
    write(tmp_path / "t", "part-0.parquet", *known, *foreign, "_temporary/0/a.parquet", ".r2d2/s", "sub/_h/a")
    found = discover([str(tmp_path)])
    (table,) = found.tables
    assert set(table.unexplained) == {*foreign, "_temporary/", ".r2d2/", "sub/_h/"}
    assert not found.problems


def test_hidden_folders_outside_tables_are_named_but_for_the_well_known(tmp_path: Path) -> None:
    write(tmp_path, "ok.parquet", ".git/a.parquet", ".r2d2/a.parquet", "_tmp/a.parquet", ".trash/part-0.parquet")
    found = discover([str(tmp_path)])
    assert names(found) == ["ok.parquet"]
    assert [(problem.where, problem.kind) for problem in found.problems] == [
        (".trash", "notice"),
        ("_tmp", "notice"),
    ]


def test_an_empty_file_with_a_parquet_name_is_listed(tmp_path: Path) -> None:
    (table,) = discover([str(write(tmp_path, "t/part-0.parquet", content=b""))]).tables
    assert [file.size_bytes for file in table.files] == [0]


def test_size_time_and_identity_are_the_file_systems(tmp_path: Path) -> None:
    (table,) = discover([str(write(tmp_path, "a.parquet"))]).tables
    stat = (tmp_path / "a.parquet").stat()
    (file,) = table.files
    assert (file.size_bytes, file.modified_ns) == (stat.st_size, stat.st_mtime_ns)
    assert file.version == version_of(stat, 0)


def test_an_unsupported_table_inside_a_table_is_unexplained_there(tmp_path: Path) -> None:
    write(tmp_path, "t/part-0.parquet", "t/d/_delta_log/0.json")
    found = discover([str(tmp_path)])
    assert found.tables[0].unexplained == ("d/",)
    assert said(found, "t/d") == [("unsupported", "is a Delta table; not supported yet")]


def test_nothing_found_says_what_was_seen(tmp_path: Path) -> None:
    write(tmp_path, "a/1.csv", "a/2.csv", "b/3.csv", "t/_delta_log/0.json", content=b"x")
    with pytest.raises(UserError) as caught:
        discover([str(tmp_path)])
    assert str(caught.value) == (
        f"no table under {tmp_path}\nHint: what was seen there is not supported yet: 3 CSV files, 1 Delta table"
    )
    assert caught.value.exit_code == 2


def test_an_empty_lake_is_said_to_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Parquet files"):
        discover([str(tmp_path)])


def test_the_count_of_tables_is_reported_on_the_way(tmp_path: Path) -> None:
    write(tmp_path, *(f"t{number:03}/part-0.parquet" for number in range(300)))
    counts: list[int] = []
    discover([str(tmp_path)], progress=lambda news: counts.append(news.done))
    assert counts == sorted(counts) and counts[-1] == 300 and len(counts) > 1
