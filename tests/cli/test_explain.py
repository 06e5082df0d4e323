"""`r2d2 explain`: for any two tables the check that decided, and why, in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.cli.output import printable
from r2d2.report.explain import explain as explain_pair
from r2d2.settings import Settings
from tests.cli.conftest import HOSTILE, Command, Scanned, write


def explain(r2d2: Command, scanned: Scanned, parent: str, child: str) -> dict[str, Any]:
    done = r2d2("explain", "--state", scanned.state, "--json", "--", parent, child)
    assert (done.code, done.err) == (0, "")
    return dict(json.loads(done.out))


def test_json_has_exactly_these_keys(r2d2: Command, scanned: Scanned) -> None:
    answer = explain(r2d2, scanned, "sales", "extract.parquet")
    assert list(answer) == ["parent", "child", "verdict", "because", "trail", "deleted", "missing_row"]
    assert answer["missing_row"] is None, "values are shown only if asked for"
    assert all(list(evidence) == ["check", "verdict", "because", "reasons"] for evidence in answer["trail"])
    last = answer["trail"][-1]
    assert (answer["verdict"], answer["because"]) == (last["verdict"], last["because"])


def test_an_edge_is_explained_check_by_check(r2d2: Command, scanned: Scanned) -> None:
    answer = explain(r2d2, scanned, "sales", "extract.parquet")
    assert [evidence["check"] for evidence in answer["trail"]] == [
        "build_schema_graph",
        "prune_by_minmax",
        "verify_containment",
    ]
    assert [evidence["verdict"] for evidence in answer["trail"]] == ["POSSIBLE", "POSSIBLE", "PROVEN"]
    assert "10 rows" in answer["because"]


def test_a_pair_dropped_by_schema_names_the_missing_columns(r2d2: Command, scanned: Scanned) -> None:
    answer = explain(r2d2, scanned, "sales", "weather/rain.parquet")
    assert (answer["verdict"], len(answer["trail"])) == ("IMPOSSIBLE", 1)
    assert answer["because"] == "the parent has no column day, rain"


def test_a_pair_dropped_by_range_names_the_column_and_both_ranges(r2d2: Command, scanned: Scanned) -> None:
    answer = explain(r2d2, scanned, "sales", "late.parquet")
    assert (answer["verdict"], answer["trail"][-1]["check"]) == ("IMPOSSIBLE", "prune_by_minmax")
    assert answer["because"].startswith(
        "column id: the child holds 200, outside the parent's range; child 50 … 200, parent 0 … 99"
    )


def test_a_pair_that_shares_files_is_told_so(r2d2: Command, scanned: Scanned) -> None:
    for parent, child in (("sales", "half"), ("half", "sales")):
        answer = explain(r2d2, scanned, parent, child)
        assert answer["verdict"] == "IMPOSSIBLE" and "they share files" in answer["because"]


def test_a_pair_dropped_by_its_rows_is_told_so(r2d2: Command, scanned: Scanned) -> None:
    answer = explain(r2d2, scanned, "sales", "almost.parquet")
    assert answer["verdict"] == "IMPOSSIBLE"
    assert answer["trail"][-1]["check"] in ("prune_by_content", "verify_containment") and "row" in answer["because"]


def test_people_get_a_sentence_and_the_trail(r2d2: Command, scanned: Scanned) -> None:
    out = r2d2("explain", "--state", scanned.state, "sales", "extract.parquet").out.splitlines()
    assert out[0] == "extract.parquet is contained in sales" and len(out) == 4
    out = r2d2("explain", "--state", scanned.state, "sales", "late.parquet").out.splitlines()
    assert out[0] == "late.parquet is not contained in sales"


@pytest.mark.parametrize("name", HOSTILE)
def test_odd_names_are_found_and_shown_harmless(r2d2: Command, scanned: Scanned, name: str) -> None:
    done = r2d2("explain", "--state", scanned.state, "--", f"{name}.parquet", "sales")
    assert done.code == 0 and printable(f"{name}.parquet") in done.out
    assert not [c for c in done.out + done.err if not c.isprintable() and c != "\n"]


@pytest.mark.parametrize("name", ["sales/", "./sales"])
def test_a_name_may_be_spelled_as_a_shell_completes_it(r2d2: Command, scanned: Scanned, name: str) -> None:
    assert explain(r2d2, scanned, name, "extract.parquet")["parent"] == "sales"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("salse", "sales"),
        ("extrct.parquet", "extract.parquet"),
        ("rain.parquet", "weather/rain.parquet"),
        ("lake/sales", "sales"),
    ],
)
def test_an_unknown_table_gets_the_nearest_names(r2d2: Command, scanned: Scanned, typed: str, meant: str) -> None:
    for arguments in ((typed, "sales"), ("sales", typed)):
        done = r2d2("explain", "--state", scanned.state, *arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"r2d2: there is no table {typed} in this scan\nHint: did you mean ")
        assert meant in done.err


def test_an_unknown_table_like_no_other_gets_a_place_to_look(r2d2: Command, scanned: Scanned) -> None:
    done = r2d2("explain", "--state", scanned.state, "zzzzzzzz", "sales")
    assert done.code == 2 and "tables.parquet" in done.err


@pytest.mark.parametrize("name", ["\x1b[31mrex", "\x1b]0;owned\x07"])
def test_what_was_typed_and_what_is_near_are_shown_harmless(r2d2: Command, scanned: Scanned, name: str) -> None:
    done = r2d2("explain", "--state", scanned.state, name, "sales")
    assert done.code == 2 and printable(name) in done.err
    assert not [c for c in done.err if not c.isprintable() and c != "\n"]


def test_a_table_and_itself_are_no_pair(r2d2: Command, scanned: Scanned) -> None:
    done = r2d2("explain", "--state", scanned.state, "sales", "./sales/")
    assert done.code == 2 and "are the same table" in done.err


def test_a_pair_is_explained_where_no_edge_stands(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "lake" / "a.parquet", x=[1, 3])
    write(tmp_path / "lake" / "b.parquet", x=[2])
    scan = scan_lake(Workspace(Settings(state=str(tmp_path / "state")), spark=spark), [str(tmp_path / "lake")])
    assert scan.graph is not None and len(scan.graph) == 0
    answer = explain_pair(scan, parent="a.parquet", child="b.parquet")
    assert answer.trail[-1].check == "verify_containment" and answer.because.startswith("1 of the child's 1 row is")


@pytest.mark.parametrize(
    "spelled", ["{lake}/sales", "{lake}/sales/", "{lake}/weather/../sales/.", "../lake/sales", "link/sales"]
)
def test_a_table_may_be_named_by_its_path(
    r2d2: Command, scanned: Scanned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    (tmp_path / "link").symlink_to(scanned.lake)
    monkeypatch.chdir(tmp_path if spelled.startswith("link") else scanned.state)
    parent, child = spelled.format(lake=scanned.lake), str(scanned.lake / "extract.parquet")
    answer = explain(r2d2, scanned, parent, child)
    assert (answer["parent"], answer["child"], answer["verdict"]) == ("sales", "extract.parquet", "PROVEN")
    shown = r2d2("recipe", "show", "--state", scanned.state, parent, child)
    assert "there is no recipe for extract.parquet from sales" in shown.err


@pytest.mark.parametrize("spelled", ["{lake}", "{lake}/sales/part-0.parquet", "{lake}/nowhere", "/", "", "{lake}/\0"])
def test_a_path_that_is_no_table_is_told(r2d2: Command, scanned: Scanned, spelled: str) -> None:
    done = r2d2("explain", "--state", scanned.state, spelled.format(lake=scanned.lake), "sales")
    assert done.code == 2 and "there is no table" in done.err


def test_a_table_that_was_left_out_is_told_by_its_path(r2d2: Command, spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "lake" / "good.parquet", id=[1])
    (tmp_path / "lake" / "cut.parquet").write_bytes(b"PAR1cut")
    scan_lake(Workspace(Settings(state=str(tmp_path / "state")), spark=spark), [str(tmp_path / "lake")])
    done = r2d2("explain", "--state", tmp_path / "state", tmp_path / "lake" / "cut.parquet", "good.parquet")
    assert done.code == 2 and "table cut.parquet was left out" in done.err


def test_one_of_a_kind_is_told_in_the_singular(r2d2: Command, spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "lake" / "only.parquet", id=[1])
    done = r2d2("scan", tmp_path / "lake", "--state", tmp_path / "state", "-q")
    assert done.out.startswith("1 table, 1 row, ") and "table found" in done.out
    assert r2d2("update", "--state", tmp_path / "state", "-q").out.startswith("1 table, ")


def test_all_reasons_of_a_check_are_told_if_asked_for(r2d2: Command, tmp_path: Path) -> None:
    lake, state = tmp_path / "lake", tmp_path / "state"
    write(lake / "parent.parquet", a=[1, 2], b=[1, 2], c=[1, 2])
    write(lake / "child.parquet", a=[7, 8], b=[2, 9], c=[None, 1])
    assert r2d2("scan", lake, "--state", state).code == 0
    pair = ("--state", state, "parent.parquet", "child.parquet")
    trail = json.loads(r2d2("explain", "--json", *pair).out)["trail"]
    (reasons,) = [evidence["reasons"] for evidence in trail if evidence["reasons"]]
    assert len(reasons) > 2 and f"(and {len(reasons) - 1} more reasons)" in trail[-1]["because"]
    assert all(f"\n    {reason}\n" in r2d2("explain", "--verbose", *pair).out for reason in reasons)
    assert f"\n    {reasons[1]}" not in r2d2("explain", *pair).out
