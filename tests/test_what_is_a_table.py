"""Names propose which files are one table, schemas decide (HAZARDS 51), and no file and no edge is lost over it."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r2d2.app.find import hold_against
from r2d2.app.proposal import plan_lake
from r2d2.app.update import as_scanned
from r2d2.errors import UserError
from r2d2.model.progress import silent
from r2d2.model.recipe import Recipe, projection
from r2d2.model.scan import Scan
from r2d2.model.schema import Column, Schema
from r2d2.model.table import Table
from r2d2.pipeline import update
from r2d2.settings import Settings
from r2d2.steps.settle_tables import fit_one_table
from tests.support.in_process import Reader
from tests.support.many_files import write_folder
from tests.test_updates import assert_same

LONG_AGO_NS = 1_600_000_000_123_456_789
Row = frozenset[tuple[str, Any]]


def write(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return path


def scan_of(lake: Path, **given: Any) -> Scan:
    return Reader().scan(str(lake), Settings(**given))


def names(scan: Scan) -> list[str]:
    return [table.name for table in scan.tables]


def edges(scan: Scan) -> set[tuple[str, str]]:
    assert scan.graph is not None
    return set(scan.graph.edges())


# ---- what is one table ----------------------------------------------------------------------------------------------


def test_unrelated_files_named_like_parts_are_tables_of_their_own_and_one_line_says_so(tmp_path: Path) -> None:
    planted = write_folder(tmp_path / "tables", 300)
    scan = scan_of(tmp_path / "tables")
    assert len(scan.tables) == 300
    assert edges(scan) == planted and planted
    (problem,) = scan.problems
    assert (problem.where, problem.kind) == ("tables", "notice")
    assert problem.because.startswith("300 files are named like parts of one table (0-10000000-0.parquet, ")
    assert problem.because.endswith("their columns do not fit one another: each was taken for a table of its own")


@pytest.mark.parametrize(
    "columns",
    [
        [{"a": [1]}, {"a": [2]}],
        [{"a": [1], "b": ["x"]}, {"a": [2], "b": ["x"], "c": [1.5]}, {"a": [3], "c": [1.5], "d": [1]}],
        [{"a": [1]}, {"a": [1.5]}],  # both numbers
        [{"a": [1]}, {"a": pa.nulls(1)}],
    ],
)
def test_files_whose_columns_fit_stay_one_table(tmp_path: Path, columns: list[dict[str, Any]]) -> None:
    for number, some in enumerate(columns):
        write(tmp_path / f"t/2024-01-0{number}.parquet", **some)
    scan = scan_of(tmp_path)
    assert names(scan) == ["t"] and not scan.problems


@pytest.mark.parametrize(
    "columns",
    [
        [{"a": [1]}, {"a": ["x"]}],  # types of different kinds
        [{"a": [1]}, {"b": [1]}],  # nothing in common
        [{"a": ["x"], "b": ["x"]}, {"b": ["x"], "c": ["x"]}, {"c": ["x"], "a": ["x"]}],  # nothing that all have
        [{"k": [1], "a": [n]} for n in range(50)] + [{"zip": ["x"]}],  # one stray
    ],
)
def test_files_whose_columns_do_not_fit_are_tables_of_their_own(tmp_path: Path, columns: list[dict[str, Any]]) -> None:
    paths = [write(tmp_path / f"t/{number:03}.parquet", **some) for number, some in enumerate(columns)]
    assert names(scan_of(tmp_path)) == [f"t/{path.name}" for path in paths]


@pytest.mark.parametrize("files", [["part-0.parquet", "part-1.parquet"], ["1.parquet", "2.parquet", "_SUCCESS"]])
def test_what_a_writer_calls_one_table_is_unreadable_if_its_files_do_not_fit(tmp_path: Path, files: list[str]) -> None:
    write(tmp_path / "ok.parquet", a=[1])
    for number, name in enumerate(files):
        write(tmp_path / "t" / name, **({"a": [1]} if number else {"a": ["x"]}))
    scan = scan_of(tmp_path)
    assert names(scan) == ["ok.parquet"]
    (problem,) = scan.problems
    assert problem.where == "t" and problem.needs_a_look and "--split" in problem.hint
    assert names(scan_of(tmp_path, split=("t",))) == ["ok.parquet", f"t/{files[0]}", f"t/{files[1]}"]


def test_a_damaged_file_among_unrelated_ones_costs_itself_only(tmp_path: Path) -> None:
    write(tmp_path / "t/1.parquet", a=[1])
    write(tmp_path / "t/2.parquet", a=["x"])
    (tmp_path / "t/3.parquet").write_bytes(b"PAR1 and no more")
    scan = scan_of(tmp_path)
    assert names(scan) == ["t/1.parquet", "t/2.parquet"]
    assert [problem.where for problem in scan.problems if problem.needs_a_look] == ["t/3.parquet"]


def test_a_damaged_file_among_files_that_fit_takes_the_table_out(tmp_path: Path) -> None:
    write(tmp_path / "ok.parquet", a=[1])
    write(tmp_path / "t/1.parquet", a=[1])
    (tmp_path / "t/3.parquet").write_bytes(b"PAR1 and no more")
    scan = scan_of(tmp_path)
    assert names(scan) == ["ok.parquet"]
    assert [problem.where for problem in scan.problems] == ["t"]


def test_patterns_choose_among_files_that_schemas_took_apart(tmp_path: Path) -> None:
    for number in range(4):
        write(tmp_path / f"t/{number}.parquet", **{f"c{number}": [1]})
    assert names(scan_of(tmp_path, exclude=("t/2.parquet",))) == ["t/0.parquet", "t/1.parquet", "t/3.parquet"]


# ---- whatever lies there --------------------------------------------------------------------------------------------

FILE_NAMES = ["1.parquet", "1-17-1.parquet", "2024-01-01.parquet", "part-0.parquet", "part-1.parquet", "000000_0"]
FILE_NAMES += ["north.parquet", "south.parquet", "0123456789abcdef0123.parquet", "data_0.parquet", "7.parquet"]
FOLDERS = ["", "t/", "t/", "t/", "t/a=b/", "t/a=c/", "t/sub/", "u/"]
GIVEN: list[dict[str, Any]] = [{}, {"split": ("in/t",)}, {"split": ("*",)}, {"folder_table": ("in/t",)}]
SCHEMAS = ["a", "ab", "ab", "abc", "c", "cd", "A", "Ab", "AB", "e"]  # in capitals: a column of text


def random_lake(folder: Path, rng: random.Random) -> dict[str, pa.Table | None]:
    """Files and what is in each; None: nothing that can be read."""
    write(folder / "steady.parquet", steady=[1])
    content: dict[str, pa.Table | None] = {str(folder / "steady.parquet"): pa.table({"steady": [1]})}
    few = rng.sample(SCHEMAS, rng.randint(1, 4))
    for _ in range(rng.randint(2, 14)):
        path = folder / "in" / rng.choice(FOLDERS) / rng.choice(FILE_NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = random_table(rng, rng.choice(few))
        if rng.random() < 0.05:
            path.write_bytes(b"PAR1 and no more")
            content[str(path)] = None
            continue
        pq.write_table(table, path)
        content[str(path)] = table
    if rng.random() < 0.15 and (folder / "in/t").is_dir():
        (folder / "in/t/_SUCCESS").touch()
    return content


def random_table(rng: random.Random, schema: str) -> pa.Table:
    rows = rng.randint(1, 3)
    columns = {}
    for letter in schema:
        values = [rng.randint(0, 1) for _ in range(rows)]
        columns[letter.lower()] = [str(value) for value in values] if letter.isupper() else values
    return pa.table(columns)


@settings(max_examples=250, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**9), st.sampled_from(GIVEN))
def test_every_file_is_in_one_table_that_fits_and_no_true_edge_is_lost(seed: int, given: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as name:
        lake = Path(os.path.realpath(name))
        content = random_lake(lake, random.Random(seed))
        scan = scan_of(lake, **given)
        assert_accounted_for(lake, scan, content)
        for table in scan.tables:
            assert_fits(table, content)
        assert edges(scan) == true_edges(scan, content)


def assert_accounted_for(lake: Path, scan: Scan, content: dict[str, pa.Table | None]) -> None:
    """Each file is in one table, or under a problem, or in a table's unexplained content; and in no two of these."""
    taken = Counter(file.path for table in scan.tables for file in table.files)
    assert set(taken.values()) <= {1}
    bad = [str(lake / problem.where) for problem in scan.problems if problem.needs_a_look]
    noted = [os.path.join(table.location, name) for table in scan.tables for name in table.unexplained]
    for path in content:
        known = any(path == other or path.startswith(other.rstrip("/") + "/") for other in (*bad, *noted))
        assert path in taken or known, path


