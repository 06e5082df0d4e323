"""What is found picks exactly the wanted rows; and what one condition can pick is found."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.steps.predicates.boxes import Box, Condition, in_box
from r2d2.steps.predicates.fitting import Marked
from r2d2.steps.predicates.search import find_predicate
from tests.support.random_codes import conditions, marked, tables


def assert_exact(rows: Marked, boxes: tuple[Box, ...] | None) -> None:
    """Of each group as many rows as wanted, of the others none."""
    assert boxes is not None
    held = np.zeros(rows.codes.shape[1], bool)
    for box in boxes:
        held |= in_box(box, rows.codes)
    assert not (rows.group[held] < 0).any()
    assert (np.bincount(rows.group[held], minlength=len(rows.wanted)) == rows.wanted).all()


@settings(max_examples=600)
@given(st.data())
def test_one_condition_on_any_column_is_found_even_if_the_child_lost_it(data: st.DataObject) -> None:
    codes, in_child = data.draw(tables())
    condition = data.draw(conditions(len(codes)))
    kept = condition.holds(codes[condition.column])
    if kept.any():
        rows = marked(codes, kept, in_child)
        assert_exact(rows, find_predicate(rows))


@settings(max_examples=600)
@given(st.data())
def test_whatever_is_found_is_exact(data: st.DataObject) -> None:
    codes, in_child = data.draw(tables())
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=codes.shape[1], max_size=codes.shape[1])), bool)
    if kept.any():
        rows = marked(codes, kept, in_child)
        boxes = find_predicate(rows)
        if boxes is not None:
            assert_exact(rows, boxes)


@settings(max_examples=300)
@given(st.data())
def test_several_conditions_on_columns_that_the_child_has_are_found(data: st.DataObject) -> None:
    codes, _ = data.draw(tables())
    box = data.draw(st.lists(conditions(len(codes)), min_size=1, max_size=3))
    kept = in_box(box, codes)
    if kept.any():
        rows = marked(codes, kept, np.ones(len(codes), bool))
        boxes = find_predicate(rows)
        assert boxes is None or len(boxes) <= 6
        assert_exact(rows, boxes)


def test_two_conditions_on_lost_columns_are_found_on_many_rows() -> None:
    random = np.random.default_rng(7)
    codes = np.array([random.integers(0, 400, 20_000), random.integers(0, 9, 20_000), random.integers(0, 5000, 20_000)])
    for box in (
        (Condition(1, codes=(2, 5)), Condition(2, low=1000, high=3000)),
        (Condition(1, codes=(3,)), Condition(2, low=4000)),
    ):
        rows = marked(codes, in_box(box, codes), np.array([True, False, False]))
        assert_exact(rows, find_predicate(rows))


def test_two_lists_of_lost_columns_are_found_though_the_child_has_few_different_rows() -> None:
    random = np.random.default_rng(11)
    codes = np.array([random.integers(0, most, 20_000) for most in (50, 11, 9, 7, 7, 4, 3, 2, 5000)])
    box = (Condition(3, codes=(0, 2, 4)), Condition(4, codes=(6,)))
    rows = marked(codes, in_box(box, codes), np.array([True] + [False] * 8))
    assert_exact(rows, find_predicate(rows))


def test_two_ranges_of_lost_columns_are_found_where_most_rows_are_telling() -> None:
    random = np.random.default_rng(8)
    codes = np.array([random.integers(0, 9000, 12_000), random.integers(0, 3000, 12_000), random.permutation(12_000)])
    box = (Condition(1, low=500, high=2500), Condition(2, low=3000, high=9000))
    rows = marked(codes, in_box(box, codes), np.array([True, False, False]))
    assert_exact(rows, find_predicate(rows))
