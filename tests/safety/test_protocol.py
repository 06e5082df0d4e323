"""The whole way, on real Parquet files: plan, apply, drill, purge, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r2d2.safety.apply import Approval, apply
from r2d2.safety.operations import explain
from tests.safety.world import CHILDREN, SCENARIOS, SIZE, World, check_all_comes_back, memory_world, posix_world


@pytest.fixture(params=["parquet", "memory"])
def world(request: Any, tmp_path: Path) -> World:
    return memory_world() if request.param == "memory" else posix_world(tmp_path / "lake")


def test_a_table_goes_to_quarantine_and_comes_back(world: World) -> None:
    assert all(applied.is_deleted for applied in world.apply())
    assert all(world.files.stat(child) is None for child in CHILDREN)
    assert set(check_all_comes_back(world).values()) == {"lake", "quarantine"}


def test_a_purged_table_is_rebuilt_by_its_recipe(world: World) -> None:
    world.apply()
    assert all(drill.is_exact for drill in world.drill())
    assert all(purged.is_purged for purged in world.purge())
    restored = world.restore()
    assert [one.by for one in restored] == ["recipe"] * 3
    for location, rows in world.original.items():
        assert world.rows_at(location) == rows


def test_progress_gets_the_operations_that_explain_tells_of(world: World) -> None:
    seen: list[str] = []
    with world.lake() as lake:
        apply(
            lake,
            world.plan,
            rebuilder=world.rebuilder,
            approval=Approval("Ann", typed=3),
            count_lake=lambda: SIZE,
            progress=lambda operation: seen.append(operation.explain()),
        )
    assert tuple(seen) == explain(world.plan)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_scenario_ends_where_it_should(world: World, scenario: Any) -> None:
    scenario.prepare(world)
    scenario.run(world, None)
    where = check_all_comes_back(world)
    assert {where[child] for child in CHILDREN} <= scenario.allowed
