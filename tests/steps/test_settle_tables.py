"""Folders whose files do not fit are taken apart, and nothing is profiled twice."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.model.table import DataFile, Discovery, Problem, Profiled, Table
from r2d2.model.versions import FileVersion
from r2d2.steps.settle_tables import fit_one_table, once_alone, settle_tables, split_folders, still_apart

Kinds = Mapping[str, str]  # the columns of a file
TYPES = st.sampled_from(["int64", "float64", "string", "null"])
FILES = st.lists(st.dictionaries(st.sampled_from("abc"), TYPES, max_size=3), min_size=1, max_size=4)


def schema(columns: Kinds) -> Schema:
    return Schema.of(Column((name,), type_name) for name, type_name in columns.items())


class Lake:
    """Folders of files named like parts, listed and profiled in memory; it counts what is read."""

    def __init__(self, folders: Mapping[str, Sequence[Kinds]], broken: Collection[str] = ()) -> None:
        self.columns = {f"/lake/{f}/{n}": kinds for f, files in folders.items() for n, kinds in enumerate(files)}
        self.broken = broken
        self.read: list[str] = []

    def discover(self, apart: Collection[str] = ()) -> Discovery:
        tables = []
        for folder in sorted({os.path.dirname(path) for path in self.columns}):
            files = [DataFile(p, 1, 1, FileVersion(p, "")) for p in self.columns if os.path.dirname(p) == folder]
            name = folder.removeprefix("/lake/")
            if folder in apart:
                tables += [self._table(f"{name}/{os.path.basename(f.path)}", f.path, [f]) for f in files]
            else:
                tables.append(self._table(name, folder, files))
        return Discovery(("/lake",), tuple(tables))

    @staticmethod
    def _table(name: str, location: str, files: Sequence[DataFile]) -> Table:
        return Table(name, "parquet", location, tuple(files), by_names=True)

    def profile(self, tables: Sequence[Table]) -> Profiled:
        self.read += [table.name for table in tables]
        good, problems, apart = [], [], []
        for table in tables:
            schemas = [schema(self.columns[file.path]) for file in table.files]
            if table.name in self.broken:
                problems.append(Problem(table.name, "it is broken"))
            elif not fit_one_table(schemas):
                apart.append(table.location)
                problems.append(Problem(table.name, "its files do not fit"))
            else:
                good.append(table)
        return Profiled(good, [self.seen(table) for table in good], problems, apart)

    def seen(self, table: Table) -> TableProfile:
        columns = {c for file in table.files for c in schema(self.columns[file.path]).columns}
        return TableProfile(table.name, Schema.of(columns), 1, 1, (ColumnStats(),) * len(columns))


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["p", "q", "r"]), FILES, min_size=1))
def test_a_folder_is_one_table_where_its_files_fit_and_its_files_are_tables_elsewhere(
    folders: dict[str, list[dict[str, str]]],
) -> None:
    lake = Lake(folders)
    found, profiled = settle_tables(
        lake.discover(), profile=lake.profile, discover_again=lake.discover, known=lambda _: {}
    )
    expected = []
    for folder, files in sorted(folders.items()):
        fits = fit_one_table([schema(kinds) for kinds in files])
        expected += [folder] if fits else [f"{folder}/{number}" for number in range(len(files))]
    assert [table.name for table in found.tables] == expected
    assert [table.name for table in profiled.tables] == [one.table for one in profiled.profiles] == expected
    assert not profiled.problems
    assert len(lake.read) == len(set(lake.read)), "no table is read twice"


@settings(max_examples=300)
@given(FILES)
def test_files_fit_if_each_column_is_of_one_kind_and_some_column_is_in_all(files: list[dict[str, str]]) -> None:
    kinds: dict[str, set[str]] = {}
    for columns in files:
        for name, type_name in columns.items():
            kinds.setdefault(name, set()).add(schema({name: type_name}).columns[0].kind)
    of_one_kind = all(len(several - {"null"}) <= 1 for several in kinds.values())
    filled = [set(columns) for columns in files if columns]
    common = not filled or bool(set.intersection(*filled))
    assert fit_one_table([schema(columns) for columns in files]) == (of_one_kind and common)


def test_a_table_that_is_known_is_not_read() -> None:
    lake = Lake({"p": [{"a": "int64"}], "q": [{"b": "string"}]})

    def known(tables: Sequence[Table]) -> dict[str, tuple[Table, TableProfile]]:
        return {table.name: (table, lake.seen(table)) for table in tables if table.name == "p"}

    _, profiled = settle_tables(lake.discover(), profile=lake.profile, discover_again=lake.discover, known=known)
    assert lake.read == ["q"] and [table.name for table in profiled.tables] == ["p", "q"]


def test_a_problem_that_is_no_misfit_stays_a_problem() -> None:
    lake = Lake({"p": [{"a": "int64"}], "q": [{"b": "string"}]}, broken=["q"])
    _, profiled = settle_tables(lake.discover(), profile=lake.profile, discover_again=lake.discover, known=lambda _: {})
    assert [problem.because for problem in profiled.problems] == ["it is broken"]
    assert [table.name for table in profiled.tables] == ["p"]


@pytest.mark.parametrize(("second", "apart"), [({"a": "int64"}, set()), ({"b": "int64"}, {"/lake/p"})])
def test_what_is_known_of_files_tells_whether_a_folder_is_still_apart(second: Kinds, apart: set[str]) -> None:
    lake = Lake({"p": [{"a": "int64"}, second, {"c": "date"}]})
    files = lake.discover(["/lake/p"]).tables
    known = {table.name: lake.seen(table) for table in files[:2]}
    assert still_apart(files, known) == apart


def test_the_folders_that_are_split_are_those_of_single_files_named_like_parts() -> None:
    lake = Lake({"p": [{"a": "int64"}], "q": [{"a": "int64"}, {"a": "int64"}]})
    assert split_folders(lake.discover(["/lake/p"]).tables) == {"/lake/p"}


def test_files_that_were_tables_are_found_in_a_folder_that_only_names_make_one() -> None:
    one, two = (DataFile(path, 1, 1, FileVersion(path, "")) for path in ("/lake/t/1", "/lake/t/2"))
    folder = Table("t", "parquet", "/lake/t", (one, two), by_names=True)
    alone = Table("t/1", "parquet", "/lake/t/1", (one,))
    (found,) = once_alone([alone], [folder])
    assert (found.name, found.location) == ("t/1", "/lake/t/1")
    assert once_alone([alone], [replace(folder, by_names=False)]) == []
