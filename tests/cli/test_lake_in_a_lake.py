"""Two roots, one inside the other: each has a journal of its own, and neither may take what the other needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.conftest import Command
from tests.cli.test_apply import PLAN, Lake, apply, put
from tests.cli.test_apply import plan as plan_file
from tests.cli.test_update import old


@pytest.fixture
def both(spark: Any, tmp_path: Path, r2d2: Command) -> tuple[Lake, Lake]:
    """A folder of three tables, each in the next, and a folder in it that holds the smaller two; both scanned."""
    outer = tmp_path / "lake"
    numbers = pa.table({"id": list(range(300))})
    put(numbers, outer / "all.parquet")
    put(numbers.slice(0, 200), outer / "team" / "many.parquet")
    put(numbers.slice(0, 30), outer / "team" / "few.parquet")
    old(outer)
    lakes = Lake(outer, tmp_path / "outer state"), Lake(outer / "team", tmp_path / "inner state")
    for lake in lakes:
        assert r2d2("scan", lake.path, "--state", lake.state).code == 0
    return lakes


def test_what_a_deleted_table_of_a_folder_is_rebuilt_from_is_not_deleted_from_above(
    r2d2: Command, both: tuple[Lake, Lake]
) -> None:
    outer, inner = both
    made_before, _ = plan_file(r2d2, outer, "before.json")
    plan, _ = plan_file(r2d2, inner, "inner.json")
    assert apply(r2d2, inner, plan).code == 0
    for step in ("drill", "purge"):
        assert r2d2(step, "--state", inner.state, *(("--retention", "0") if step == "purge" else ())).code == 0
    assert not inner.table("few.parquet").exists()

    refused = apply(r2d2, outer, made_before)
    assert refused.code == 2 and "from which tables were deleted" in refused.err
    assert r2d2("update", "--state", outer.state).code == 0
    out = outer.state.parent / "after.json"
    planned = r2d2("plan", "--state", outer.state, *PLAN, "--out", out)
    assert not out.exists() and "from which tables were deleted" in planned.out
    assert inner.table("many.parquet").exists()
    assert r2d2("restore", "few.parquet", "--state", inner.state).code == 0


def test_in_a_folder_of_a_lake_with_deleted_tables_nothing_is_deleted(r2d2: Command, both: tuple[Lake, Lake]) -> None:
    outer, inner = both
    inner_plan, _ = plan_file(r2d2, inner, "inner.json")
    plan, planned = plan_file(r2d2, outer, "outer.json")
    assert planned["deletions"]
    assert apply(r2d2, outer, plan).code == 0
    refused = apply(r2d2, inner, inner_plan)
    assert refused.code == 2 and "is a part of" in refused.err
    again = r2d2("plan", "--state", inner.state, *PLAN, "--out", inner.state.parent / "again.json")
    assert again.code == 2 and "is a part of" in again.err
    assert r2d2("restore", "--all", "--state", outer.state).code == 0