def assert_fits(table: Table, content: dict[str, pa.Table | None]) -> None:
    """No column of two kinds, and each file hangs together with the others by some column."""
    columns = [content[file.path].schema for file in table.files]  # type: ignore[union-attr]
    for one, other in permutations(columns, 2):
        assert all(one.field(name).type == other.field(name).type for name in set(one.names) & set(other.names))
    if columns and table.by_names:
        assert set(columns[0].names).intersection(*(schema.names for schema in columns))


def true_edges(scan: Scan, content: dict[str, pa.Table | None]) -> set[tuple[str, str]]:
    rows = {table.name: rows_of(table, content) for table in scan.tables}
    columns = {profile.table: {(c.token, c.kind) for c in profile.schema.columns} for profile in scan.profiles}
    found = set()
    for parent, child in permutations(rows, 2):
        if columns[child] <= columns[parent] and tuple(sorted((parent, child))) not in scan.overlaps:
            wanted = {token[0] for token, _ in columns[child]}
            projected = {frozenset(cell for cell in row if cell[0] in wanted) for row in rows[parent]}
            if rows[child] <= projected:
                found.add((parent, child))
    return found


def rows_of(table: Table, content: dict[str, pa.Table | None]) -> set[Row]:
    """The rows as sets of cells; a column that a file lacks is NULL, and a NULL is no cell."""
    rows = set()
    for file in table.files:
        part = content[file.path]
        assert part is not None
        folders = [(key, value) for key, value in file.partition]
        rows |= {frozenset([*row.items(), *folders]) for row in part.to_pylist()}
    return rows


