"""Pieces of work are packed evenly, none is lost, and the plan stays the same however many there are."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.engine.run.bundles import pack
from r2d2.engine.run.spark import run_tasks

WEIGHTS = st.lists(st.integers(0, 1000), max_size=60)


@settings(max_examples=300)
@given(WEIGHTS, st.integers(1, 12))
def test_nothing_is_lost_and_no_bundle_is_empty(weights: list[int], bundles: int) -> None:
    pieces = list(enumerate(weights))
    packed = pack(pieces, weight=lambda piece: piece[1], bundles=bundles)
    assert Counter(piece for bundle in packed for piece in bundle) == Counter(pieces)
    assert all(packed) and len(packed) <= bundles


@settings(max_examples=300)
@given(WEIGHTS, st.integers(1, 12))
def test_no_bundle_is_heavier_than_the_mean_by_more_than_one_piece(weights: list[int], bundles: int) -> None:
    packed = pack(weights, weight=float, bundles=bundles)
    heaviest = max(weights, default=0)
    for bundle in packed:
        assert sum(bundle) <= sum(weights) / bundles + heaviest


def test_equal_pieces_are_spread_evenly() -> None:
    assert sorted(len(bundle) for bundle in pack(range(100), weight=lambda piece: 1, bundles=8)) == [12] * 4 + [13] * 4


def echo(bundle: list[Any]) -> list[str]:
    return [json.dumps(piece) for piece in bundle]


@pytest.mark.parametrize("count", [0, 1, 300])
def test_every_piece_is_answered_once(spark: Any, count: int) -> None:
    pieces = [f"{number} ü \0 \udcff" for number in range(count)]
    answers = run_tasks(spark, pieces, task=echo, weight=lambda piece: 1.0, per_task=10)
    assert sorted(map(json.loads, answers)) == sorted(pieces)


def test_few_pieces_use_every_core_and_many_do_not_make_many_tasks(spark: Any) -> None:
    def bundles(count: int) -> int:
        answers = run_tasks(spark, list(range(count)), task=lambda b: [str(len(b))], weight=lambda p: 1.0, per_task=100)
        return len(answers)

    assert bundles(2) == 2  # two cores
    assert bundles(600) == 16  # some for each core: enough to even out
    assert bundles(2_000) == 20
    assert bundles(50_000) == 64
