"""One physical table is one table, whatever it is called (HAZARDS 1)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.lake.discover import discover
from r2d2.model.table import Discovery

TABLES = {
    "a/single.parquet": ["a/single.parquet"],
    "b/parts": ["b/parts/part-0.parquet", "b/parts/part-1.parquet"],
    "c/days": ["c/days/d=1/0.parquet", "c/days/d=2/0.parquet"],
}


@contextmanager
def small_lake() -> Iterator[Path]:
    """A lake with one table of each shape, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(os.path.realpath(folder)) / "lake"
        for file in (file for files in TABLES.values() for file in files):
            write(lake / file)
        yield lake


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"PAR1" + str(path).encode())


def link(lake: Path, table: str, name: str) -> None:
    (lake / name).symlink_to(lake / table)


def relative_link(lake: Path, table: str, name: str) -> None:
    (lake / name).symlink_to(os.path.relpath(lake / table, lake))


def link_to_a_link(lake: Path, table: str, name: str) -> None:
    link(lake, table, f"{name}.via")
    (lake / name).symlink_to(f"{name}.via")


def link_to_the_folder_above(lake: Path, table: str, name: str) -> None:
    (lake / name).symlink_to((lake / table).parent)


def hard_links(lake: Path, table: str, name: str) -> None:
    for file in TABLES[table]:
        below = file.removeprefix(table)
        copy = Path(f"{lake / name}{below}") if below else lake / f"{name}.parquet"
        copy.parent.mkdir(parents=True, exist_ok=True)
        os.link(lake / file, copy)


ALIAS_KINDS = [link, relative_link, link_to_a_link, link_to_the_folder_above, hard_links]
SPELLINGS: list[Callable[[Path], list[str]]] = [
    lambda lake: [str(lake)],
    lambda lake: [f"{lake}/"],
    lambda lake: [f"{lake}/b/../."],
    lambda lake: [f"file:{lake}"],
    lambda lake: [f"file://{lake}/"],
    lambda lake: [f"FILE://localhost{str(lake).replace('lake', '%6Cake')}"],
    lambda lake: [os.path.relpath(lake)],
    lambda lake: [str(lake), f"file:{lake}", f"{lake}/"],
    lambda lake: [f"{lake}/b", str(lake), f"{lake}/c/days/d=1"],
    lambda lake: [f"{lake}/a/single.parquet", str(lake)],
]


@given(
    aliases=st.lists(st.tuples(st.sampled_from(ALIAS_KINDS), st.sampled_from(sorted(TABLES))), max_size=5),
    spell=st.sampled_from(SPELLINGS),
)
@settings(deadline=None)
def test_one_physical_table_is_one_table(
    aliases: list[tuple[Callable[[Path, str, str], None], str]], spell: Callable[[Path], list[str]]
) -> None:
    with small_lake() as lake:
        for number, (add, table) in enumerate(aliases):
            add(lake, table, f"x{number}")
        found = discover(spell(lake))
        assert [table.name for table in found.tables] == sorted(TABLES)
        identities = [file.version.identity for table in found.tables for file in table.files]
        assert len(identities) == len(set(identities))
        assert not found.overlaps
        for number, (_, table) in enumerate(aliases):
            assert any(alias.startswith(f"x{number}") for alias in aliases_of(found, table))


@given(spell=st.sampled_from(SPELLINGS))
@settings(deadline=None)
def test_however_a_root_is_spelled_the_result_is_the_same(spell: Callable[[Path], list[str]]) -> None:
    with small_lake() as lake:
        link(lake, "b/parts", "z")
        assert discover(spell(lake)) == discover([str(lake)])


def test_a_root_that_is_a_link_is_what_it_leads_to(tmp_path: Path) -> None:
    write(tmp_path / "lake/t/part-0.parquet")
    (tmp_path / "other").symlink_to(tmp_path / "lake")
    assert discover([str(tmp_path / "other")]) == discover([str(tmp_path / "lake")])
    assert discover([str(tmp_path / "other"), str(tmp_path / "lake/t")]) == discover([str(tmp_path / "lake")])


def aliases_of(found: Discovery, name: str) -> tuple[str, ...]:
    (table,) = [table for table in found.tables if table.name == name]
    return table.aliases


def test_a_link_above_tables_gives_each_an_alias(tmp_path: Path) -> None:
    write(tmp_path / "2024/sales/part-0.parquet")
    write(tmp_path / "2024/cities.parquet")
    (tmp_path / "current").symlink_to("2024")
    found = discover([str(tmp_path)])
    assert aliases_of(found, "2024/sales") == ("current/sales",)
    assert aliases_of(found, "2024/cities.parquet") == ("current/cities.parquet",)
    assert not found.problems