# ---- updates --------------------------------------------------------------------------------------------------------


def updated(scan: Scan, reader: Reader | None = None) -> Scan:
    """The scan brought up to date, and held against one from scratch."""
    scan = replace(scan, run="before")
    given = as_scanned(Settings(), scan)
    result = update(scan, settings=given, tools=(reader or Reader()).tools).scan
    assert_same(Reader().scan(scan.roots[0], given), result)
    return result


def test_a_misfit_takes_a_table_apart_and_without_it_the_table_is_back(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        write(tmp_path / f"t/2024-01-0{day}.parquet", a=[day], b=["x"])
    write(tmp_path / "u.parquet", a=[1, 2, 3], b=["x"] * 3)
    scan = scan_of(tmp_path)
    assert edges(scan) == {("t", "u.parquet"), ("u.parquet", "t")}
    stray = write(tmp_path / "t/2024-01-04.parquet", zip=["123"])
    scan = updated(scan)
    assert names(scan) == [*(f"t/2024-01-0{day}.parquet" for day in (1, 2, 3, 4)), "u.parquet"]
    assert edges(scan) == {("u.parquet", f"t/2024-01-0{day}.parquet") for day in (1, 2, 3)}
    stray.unlink()
    scan = updated(scan)
    assert edges(scan) == {("t", "u.parquet"), ("u.parquet", "t")}


def test_an_update_says_where_the_files_of_a_table_are_that_came_apart(tmp_path: Path) -> None:
    def deleted(scan: Scan) -> dict[str, str]:
        changes = update(scan, settings=Settings(), tools=Reader().tools).changes
        return {one.table: one.because for one in changes.changed if one.change == "deleted"}

    for day in (1, 2, 3):
        write(tmp_path / f"t/2024-01-0{day}.parquet", a=[day])
    whole = scan_of(tmp_path)
    stray = write(tmp_path / "t/2024-01-04.parquet", zip=["123"])
    assert deleted(whole) == {"t": "its files are in t/2024-01-01.parquet and 2 other tables now"}
    apart = scan_of(tmp_path)
    stray.unlink()
    there = {f"t/2024-01-0{day}.parquet": "its files are in t now" for day in (1, 2, 3)}
    assert deleted(apart) == {**there, "t/2024-01-04.parquet": "it is no longer there"}


@pytest.mark.parametrize("given", [{"exclude": ("t/[12].parquet",)}, {"exclude": ("t/?.parquet",)}])
def test_an_update_keeps_a_table_whose_files_only_are_excluded(tmp_path: Path, given: dict[str, Any]) -> None:
    """A table is taken or left as a whole: its name is `t`, which no pattern matches."""
    for number in (1, 2):
        write(tmp_path / f"t/{number}.parquet", a=[number])
    north = write(tmp_path / "t/north.parquet", b=[1])
    scan = scan_of(tmp_path, **given)
    assert names(scan) == ["t", "t/north.parquet"]
    assert names(updated(scan)) == names(scan)
    north.unlink()
    assert names(updated(scan)) == ["t"]


def test_an_update_reads_no_more_footers_of_files_apart_than_have_changed(tmp_path: Path) -> None:
    for number in range(20):
        write(tmp_path / f"t/{number}.parquet", **{f"c{number % 10}": [number]})
    scan = scan_of(tmp_path)
    reader = Reader()
    scan = updated(scan, reader)
    assert reader.profiled == []
    write(tmp_path / "t/20.parquet", c1=[1])
    scan = updated(scan, reader)
    assert reader.profiled == ["t/20.parquet"]
    (tmp_path / "t/7.parquet").unlink()
    updated(scan, reader)
    assert reader.profiled == ["t/20.parquet"]


def test_split_stays_as_it_was_scanned(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"t/{number}.parquet", a=[number])
    scan = scan_of(tmp_path, split=("t",))
    assert names(scan) == names(updated(scan)) == ["t/0.parquet", "t/1.parquet", "t/2.parquet"]
    with pytest.raises(UserError, match="split"):
        as_scanned(Settings(split=("other",)), scan)


# ---- find -----------------------------------------------------------------------------------------------------------


def find(scan: Scan, path: Path) -> Any:
    return hold_against(scan, str(path), as_scanned(Settings(), scan), Reader().tools)


def test_find_knows_files_that_schemas_took_apart(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"lake/t/{number}.parquet", **{f"c{number}": [1, 2]})
    scan = replace(scan_of(tmp_path / "lake"), run="it")
    stranger = write(tmp_path / "stranger.parquet", c3=[2])
    assert [one.table for one in find(scan, stranger).contained_in] == ["t/3.parquet"]
    with pytest.raises(UserError, match="holds 5 tables, whose columns do not fit one another"):
        find(scan, tmp_path / "lake/t")
    write(tmp_path / "lake/t/9.parquet", c3=[1, 2, 3])
    with pytest.raises(UserError, match=r"t/9\.parquet is new since the scan"):
        find(scan, stranger)


def test_find_takes_no_table_apart_that_the_scan_did_not(tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / f"lake/t/{number}.parquet", a=[number])
    write(tmp_path / "lake/t/north.parquet", b=[1])
    scan = replace(scan_of(tmp_path / "lake"), run="it")
    assert names(scan) == ["t", "t/north.parquet"]
    assert [one.table for one in find(scan, write(tmp_path / "stranger.parquet", a=[1])).contained_in] == ["t"]


def test_find_passes_over_what_schemas_took_apart_and_patterns_left_out(tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / f"lake/t/{number}.parquet", **{f"c{number}": [number]})
    write(tmp_path / "lake/u.parquet", c0=[0, 1])
    scan = replace(scan_of(tmp_path / "lake", exclude=("t/*",)), run="it")
    assert names(scan) == ["u.parquet"]
    stranger = write(tmp_path / "stranger.parquet", c0=[1])
    assert [one.table for one in find(scan, stranger).contained_in] == ["u.parquet"]


def test_find_notices_a_table_that_came_apart_since_the_scan(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"lake/t/{number}.parquet", a=[number])
    write(tmp_path / "lake/u.parquet", zip=[1])
    scan = replace(scan_of(tmp_path / "lake"), run="it")
    write(tmp_path / "lake/t/9.parquet", zip=[1, 2, 3])
    with pytest.raises(UserError, match=r"t/9\.parquet is new since the scan"):
        find(scan, write(tmp_path / "stranger.parquet", zip=[3]))
    with pytest.raises(UserError, match="t has changed since the scan"):
        find(scan, write(tmp_path / "stranger.parquet", a=[1]))


# ---- deleting -------------------------------------------------------------------------------------------------------


def test_a_file_that_schemas_took_apart_is_not_planned_before_a_person_says_so(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        write(tmp_path / f"t/2024-01-0{day}.parquet", a=list(range(day)))
    write(tmp_path / "t/2024-01-04.parquet", zip=["123"])
    for split in ((), ("t",)):
        scan = scan_of(tmp_path, split=split)
        assert ("t/2024-01-02.parquet", "t/2024-01-01.parquet") in edges(scan)
        assert scan.graph is not None
        pairs = zip(scan.graph.standing.parents, scan.graph.standing.children, strict=True)
        recipes = {pair: Recipe(projection(scan.profiles[pair[1]].schema)) for pair in pairs}
        planned = plan_lake(scan, recipes, Settings(min_age=0, accesses_per_week=0)).proposal
        why = {line.table: line.because for line in planned.kept}
        said = "it is named like a part of a larger table; `r2d2 scan --split t` says that it is none"
        assert [name for name in why if why[name] == said] == ([] if split else sorted(why))
        assert bool(planned.deletions) is bool(split)


# ---- the rule and its growth ----------------------------------------------------------------------------------------

KIND_NAMES = ["int64", "float64", "string", "null"]
SOME_SCHEMAS = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(KIND_NAMES), max_size=3).map(
        lambda columns: Schema.of(Column((name,), kind) for name, kind in columns.items())
    ),
    max_size=5,
)


