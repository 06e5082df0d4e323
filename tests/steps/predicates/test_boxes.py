"""Boxes hold every row inside, and as few outside as their conditions can say."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.steps.predicates.boxes import NULL, Condition, in_box, joined, separate, shut_out, tight_conditions
from tests.support.random_codes import conditions, tables


def holds(condition: Condition, code: int) -> bool:
    """The meaning of a condition on one value, plainly."""
    if code == NULL:
        return condition.null
    if condition.codes is not None:
        return code in condition.codes
    above = condition.low is None or code >= condition.low
    return above and (condition.high is None or code <= condition.high)


def split(data: st.DataObject) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a table inside and outside, at least one inside."""
    codes, _ = data.draw(tables())
    inside = np.array(data.draw(st.lists(st.booleans(), min_size=codes.shape[1], max_size=codes.shape[1])), bool)
    inside[data.draw(st.integers(0, len(inside) - 1))] = True
    return codes[:, inside], codes[:, ~inside]


@settings(max_examples=300)
@given(st.data())
def test_a_box_holds_the_rows_that_every_condition_holds(data: st.DataObject) -> None:
    codes, _ = data.draw(tables())
    box = data.draw(st.lists(conditions(len(codes)), max_size=3))
    expected = [all(holds(condition, row[condition.column]) for condition in box) for row in codes.T.tolist()]
    assert in_box(box, codes).tolist() == expected


@settings(max_examples=300)
@given(st.data())
def test_a_tight_condition_holds_for_every_value_inside(data: st.DataObject) -> None:
    inside, _ = split(data)
    for column, codes in enumerate(inside):
        for condition in tight_conditions(column, codes):
            assert all(holds(condition, code) for code in codes.tolist())


@settings(max_examples=300)
@given(st.data())
def test_what_is_shut_out_leaves_every_row_inside_and_only_rows_that_no_tight_condition_excludes(
    data: st.DataObject,
) -> None:
    inside, outside = split(data)
    columns = range(len(inside))
    box, left = shut_out(inside, outside, columns)
    assert in_box(box, inside).all()
    assert in_box(box, outside).tolist() == left.tolist()
    every = [condition for column in columns for condition in tight_conditions(column, inside[column])]
    assert left.tolist() == in_box(every, outside).tolist()


@settings(max_examples=300)
@given(st.data(), st.integers(1, 5))
def test_separate_boxes_hold_every_row_inside_and_none_outside(data: st.DataObject, most: int) -> None:
    inside, outside = split(data)
    boxes = separate(inside, outside, range(len(inside)), most)
    if boxes is not None:
        assert len(boxes) <= most
        assert np.logical_or.reduce([in_box(box, inside) for box in boxes]).all()
        assert not np.logical_or.reduce([in_box(box, outside) for box in boxes]).any()


def test_the_two_ends_of_a_range_become_one_condition() -> None:
    assert joined([Condition(1, high=9), Condition(0, codes=(2,)), Condition(1, low=4)]) == (
        Condition(0, codes=(2,)),
        Condition(1, 4, 9),
    )


def test_only_the_conditions_that_matter_are_kept() -> None:
    random = np.random.default_rng(9)
    codes = random.integers(0, 1000, (6, 5000))
    inside = codes[3] >= 800
    box, left = shut_out(codes[:, inside], codes[:, ~inside], range(6))
    assert not left.any() and [condition.column for condition in box] == [3]
    assert box[0].low == codes[3][inside].min() and box[0].high is None


def test_a_range_is_preferred_to_a_long_list() -> None:
    codes = np.arange(20, dtype=np.int64)[None, :]
    inside = (codes[0] >= 4) & (codes[0] <= 11)
    box, _ = shut_out(codes[:, inside], codes[:, ~inside], [0])
    assert box == (Condition(0, 4, 11),)


def test_a_hole_makes_two_boxes_and_null_has_its_place() -> None:
    codes = np.array([np.arange(100), np.where(np.arange(100) % 7, 1, NULL)], np.int64)
    inside = (codes[0] < 30) | (codes[0] > 60)
    boxes = separate(codes[:, inside], codes[:, ~inside], [0, 1], 4)
    assert boxes is not None and len(boxes) == 2
    nulls = codes[1] == NULL
    boxes = separate(codes[:, nulls], codes[:, ~nulls], [1], 1)
    assert boxes == ((Condition(1, codes=(), null=True),),)
