"""`r2d2 edges`: the same rows for people, JSON and CSV, whatever the tables are called (HAZARDS 34)."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.cli.output import console, print_csv, printable
from r2d2.state.store import StateStore
from tests.cli.conftest import HOSTILE, Command, Scanned

KEYS = [
    "parent",
    "child",
    "verdict",
    "containment",
    "bag",
    "missing_rows",
    "child_rows",
    "parent_rows",
    "because",
    "since",
    "parent_deleted",
    "child_deleted",
]
ODD = {f"{name}.parquet" for name in HOSTILE}


def edges(r2d2: Command, scanned: Scanned, *options: str) -> list[dict[str, Any]]:
    done = r2d2("edges", "--state", scanned.state, "--json", *options)
    assert (done.code, done.err) == (0, "")
    return list(json.loads(done.out))


def test_json_is_a_list_with_exactly_these_keys(r2d2: Command, scanned: Scanned) -> None:
    rows = edges(r2d2, scanned)
    assert all(list(row) == KEYS for row in rows)
    (row,) = [row for row in rows if row["parent"] == "sales"]
    assert row == {
        "parent": "sales",
        "child": "extract.parquet",
        "verdict": "PROVEN",
        "containment": 1.0,
        "bag": True,
        "missing_rows": 0,
        "child_rows": 10,
        "parent_rows": 100,
        "because": row["because"],
        "since": StateStore(scanned.state).newest.name,
        "parent_deleted": None,
        "child_deleted": None,
    }
    assert row["because"]
    assert (
        r2d2("edges", "--state", scanned.state, "--format", "json").out
        == r2d2("edges", "--state", scanned.state, "--json").out
    )


def test_the_edges_are_the_true_ones(r2d2: Command, scanned: Scanned) -> None:
    found = {(row["parent"], row["child"]) for row in edges(r2d2, scanned)}
    equal = {(a, b) for a in ODD for b in ODD if a != b}
    assert found == equal | {("sales", "extract.parquet"), ("half", "extract.parquet")}


def test_all_adds_what_was_dropped_with_its_reason(r2d2: Command, scanned: Scanned) -> None:
    standing, rows = edges(r2d2, scanned), edges(r2d2, scanned, "--all")
    assert rows[: len(standing)] == standing
    dropped = {(row["parent"], row["child"]): row for row in rows[len(standing) :]}
    assert {row["verdict"] for row in dropped.values()} == {"IMPOSSIBLE"}
    assert all(row["because"] for row in rows)
    late = dropped["sales", "late.parquet"]["because"]
    assert "column id" in late and "50 … 200" in late and "0 … 99" in late
    assert "share files" in dropped["sales", "half"]["because"]
    assert ("sales", "almost.parquet") in dropped
    assert ("sales", "weather/rain.parquet") not in dropped  # schemas never met: `r2d2 explain` says so


def test_csv_has_the_same_rows(r2d2: Command, scanned: Scanned) -> None:
    done = r2d2("edges", "--state", scanned.state, "--format", "csv", "--all")
    rows = list(csv.DictReader(io.StringIO(done.out, newline="")))
    assert list(rows[0]) == KEYS
    expected = edges(r2d2, scanned, "--all")
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        for key in ("verdict", "child_rows", "parent_rows", "missing_rows"):
            assert row[key] == ("" if wanted[key] is None else str(wanted[key]))
        assert row["child"].removeprefix("'") == printable(wanted["child"])


def test_no_cell_of_the_csv_is_a_formula_or_moves_the_cursor(r2d2: Command, scanned: Scanned) -> None:
    for form in ("csv", "table"):
        done = r2d2("edges", "--state", scanned.state, "--format", form, "--all")
        assert done.code == 0
        assert not [c for c in done.out if not c.isprintable() and c != "\n"]
        if form == "csv":
            for row in csv.reader(io.StringIO(done.out, newline="")):
                assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_any_name_is_one_harmless_cell_of_csv(names: list[str]) -> None:
    written = io.StringIO(newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", written)
        print_csv(["a", "b"], [{"a": name, "b": 7} for name in names])
    rows = list(csv.reader(io.StringIO(written.getvalue(), newline="")))
    assert rows == [["a", "b"], *([row[0], "7"] for row in rows[1:])] and len(rows) == len(names) + 1
    for row, name in zip(rows[1:], names, strict=True):
        assert row[0].removeprefix("'") == printable(name).removeprefix("'")
        assert not row[0].startswith(("=", "+", "-", "@")) and row[0].isprintable()


def test_the_table_shows_names_as_they_are(r2d2: Command, scanned: Scanned) -> None:
    out = r2d2("edges", "--state", scanned.state).out
    for name in HOSTILE:
        assert printable(name) in out
    assert "Containment edges" in out and "PROVEN" in out


def test_machines_get_json_in_which_every_name_is_itself(r2d2: Command, scanned: Scanned) -> None:
    assert {row["parent"] for row in edges(r2d2, scanned)} >= ODD
    assert r2d2("edges", "--state", scanned.state, "--json").out.isascii()


# ---- terminals and pipes ---------------------------------------------------------------------------------------------

R2D2 = Path(sys.executable).parent / "r2d2"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", [True, False])
def test_no_color_is_heard(no_color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR")
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    console().print("[red]unreadable[/]")
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]", sys.stdout.getvalue())) is not no_color  # type: ignore[attr-defined]


def test_nothing_is_drawn_off_a_terminal(r2d2: Command, scanned: Scanned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b" not in r2d2("edges", "--state", scanned.state).out


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_a_reader_that_has_had_enough_is_no_error(scanned: Scanned, form: str) -> None:
    command = [R2D2, "edges", "--state", scanned.state, "--format", form, "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()  # before anything was written, as `| head -0` would
        assert process.stderr.read() == b""
    assert process.returncode == 0