@pytest.mark.parametrize("target", ["outside", "missing", ".", "..", "me"])
def test_a_link_that_cannot_be_followed_is_named(tmp_path: Path, target: str) -> None:
    write(tmp_path / "lake/t/part-0.parquet")
    write(tmp_path / "outside/u/part-0.parquet")
    goal = {"outside": tmp_path / "outside", "me": tmp_path / "lake/sub/me"}.get(target, target)
    (tmp_path / "lake/sub").mkdir()
    (tmp_path / "lake/sub/me").symlink_to(goal)
    found = discover([str(tmp_path / "lake")])
    assert [(table.name, table.aliases) for table in found.tables] == [("t", ())]
    (problem,) = found.problems
    assert (problem.where, problem.kind) == ("sub/me", "notice") and "is a link" in problem.because


def test_a_link_into_a_table_is_no_table_and_is_named(tmp_path: Path) -> None:
    write(tmp_path / "t/d=1/0.parquet")
    (tmp_path / "latest").symlink_to("t/d=1")
    (tmp_path / "latest.parquet").symlink_to("t/d=1/0.parquet")
    found = discover([str(tmp_path)])
    assert [(table.name, table.aliases) for table in found.tables] == [("t", ())]
    assert {problem.because for problem in found.problems} == {"is a link into the table t; it was not followed"}


def test_a_part_that_is_a_link_makes_the_table_unreadable(tmp_path: Path) -> None:
    write(tmp_path / "t/part-0.parquet")
    write(tmp_path / "u/part-0.parquet")
    (tmp_path / "t/part-1.parquet").symlink_to("../u/part-0.parquet")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["u"]
    assert [problem.because for problem in found.problems if problem.where == "t"] == ["t/part-1.parquet is a link"]


def test_a_link_in_a_tables_folder_is_unexplained(tmp_path: Path) -> None:
    write(tmp_path / "t/part-0.parquet")
    write(tmp_path / "u/part-0.parquet")
    (tmp_path / "t/readme").symlink_to("/etc/hostname")
    (tmp_path / "t/u").symlink_to("../u")
    found = discover([str(tmp_path)])
    assert found.tables[0].unexplained == ("readme", "u")
    assert aliases_of(found, "u") == ("t/u",)


def test_links_across_roots_are_aliases(tmp_path: Path) -> None:
    write(tmp_path / "one/t/part-0.parquet")
    write(tmp_path / "two/u/part-0.parquet")
    (tmp_path / "two/t").symlink_to(tmp_path / "one/t")
    found = discover([str(tmp_path / "one"), str(tmp_path / "two")])
    assert [(table.name, table.aliases) for table in found.tables] == [("one/t", ("two/t",)), ("two/u", ())]


def test_hard_linked_tables_are_one_under_the_name_that_sorts_first(tmp_path: Path) -> None:
    write(tmp_path / "m/part-0.parquet")
    for name in ("z/part-7.parquet", "k.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        os.link(tmp_path / "m/part-0.parquet", tmp_path / name)
    (table,) = discover([str(tmp_path)]).tables
    assert (table.name, table.aliases) == ("k.parquet", ("m", "z"))


def test_tables_that_share_some_files_overlap(tmp_path: Path) -> None:
    write(tmp_path / "a/part-0.parquet")
    write(tmp_path / "a/part-1.parquet")
    (tmp_path / "b").mkdir()
    os.link(tmp_path / "a/part-1.parquet", tmp_path / "b/part-1.parquet")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["a", "b"]
    assert found.overlaps == {("a", "b")}


def test_the_same_file_twice_in_a_table_is_not_the_same_table(tmp_path: Path) -> None:
    write(tmp_path / "a/part-0.parquet")
    os.link(tmp_path / "a/part-0.parquet", tmp_path / "a/part-1.parquet")
    (tmp_path / "b").mkdir()
    os.link(tmp_path / "a/part-0.parquet", tmp_path / "b/part-0.parquet")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["a", "b"] and found.overlaps == {("a", "b")}


def test_the_same_files_under_other_partition_values_are_another_table(tmp_path: Path) -> None:
    write(tmp_path / "a/d=1/0.parquet")
    (tmp_path / "b/d=2").mkdir(parents=True)
    os.link(tmp_path / "a/d=1/0.parquet", tmp_path / "b/d=2/0.parquet")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["a", "b"] and found.overlaps == {("a", "b")}


def test_an_overlap_survives_the_merge_of_names(tmp_path: Path) -> None:
    write(tmp_path / "z/part-0.parquet")
    write(tmp_path / "z/inner/part-0.parquet")
    (tmp_path / "a").mkdir()
    os.link(tmp_path / "z/part-0.parquet", tmp_path / "a/part-0.parquet")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["a", "z/inner"]
    assert found.overlaps == {("a", "z/inner")}
