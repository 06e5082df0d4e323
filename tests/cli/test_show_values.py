"""`r2d2 explain --show-values`: one missing row, only if asked for, looked up at that moment, kept nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from r2d2.app.lake import open_state
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.settings import Settings
from tests.cli.conftest import Command, Scanned, write, write_lake


@pytest.fixture(scope="module")
def sampled(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    """A lake whose pairs were judged by samples only, with a value that a terminal must not see."""
    folder = tmp_path_factory.mktemp("sampled")
    write_lake(folder / "lake")
    write(folder / "lake" / "odd.parquet", id=[10, 11, 12], name=["name 10", "name 1\x1b[2J", "name 12"])
    settings = Settings(state=str(folder / "state"), verify=False)
    scan_lake(Workspace(settings, spark=spark), [str(folder / "lake")])
    return Scanned(folder / "lake", folder / "state")


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_pair_dropped_by_its_sample_names_the_columns_always_and_values_if_asked(
    r2d2: Command, sampled: Scanned
) -> None:
    plain = r2d2("explain", "--state", sampled.state, "sales", "almost.parquet").out
    assert "prune_by_content: IMPOSSIBLE, a sampled row" in plain and "in the parent in all 2 columns" in plain
    assert "name 9" not in plain.replace("name 99", "")
    before = content_of(sampled.state)
    shown = r2d2("explain", "--state", sampled.state, "--show-values", "sales", "almost.parquet").out
    assert shown.startswith(plain)
    assert shown.removeprefix(plain).splitlines() == [
        "  a row of the child that is not in the parent:",
        "    name: name 9",
        "    id: 10",
    ]
    assert content_of(sampled.state) == before


def test_control_characters_in_a_value_do_not_reach_the_terminal(r2d2: Command, sampled: Scanned) -> None:
    done = r2d2("explain", "--state", sampled.state, "--show-values", "sales", "odd.parquet")
    assert "    name: name 1\\x1b[2J" in done.out and "\x1b" not in done.out
    answer = r2d2("explain", "--state", sampled.state, "--show-values", "--json", "sales", "odd.parquet").out
    assert json.loads(answer)["missing_row"] == [
        {"column": "name", "value": "name 1\x1b[2J"},
        {"column": "id", "value": "11"},
    ]


def test_a_pair_dropped_by_counting_shows_a_whole_row(r2d2: Command, scanned: Scanned) -> None:
    done = r2d2("explain", "--state", scanned.state, "--show-values", "--json", "sales", "almost.parquet")
    assert json.loads(done.out)["missing_row"] == [
        {"column": "id", "value": "10"},
        {"column": "name", "value": "name 9"},
    ]


@pytest.mark.parametrize(
    ("parent", "child"),
    [("sales", "extract.parquet"), ("sales", "weather/rain.parquet")],
    ids=["edge", "other columns"],
)
def test_where_no_row_decided_none_is_shown(r2d2: Command, scanned: Scanned, parent: str, child: str) -> None:
    done = r2d2("explain", "--state", scanned.state, "--show-values", "--json", parent, child)
    assert json.loads(done.out)["missing_row"] is None


def test_tables_that_share_files_may_lack_no_row(r2d2: Command, scanned: Scanned) -> None:
    done = r2d2("explain", "--state", scanned.state, "--show-values", "sales", "half")
    assert done.out.splitlines()[-1] == "  no row of the child is missing in the parent"


def test_files_that_changed_since_are_not_shown_for_those_of_the_scan(
    r2d2: Command, spark: Any, tmp_path: Path
) -> None:
    write(tmp_path / "lake" / "a.parquet", x=[1, 3])
    child = write(tmp_path / "lake" / "b.parquet", x=[2])
    scan_lake(Workspace(Settings(state=str(tmp_path / "state")), spark=spark), [str(tmp_path / "lake")])
    shown = open_state(tmp_path / "state").explain("a.parquet", "b.parquet", show_values=True).missing_row
    assert shown is not None and shown.values == (("x", "2"),)
    os.utime(child, ns=(1, 1))
    done = r2d2("explain", "--state", tmp_path / "state", "--show-values", "a.parquet", "b.parquet")
    assert (done.code, done.out) == (1, "") and "b.parquet has changed since the scan" in done.err
    child.unlink()
    done = r2d2("explain", "--state", tmp_path / "state", "--show-values", "a.parquet", "b.parquet")
    assert done.code == 1 and "cannot read table b.parquet" in done.err
    assert r2d2("explain", "--state", tmp_path / "state", "a.parquet", "b.parquet").code == 0
