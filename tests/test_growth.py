"""Figures that benchmarks report, and the lakes that they grow."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from r2d2.synthetic import generate_lake, lake_truth
from tests.support.grown_lake import grow
from tests.support.growth import exponent, extrapolate, with_exponents


@pytest.mark.parametrize("power", [0.5, 1, 1.2, 2])
def test_the_exponent_is_the_power_that_the_figures_grow_with(power: float) -> None:
    rows = [{"columns": size, "seconds": 7 * size**power} for size in (375, 750, 6_000)]
    found = with_exponents(rows, of="seconds", by="columns")
    assert [row.get("exponent") for row in found] == [None, power, power]
    assert [row["seconds"] for row in found] == [row["seconds"] for row in rows]


@pytest.mark.parametrize(("before", "after"), [(0.0, 1.0), (-0.2, 1.0), (1.0, 0.0)])
def test_noise_around_nothing_has_no_exponent(before: float, after: float) -> None:
    assert exponent({"n": 1, "s": before}, {"n": 2, "s": after}, of="s", by="n") is None


def test_equal_sizes_have_no_exponent() -> None:
    assert exponent({"n": 2, "s": 1.0}, {"n": 2, "s": 3.0}, of="s", by="n") is None


def test_a_sample_is_extrapolated_by_its_mean() -> None:
    assert extrapolate([1.0, 3.0], of=10) == 20
    assert extrapolate([], of=0) == 0


def test_a_grown_lake_has_the_edges_of_the_lake_it_was_made_from(tmp_path: Path) -> None:
    made = generate_lake(tmp_path / "made", tables=30, rows=60, seed=4)
    grow(made.path, tmp_path / "grown", 3)
    edges = lake_truth(made.path, all_pairs=True)
    grown = lake_truth(tmp_path / "grown", all_pairs=True)
    assert any(edge.missing_rows for edge in edges) and not all(edge.missing_rows for edge in edges)
    assert [(e.parent, e.child, 3 * e.missing_rows, e.bag) for e in edges] == [
        (e.parent, e.child, e.missing_rows, e.bag) for e in grown
    ]


def test_a_lake_that_has_the_new_column_already_is_refused(tmp_path: Path) -> None:
    made = generate_lake(tmp_path / "made", tables=2, rows=5, seed=1)
    grow(made.path, tmp_path / "grown", 2)
    assert pq.read_table(next((tmp_path / "grown").rglob("*.parquet"))).column("copy").unique().to_pylist() == [0, 1]
    with pytest.raises(ValueError, match="already has a column copy"):
        grow(tmp_path / "grown", tmp_path / "again", 2)
