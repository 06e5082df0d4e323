"""A lake in which no table is contained in another."""

from __future__ import annotations

from pathlib import Path

from r2d2.cli.show import show_edges
from r2d2.report.edges import standing_edges
from tests.cli.conftest import Command
from tests.state.scans import plain_scan, save
from tests.support.priced_lakes import lake


def test_no_edges_are_said_in_a_sentence_and_not_drawn_as_an_empty_table(r2d2: Command, tmp_path: Path) -> None:
    save(tmp_path, plain_scan(1))
    assert r2d2("edges", "--state", tmp_path).out == "no table was found to be contained in another\n"
    assert r2d2("edges", "--state", tmp_path, "--json").out == "[\n]\n"
    assert r2d2("edges", "--state", tmp_path, "--format", "csv").out.startswith("parent,child,")


def test_an_edge_that_is_only_counted_is_no_sentence(capsys: object) -> None:
    show_edges(standing_edges(lake({"a": 2.0, "b": 1.0}, [("a", "b")])), "table", most=0)
    assert "Containment edges (0 of 1)" in capsys.readouterr().out  # type: ignore[attr-defined]
