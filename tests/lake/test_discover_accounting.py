"""Nothing is silently swallowed: hostile names, errors, every file accounted for (HAZARDS 7, 8, 26)."""

from __future__ import annotations

import inspect
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from r2d2.errors import UserError
from r2d2.lake.discover import discover
from r2d2.model.table import Discovery, Problem
from r2d2.state.store import StateStore

PARQUET = b"PAR1 and so on"
FOLDERS = ["a", "b", "d=1", "d=2", "e=1", "_h", ".h", ".git", "metadata", "_delta_log", "a [1]*"]
# name, content, and what it counts as where it lies outside of tables
FILES = {
    "part-0.parquet": (PARQUET, "parquet"),
    "part-1.parquet": (b"", "parquet"),
    "000000_0": (PARQUET, "parquet"),
    "north.parquet": (PARQUET, "parquet"),
    "export": (PARQUET, "parquet"),
    "old.bak": (PARQUET, "parquet"),
    "x.csv": (b"1", "CSV"),
    "y.csv.gz": (b"1", "CSV"),
    "z.json": (b"{}", "JSON"),
    "000001_0": (b"ORC", "ORC"),
    "_hidden.parquet": (PARQUET, "other"),
    ".hidden": (b"", "other"),
    "README.txt": (b"", "other"),
    "notes": (b"", "other"),
    "v1.metadata.json": (b"{}", "JSON"),
    "_SUCCESS": (b"", "bookkeeping"),
    "_metadata": (b"", "bookkeeping"),
    ".part-0.parquet.crc": (b"", "bookkeeping"),
    ".DS_Store": (b"", "bookkeeping"),
}
PATHS = st.tuples(st.lists(st.sampled_from(FOLDERS), max_size=3), st.sampled_from(sorted(FILES)))


