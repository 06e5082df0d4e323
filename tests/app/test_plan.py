"""A plan is refused before its long work where it could not be written, and says what is out of date."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from r2d2.app.plan import curve, make_plan
from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from tests.app.conftest import SmallLake
from tests.app.test_recipes import EDGE, keep

CHEAP = {"min_age": 0.0, "accesses_per_week": 0.0}


def test_the_contained_table_is_proposed_with_its_parent(small: SmallLake) -> None:
    keep(small, **EDGE)
    said: list[str] = []
    workspace = Workspace(replace(small.settings, **CHEAP), progress=lambda news: said.append(news.step))
    found, draft = make_plan(workspace)
    assert [(line.table, line.parent) for line in found.proposal.deletions] == [("part.parquet", "all.parquet")]
    assert draft is None and not found.notes and said == ["looking for recipes"]
    assert not (small.path / ".r2d2-safety").exists()


def test_a_table_that_is_deleted_is_left_out_and_named(deleted: SmallLake) -> None:
    found, _ = make_plan(Workspace(replace(deleted.settings, **CHEAP)))
    assert not found.proposal.deletions and found.absent.keys() == {"part.parquet"}
    assert found.proposal.lake_tables == 2


def test_a_table_that_changed_since_the_scan_is_pointed_out(small: SmallLake) -> None:
    keep(small, **EDGE)
    small.write("other.parquet", range(3), z=[1, 2, 3])
    found, _ = make_plan(Workspace(replace(small.settings, **CHEAP)))
    assert found.notes == (
        "other.parquet has changed since the scan, and cannot go as planned: run `r2d2 update` first",
    )


def test_a_plan_is_never_written_over_another_file(small: SmallLake, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("")
    for out, says in (
        (tmp_path / "plan.json", "exists already"),
        (tmp_path / "no" / "plan.json", "there is no folder"),
    ):
        with pytest.raises(UserError, match=says):
            make_plan(Workspace(small.settings), out=str(out))


def test_a_lake_that_is_gone_is_not_planned_for(small: SmallLake, tmp_path: Path) -> None:
    small.path.rename(tmp_path / "moved")
    with pytest.raises(UserError, match="is not there any more"):
        make_plan(Workspace(small.settings))


def test_the_curve_has_a_year_for_each_number_of_requests(small: SmallLake) -> None:
    keep(small, **EDGE)
    assert len(curve(Workspace(replace(small.settings, **CHEAP)))) == 24
