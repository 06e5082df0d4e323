"""Schemas decide which files are one table, and nothing is read twice for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.model.table import DataFile, Discovery, Problem, Profiled, Table
from r2d2.model.versions import FileVersion
from r2d2.steps.settle_tables import fit_one_table, once_alone, settle_tables, split_folders, still_apart

ID, NAME, ID_TEXT = Column(("id",), "int64"), Column(("name",), "string"), Column(("id",), "string")
ALONE = "alone.parquet"


def file(path: str) -> DataFile:
    return DataFile(f"/lake/{path}", 10, 1, FileVersion(path, "as written"))


def folder(name: str, *files: str) -> Table:
    return Table(name, "parquet", f"/lake/{name}", tuple(file(f"{name}/{one}") for one in files), by_names=True)


def single(path: str, *, by_names: bool = False) -> Table:
    return Table(path, "parquet", f"/lake/{path}", (file(path),), by_names=by_names)


def profile_of(table: Table, *columns: Column) -> TableProfile:
    return TableProfile(table.name, Schema.of(columns or (ID,)), 5, 10, (ColumnStats(),) * (len(columns) or 1))


class World:
    """A folder whose two files do not fit, and a table of its own."""

    def __init__(self) -> None:
        self.profiled: list[str] = []
        self.listed: list[set[str]] = []
        self.broken: set[str] = set()

    def profile(self, tables: Sequence[Table]) -> Profiled:
        self.profiled += [table.name for table in tables]
        good = [t for t in tables if t.name not in self.broken and t.name != "t"]
        problems = [Problem(t.name, "it cannot be read") for t in tables if t.name in self.broken or t.name == "t"]
        apart = {"/lake/t"} if any(t.name == "t" for t in tables) else set()
        return Profiled(tables=good, profiles=[profile_of(t) for t in good], problems=problems, apart=apart)

    def discover(self, apart: Collection[str]) -> Discovery:
        self.listed.append(set(apart))
        tables = (single(ALONE), single("t/1.parquet", by_names=True), single("t/2.parquet", by_names=True))
        return Discovery(("/lake",), tables)

    def settle(self, *tables: Table, known: Sequence[Table] = ()) -> tuple[Discovery, Profiled]:
        return settle_tables(
            Discovery(("/lake",), tables),
            profile=self.profile,
            discover_again=self.discover,
            known=lambda listed: {t.name: (t, profile_of(t)) for t in listed if t.name in {k.name for k in known}},
        )


def test_a_folder_whose_files_do_not_fit_becomes_tables_of_its_files() -> None:
    world = World()
    found, profiled = world.settle(single(ALONE), folder("t", "1.parquet", "2.parquet"))
    assert [table.name for table in profiled.tables] == [ALONE, "t/1.parquet", "t/2.parquet"]
    assert [one.table for one in profiled.profiles] == [ALONE, "t/1.parquet", "t/2.parquet"]
    assert world.listed == [{"/lake/t"}] and len(found.tables) == 3
    assert world.profiled.count(ALONE) == 1, "it was read before, and is listed the same"


def test_where_everything_fits_the_lake_is_listed_once() -> None:
    world = World()
    _, profiled = world.settle(single(ALONE))
    assert not world.listed and world.profiled == [ALONE] and not profiled.problems


def test_a_known_profile_is_taken_over_and_a_problem_is_kept() -> None:
    world = World()
    world.broken = {"broken.parquet"}
    _, profiled = world.settle(single(ALONE), single("broken.parquet"), known=[single(ALONE)])
    assert world.profiled == ["broken.parquet"] and [table.name for table in profiled.tables] == [ALONE]
    assert [problem.where for problem in profiled.problems] == ["broken.parquet"]


@pytest.mark.parametrize(
    ("schemas", "fit"),
    [
        ([(ID,), (ID, NAME)], True),
        ([(ID,), (NAME,)], False),  # no column is in all of them
        ([(ID, NAME), (ID_TEXT, NAME)], False),  # a column has two kinds
        ([(ID, NAME), (Column(("id",), "null"), NAME)], True),  # NULL fits any kind
        ([(ID,), ()], True),  # a file without columns says nothing
        ([(ID, NAME), (ID,), (NAME,)], False),
        ([], True),
    ],
)
def test_files_fit_if_kinds_agree_and_a_column_is_common(schemas: list[tuple[Column, ...]], fit: bool) -> None:
    assert fit_one_table([Schema.of(columns) for columns in schemas]) is fit


def test_folders_that_were_split_and_still_do_not_fit_are_known_without_reading() -> None:
    files = [single("t/1.parquet", by_names=True), single("t/2.parquet", by_names=True)]
    assert split_folders([*files, single(ALONE)]) == {"/lake/t"}
    known = {files[0].name: profile_of(files[0], ID), files[1].name: profile_of(files[1], NAME)}
    assert still_apart(files, known) == {"/lake/t"}
    assert still_apart(files, {files[0].name: known[files[0].name]}) == set()


def test_files_that_were_tables_are_found_in_a_folder_that_only_names_make_one() -> None:
    old = [single("t/1.parquet"), single(ALONE)]
    (found,) = once_alone(old, [folder("t", "1.parquet", "2.parquet"), single(ALONE)])
    assert (found.name, found.location) == ("t/1.parquet", "/lake/t/1.parquet")
    declared = replace(folder("t", "1.parquet"), by_names=False)
    assert once_alone(old, [declared]) == []