def write(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(PARQUET)
    return root


@given(st.lists(PATHS, min_size=1, max_size=25))
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_every_file_is_in_a_table_or_unexplained_or_in_a_problem_or_bookkeeping(
    paths: list[tuple[list[str], str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(os.path.realpath(folder))
        write(lake, "always there.parquet")
        for parents, name in paths:
            path = write(lake, "/".join(["in", *parents, name])).joinpath("in", *parents, name)
            path.write_bytes(FILES[name][0])
        folders = [str(path) for path in lake.rglob("*") if path.is_dir()]
        for found in (discover([folder]), discover([folder], apart=folders), discover([folder], split=["*"])):
            check_each_file_is_in_one_table_at_most(found)
            assert not set(swallowed(lake, found))


def check_each_file_is_in_one_table_at_most(found: Discovery) -> None:
    paths = [file.path for table in found.tables for file in table.files]
    assert len(paths) == len(set(paths))
    unexplained = {os.path.join(table.location, name) for table in found.tables for name in table.unexplained}
    assert not unexplained & set(paths)


def swallowed(lake: Path, found: Discovery) -> Iterator[str]:
    """The files of which the result says nothing."""
    explained = {file.path for table in found.tables for file in table.files}
    explained |= {os.path.join(table.location, name) for table in found.tables for name in table.unexplained}
    shut = [path for path in explained if path.endswith("/")]
    for problem in found.problems:
        if closes_its_folder(problem):
            shut.append(f"{lake / problem.where}/")
    counts = counted_files(lake, found)
    for path in (path for path in lake.rglob("*") if path.is_file()):
        kind = FILES.get(path.name, (b"", "parquet"))[1]
        known = str(path) in explained or any(str(path).startswith(folder) for folder in shut)
        silent = {".git", ".r2d2"} & set(path.relative_to(lake).parts)
        if not (takes_one(counts, path, kind) or known or silent or kind == "bookkeeping"):
            yield str(path)
    # No count may promise more files than there are.
    assert not +counts


def closes_its_folder(problem: Problem) -> bool:
    what = problem.because
    return problem.kind == "unreadable" or " table; " in what or "is a hidden folder" in what


def counted_files(lake: Path, found: Discovery) -> Counter[tuple[str, str]]:
    """How many files of which kind the problems count, by folder."""
    counts: Counter[tuple[str, str]] = Counter()
    for problem in found.problems:
        if match := re.match(r"([\d,]+) (\w+) files?\b", problem.because):
            where = f"{lake / problem.where}{'/*' if 'in partition folders' in problem.because else ''}"
            counts[where, match[2]] += int(match[1])
    return counts


def takes_one(counts: Counter[tuple[str, str]], path: Path, kind: str) -> bool:
    """Count a file off: at its own folder, or at the folder above the partitions that it lies in."""
    parent = path.parent
    places = [str(parent)]
    while "=" in parent.name:
        parent = parent.parent
        places.append(f"{parent}/*")
    for place in places:
        if counts[place, kind] > 0:
            counts[place, kind] -= 1
            return True
    return False


HOSTILE = [
    "t[1]",
    "*",
    "?",
    "t{a,b}",
    " leading and trailing ",
    "new\nline",
    "tab\tand\x1b[31mescape",
    "\x7f",
    "ünïcödé 表 🎉",
    "e\u0301",
    "'; drop table",
    '<script>"',
    "%20",
    "a\\b",
    "-rf",
    "~",
    "$HOME",
    "...",
    "n" * 240,
    "=x",
    "file:",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    write(tmp_path, f"{name}/part-0.parquet", f"{name}/deep/{name}.parquet", "t1/part-0.parquet")
    found = discover([str(tmp_path)])
    if name == "...":  # hidden, as for every reader
        assert [(problem.where, problem.kind) for problem in found.problems] == [(name, "notice")]
        return
    # A lone file named like its folder would be the folder; here the folder is called `deep`.
    assert [table.name for table in found.tables] == sorted([name, f"{name}/deep/{name}.parquet", "t1"])
    assert {table.name for table in discover([str(tmp_path / name)]).tables} == {name, f"deep/{name}.parquet"}
    only = discover([str(tmp_path)], exclude=[name])
    assert [table.name for table in only.tables] == ["t1"]


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60))
@settings(deadline=None)
def test_any_folder_name_is_a_table_a_partition_or_hidden(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if name in (".", "..", ".hoodie", "_delta_log"):
            return
        write(Path(folder), f"lake/{name}/part-0.parquet", "lake/ok/part-0.parquet")
        found = discover([f"{folder}/lake"])
        if name.startswith(".") or (name.startswith("_") and "=" not in name):
            assert name in {".git", ".r2d2", *(problem.where for problem in found.problems)}
        elif "=" in name and not name.startswith("="):
            assert "lake" in [table.name for table in found.tables]
        else:
            assert {table.name for table in found.tables} == {name, "ok"}


def test_a_name_that_is_not_utf8_takes_its_table_out(tmp_path: Path) -> None:
    write(tmp_path, "ok.parquet", "t/part-0.parquet", "p/d=1/0.parquet", "u/part-0.parquet")
    base = os.fsencode(tmp_path)
    for name in (
        b"/t/part-1\xff.parquet",
        b"/p/d=\xff/0.parquet",
        b"/f\xff/part-0.parquet",
        b"/u/\xff.txt",
        b"/u/own\xff.pq",
        b"/l\xff.pq",
    ):
        os.makedirs(os.path.dirname(base + name), exist_ok=True)
        Path(os.fsdecode(base + name)).write_bytes(PARQUET)
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["ok.parquet", "u"]
    assert found.tables[1].unexplained == ("\\xff.txt", "own\\xff.pq")
    assert [(problem.where, problem.kind) for problem in found.problems] == [
        ("f\\xff", "unreadable"),
        ("l\\xff.pq", "unreadable"),
        ("p", "unreadable"),
        ("t", "unreadable"),
        ("u", "notice"),
        ("u/own\\xff.pq", "unreadable"),
    ]
    for problem in found.problems:
        assert problem.because.encode() and ("not UTF-8" in problem.because) == problem.needs_a_look


def shut_folder(monkeypatch: pytest.MonkeyPatch, shut: Path) -> None:
    """Tests run as root, whom no permission stops."""
    real = os.scandir

    def scandir(path: str) -> object:
        if str(path) == str(shut):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


@pytest.mark.parametrize("shut", ["t/d=2", "t/d=1", "t/d=1/notes"])
def test_a_partition_that_cannot_be_listed_takes_the_table_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shut: str
) -> None:
    write(tmp_path, "t/d=1/0.parquet", "t/d=1/notes/a.txt", "t/d=2/0.parquet", "ok.parquet")
    shut_folder(monkeypatch, tmp_path / shut)
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["ok.parquet"]
    (problem,) = found.problems
    assert (problem.where, problem.kind) == ("t", "unreadable")
    assert problem.because == f"{shut} cannot be listed (Permission denied)"
    assert problem.hint == "put it right, or leave it out with --exclude t"


def test_a_folder_beside_parts_that_cannot_be_listed_is_named_though_it_is_called_like_a_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "t/part-0.parquet", "t/d=1/0.parquet", "ok.parquet")
    shut_folder(monkeypatch, tmp_path / "t/d=1")
    found = discover([str(tmp_path)])
    assert [(table.name, table.unexplained) for table in found.tables] == [("ok.parquet", ()), ("t", ("d=1/",))]
    assert [(problem.where, problem.kind) for problem in found.problems] == [("t/d=1", "unreadable")]


def test_a_folder_that_cannot_be_listed_is_named_and_the_rest_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a/part-0.parquet", "a/sub/part-0.parquet", "b/part-0.parquet")
    shut_folder(monkeypatch, tmp_path / "a/sub")
    found = discover([str(tmp_path)])
    assert [(table.name, table.unexplained) for table in found.tables] == [("a", ("sub/",)), ("b", ())]
    assert [(problem.where, problem.kind) for problem in found.problems] == [("a/sub", "unreadable")]


def test_a_folder_whose_format_cannot_be_told_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "t/part-0.parquet", "t/metadata/v1.metadata.json", "ok.parquet")
    shut_folder(monkeypatch, tmp_path / "t/metadata")
    found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["ok.parquet"]
    assert [(problem.where, problem.kind) for problem in found.problems] == [("t", "unreadable")]


def test_a_root_that_cannot_be_listed_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shut_folder(monkeypatch, tmp_path)
    with pytest.raises(UserError, match="Permission denied"):
        discover([str(tmp_path)])


@pytest.mark.parametrize(
    ("gone", "where"),
    [("t/part-1.parquet", "t"), ("t/000001_0", "t"), ("p/d=1/0.parquet", "p"), ("north.parquet", "north.parquet")],
)
def test_a_file_that_vanishes_takes_its_table_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str, where: str
) -> None:
    write(tmp_path, "t/part-0.parquet", "p/d=2/0.parquet", "south.parquet", gone)
    real = os.scandir

    @contextmanager
    def scandir(path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        with real(path) as entries:
            listed = list(entries)
        if str(path) == str((tmp_path / gone).parent):
            os.remove(tmp_path / gone)
        yield iter(listed)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover([str(tmp_path)])
    assert {table.name for table in found.tables} == {"t", "p", "south.parquet"} - {where}
    (problem,) = found.problems
    assert (problem.where, problem.kind) == (where, "unreadable") and "cannot be opened" in problem.because


def test_a_pipe_named_like_a_part_is_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "t/part-0.parquet", "u/part-0.parquet")
    os.mkfifo(tmp_path / "t/part-1.parquet")
    os.mkfifo(tmp_path / "u/pipe")
    found = discover([str(tmp_path)])
    assert [(table.name, table.unexplained) for table in found.tables] == [("u", ("pipe",))]
    assert [problem.because for problem in found.problems] == ["t/part-1.parquet is neither a file nor a folder"]