@given(SOME_SCHEMAS, SOME_SCHEMAS)
def test_more_files_never_make_files_fit_that_did_not(some: list[Schema], more: list[Schema]) -> None:
    assert fit_one_table(some) or not fit_one_table([*some, *more])


@settings(max_examples=60, deadline=None)
@given(SOME_SCHEMAS.filter(lambda several: len([s for s in several if s.columns]) > 1))
def test_the_footers_of_files_say_what_their_schemas_say(schemas: list[Schema]) -> None:
    types = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string(), "null": pa.null()}
    with tempfile.TemporaryDirectory() as name:
        for number, schema in enumerate(schemas):
            columns = {c.token[0]: pa.nulls(1, types[c.type_name]) for c in schema.columns}
            write(Path(name) / f"t/{number}.parquet", **columns)
        assert (names(scan_of(Path(name))) == ["t"]) is fit_one_table(schemas)


@pytest.mark.slow
def test_time_grows_with_the_files_and_not_with_their_square(tmp_path: Path) -> None:
    seconds = []
    for files in (250, 2_000):
        write_folder(tmp_path / str(files), files)
        reader = Reader()
        begun = time.process_time()
        found = reader.tools.discover([str(tmp_path / str(files))], Settings(), silent)
        (folder,) = reader.tools.profile(found.tables, Settings(), silent).apart
        apart = reader.tools.discover([folder], Settings(), silent, apart=[folder])
        assert len(reader.tools.profile(apart.tables, Settings(), silent).tables) == files
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 3 * 8 * seconds[0]
