"""The three flows are what the commands run, in order, and every step has the words that people see."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from r2d2 import pipeline
from r2d2.app import plan as planning
from r2d2.app.workspace import Workspace
from r2d2.flows.step import steps_before, steps_from
from r2d2.pipeline import PLAN, SCAN, UPDATE, words_of
from r2d2.settings import Settings
from tests.support.in_process import Reader
from tests.support.priced_lakes import lake

LONG_AGO_NS = 1_600_000_000_123_456_789
FLOWS: dict[str, tuple[Any, ...]] = {"SCAN": SCAN, "PLAN": PLAN, "UPDATE": UPDATE}


def watched(monkeypatch: pytest.MonkeyPatch, flow: str) -> list[str]:
    """The names of the steps of a flow, as they are run."""
    ran: list[str] = []

    def watch(step: Any) -> Any:
        def run(*arguments: Any) -> Any:
            ran.append(step.name)
            return step.run(*arguments)

        return replace(step, run=run)

    monkeypatch.setattr(pipeline, flow, tuple(map(watch, FLOWS[flow])))
    return ran


def names(flow: str) -> list[str]:
    return [step.name for step in FLOWS[flow]]


@pytest.mark.parametrize("flow", FLOWS)
def test_a_name_stands_for_one_step_of_a_flow(flow: str) -> None:
    assert len(set(names(flow))) == len(FLOWS[flow])
    assert all(step.leaves for step in FLOWS[flow])


def test_the_steps_of_a_scan_have_the_same_words_in_an_update() -> None:
    for step in SCAN:
        known = words_of(step.name)
        assert known is not None and known.doing and known.doing == step.doing
        (again,) = (one for one in UPDATE if one.name == step.name)
        assert (again.doing, again.leaves) == (step.doing, step.leaves)
    assert words_of("making tables") is None


def test_a_flow_is_cut_by_name() -> None:
    assert steps_before(SCAN, "discover") == () and steps_from(SCAN, "discover") == SCAN
    for step in PLAN:
        assert (*steps_before(PLAN, step.name), *steps_from(PLAN, step.name)) == PLAN
    with pytest.raises(StopIteration):
        steps_from(PLAN, "discover")


def write(path: Path, ids: range) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(ids)}), path)
    os.utime(path, ns=(1, LONG_AGO_NS))


def test_a_scan_runs_the_steps_of_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.parquet", range(5))
    ran = watched(monkeypatch, "SCAN")
    Reader().scan(str(tmp_path), Settings())
    assert ran == names("SCAN")
    ran.clear()
    Reader().scan(str(tmp_path), Settings(verify=False))
    assert ran == names("SCAN")[:-1]


def test_an_update_runs_the_steps_of_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def update(settings: Settings) -> list[str]:
        ran.clear()
        reader = Reader()
        pipeline.update(known, settings=settings, tools=reader.tools)
        return list(ran)

    write(tmp_path / "a.parquet", range(5))
    known = replace(Reader().scan(str(tmp_path), Settings()), run="first")
    ran = watched(monkeypatch, "UPDATE")
    assert update(Settings()) == names("UPDATE")[: names("UPDATE").index("find_changes") + 1], "nothing has changed"
    write(tmp_path / "b.parquet", range(3))
    assert update(Settings()) == names("UPDATE")
    assert "verify_containment" not in update(Settings(verify=False))


def test_a_plan_runs_the_steps_of_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an edge there is no recipe to look for, and no row to read."""
    ran = watched(monkeypatch, "PLAN")
    scan = replace(lake({"a": 1.0, "b": 2.0}, []), roots=(str(tmp_path),))
    workspace = Workspace(Settings(state=str(tmp_path / "state")))
    monkeypatch.setattr(workspace, "newest", lambda: scan)
    monkeypatch.setattr(planning, "changed_tables", lambda tables: [])
    said: list[str] = []
    workspace.progress = lambda news: said.append(news.step)
    found, draft = planning.make_plan(workspace)
    assert ran == names("PLAN") and draft is None and not found.proposal.deletions
    assert said == ["looking for recipes"]
