"""The risk that a sample promises is kept by the code that samples, for narrow and for wide tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from r2d2.steps.prune_by_content import probe_columns, rank_columns, rows_to_sample
from tests.support.theorem2 import CHILD, LEAST_SELECTIVE, SELECTED, WIDTHS, clopper_pearson, count_misses, plant

pytestmark = pytest.mark.slow

TRIALS = 300
WIDE = [width for width in WIDTHS if width > SELECTED]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.26, 0.05), (0.1, 0.05), (0.05, 0.2)])
def test_a_guaranteed_sample_misses_no_more_often_than_promised(
    tmp_path: Path, width: int, epsilon: float, delta: float
) -> None:
    rows = rows_to_sample(missing_share=epsilon, risk=delta)
    misses = count_misses(plant(tmp_path, epsilon, width), rows=rows, trials=TRIALS, drawn="uniformly")
    low, high = clopper_pearson(misses, TRIALS, 0.999)
    assert low <= delta
    assert low <= (1 - epsilon) ** rows <= high, "neither more often nor more seldom than draws with replacement do"


@pytest.mark.parametrize("width", WIDE)
def test_a_child_that_lacks_every_row_in_one_column_is_always_caught(tmp_path: Path, width: int) -> None:
    assert count_misses(plant(tmp_path, 1.0, width), rows=29, trials=50, drawn="uniformly") == 0


@pytest.mark.parametrize("width", WIDE)
def test_the_planted_difference_lies_outside_the_selective_columns(tmp_path: Path, width: int) -> None:
    planted = plant(tmp_path, 1.0, width)
    schema = planted.profiles[CHILD].schema
    assert len(schema.columns) == width
    selected = probe_columns(schema, rank_columns(planted.profiles), SELECTED)
    assert (LEAST_SELECTIVE,) not in [column.token for column in selected]
    assert count_misses(planted, rows=29, trials=20, drawn="from two places") == 20, "the cheap sample cannot see it"


@pytest.mark.parametrize("drawn", ["from one place", "from two places"])
def test_a_sample_from_few_places_breaks_the_bound(tmp_path: Path, drawn: str) -> None:
    rows = rows_to_sample(missing_share=0.1, risk=0.05)
    misses = count_misses(plant(tmp_path, 0.1), rows=rows, trials=100, drawn=drawn)
    assert clopper_pearson(misses, 100, 0.999)[0] > 0.05


def test_a_child_that_lacks_nothing_is_never_dropped(tmp_path: Path) -> None:
    for width in WIDTHS:
        (tmp_path / str(width)).mkdir()
        planted = plant(tmp_path / str(width), 0.0, width)
        assert count_misses(planted, rows=30, trials=50, drawn="uniformly") == 50
