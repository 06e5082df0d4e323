"""Conditions that fit pick the wanted rows, each as often; a range or short list that fits is found."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.steps.predicates.boxes import NULL, Condition, in_box
from r2d2.steps.predicates.fitting import OUTSIDE, Marked, fitting, list_of, picks
from tests.support.random_codes import conditions, marked, tables


def picks_by_counting(rows: Marked, condition: Condition) -> bool:
    """Whether a condition holds for each group as often as wanted, counted one row at a time."""
    held = in_box((condition,), rows.codes)
    found = Counter(group for group, hold in zip(rows.group.tolist(), held.tolist(), strict=True) if hold)
    return found == Counter({group: count for group, count in enumerate(rows.wanted.tolist()) if count})


@settings(max_examples=300)
@given(st.data())
def test_picking_is_what_counting_one_row_at_a_time_says(data: st.DataObject) -> None:
    codes, in_child = data.draw(tables())
    kept = in_box(data.draw(st.lists(conditions(len(codes)), max_size=2)), codes)
    rows = marked(codes, kept, in_child)
    condition = data.draw(conditions(len(codes)))
    assert picks(rows, (condition,)) == picks_by_counting(rows, condition)


@settings(max_examples=300)
@given(st.data())
def test_every_condition_that_is_offered_picks_the_wanted_rows(data: st.DataObject) -> None:
    codes, in_child = data.draw(tables())
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=codes.shape[1], max_size=codes.shape[1])), bool)
    rows = marked(codes, kept, in_child)
    for column in range(len(codes)):
        for condition in fitting(rows, column):
            assert condition.column == column and picks_by_counting(rows, condition)


@settings(max_examples=300)
@given(st.data())
def test_a_condition_that_made_the_child_is_matched_by_one_that_is_offered(data: st.DataObject) -> None:
    codes, in_child = data.draw(tables())
    condition = data.draw(conditions(len(codes)))
    kept = condition.holds(codes[condition.column])
    if kept.any():
        assert list(fitting(marked(codes, kept, in_child), condition.column))


def test_rows_that_are_left_out_are_gone_from_every_column() -> None:
    codes = np.array([[0, 1, 2], [NULL, 5, 6]], np.int64)
    rows = marked(codes, np.array([True, True, False]), np.array([True, True]))
    some = rows.some(np.array([False, True, True]))
    assert some.codes.tolist() == [[1, 2], [5, 6]]
    assert some.group.tolist() == [1, OUTSIDE] and some.counts.tolist() == [0, 1]


def test_null_is_one_of_the_values_of_a_list() -> None:
    assert list_of(2, np.array([NULL, 3], np.int64)) == Condition(2, codes=(3,), null=True)
    assert list_of(2, np.array([4, 3], np.int64)) == Condition(2, codes=(4, 3), null=False)


def test_a_range_open_on_one_side_states_one_bound() -> None:
    codes = np.arange(50, dtype=np.int64)[None, :]
    rows = marked(codes, codes[0] >= 40, np.array([True]))
    assert next(fitting(rows, 0)) == Condition(0, low=40)
