"""The risk that a sample promises is kept by the code that samples, and not by one that draws from a single place."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.theorem2 import clopper_pearson, count_misses, plant
from r2d2.steps.prune_by_content import rows_to_sample

TRIALS = 300


@pytest.mark.parametrize(("epsilon", "delta"), [(0.26, 0.05), (0.1, 0.05), (0.05, 0.2)])
def test_a_uniform_sample_misses_no_more_often_than_promised(tmp_path: Path, epsilon: float, delta: float) -> None:
    rows = rows_to_sample(missing_share=epsilon, risk=delta)
    misses = count_misses(plant(tmp_path, epsilon), rows=rows, trials=TRIALS, drawn="uniformly")
    low, high = clopper_pearson(misses, TRIALS, 0.999)
    assert low <= delta
    assert low <= (1 - epsilon) ** rows <= high, "neither more often nor more seldom than draws with replacement do"


@pytest.mark.parametrize("drawn", ["from one place", "from two places"])
def test_a_sample_from_few_places_breaks_the_bound(tmp_path: Path, drawn: str) -> None:
    rows = rows_to_sample(missing_share=0.1, risk=0.05)
    misses = count_misses(plant(tmp_path, 0.1), rows=rows, trials=100, drawn=drawn)
    assert clopper_pearson(misses, 100, 0.999)[0] > 0.05


def test_a_child_that_lacks_nothing_is_never_dropped(tmp_path: Path) -> None:
    assert count_misses(plant(tmp_path, 0.0), rows=30, trials=50, drawn="uniformly") == 50