def test_a_state_folder_in_the_lake_is_no_part_of_it(tmp_path: Path) -> None:
    write(tmp_path, "north.parquet", "table/part-0.parquet")
    for folder in ("state", "table/state"):
        with StateStore(tmp_path / folder).locked():
            write(tmp_path / folder, "runs/1/tables.parquet")
            found = discover([str(tmp_path)])
    assert [table.name for table in found.tables] == ["north.parquet", "table"]
    assert [problem.where for problem in found.problems if "state folder" in problem.because] == [
        "state",
        "table/state",
    ]
    assert found.tables[1].unexplained == ("state/",)
    write(tmp_path, "no state/runs/part-0.parquet", "no state/key")
    assert len(discover([str(tmp_path)]).tables) == 4  # what is only named like it is data


def test_a_very_deep_lake_is_walked(tmp_path: Path) -> None:
    # Not deeper than the recursion limit: pytest itself recurses when it cleans up. The limit comes down instead.
    write(tmp_path, "d/" * 300 + "x.parquet", "a=1/" * 300 + "y/x.parquet")
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 100)
    try:
        found = discover([str(tmp_path)])
    finally:
        sys.setrecursionlimit(usual)
    assert len(found.tables) == 2


@pytest.mark.slow
def test_two_runs_say_the_same_and_two_thousand_folders_take_no_time(tmp_path: Path) -> None:
    for number in range(2000):
        write(tmp_path, f"g{number % 40}/t{number}/part-0.parquet")
    began = time.process_time()  # the machine may be busy with something else
    found = discover([str(tmp_path)])
    assert time.process_time() - began < 2
    assert len(found.tables) == 2000 and found == discover([str(tmp_path)])
    assert [table.name for table in found.tables] == sorted(table.name for table in found.tables)
