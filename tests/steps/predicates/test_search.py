"""What is found picks exactly the wanted rows; and what one condition can pick is found."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.steps.predicates.boxes import NULL, Box, Condition, in_box, separate, shut_out
from r2d2.steps.predicates.fitting import Marked
from r2d2.steps.predicates.search import find_predicate

RANDOM = np.random.default_rng(1)


def marked(codes: np.ndarray, kept: np.ndarray, in_child: np.ndarray) -> Marked:
    """The rows of a parent, given which of them the child was made of and which columns it has."""
    keys = [tuple(row) for row in codes[in_child].T.tolist()]
    child = sorted({key for key, keep in zip(keys, kept, strict=True) if keep})
    number = {key: n for n, key in enumerate(child)}
    group = np.array([number.get(key, -1) for key in keys], np.int64)
    random_of = {key: RANDOM.integers(2**64, dtype=np.uint64) for key in keys}
    wanted = np.bincount(group[kept], minlength=len(child))
    return Marked(codes, group, np.array([random_of[key] for key in keys], np.uint64), wanted, in_child)


def assert_exact(rows: Marked, boxes: tuple[Box, ...] | None) -> None:
    """Of each group as many rows as wanted, of the others none."""
    assert boxes is not None
    held = np.zeros(rows.codes.shape[1], bool)
    for box in boxes:
        held |= in_box(box, rows.codes)
    assert not (rows.group[held] < 0).any()
    assert (np.bincount(rows.group[held], minlength=len(rows.wanted)) == rows.wanted).all()


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Codes of a few columns, and which of them the child has."""
    columns, rows = draw(st.integers(1, 4)), draw(st.integers(1, 40))
    values = st.lists(st.integers(-1, draw(st.sampled_from([2, 6, 50]))), min_size=rows, max_size=rows)
    codes = np.array([draw(values) for _ in range(columns)], np.int64)
    in_child = np.array(draw(st.lists(st.booleans(), min_size=columns, max_size=columns)), bool)
    in_child[draw(st.integers(0, columns - 1))] = True
    return codes, in_child


@st.composite
def conditions(draw: st.DrawFn, columns: int) -> Condition:
    column, null = draw(st.integers(0, columns - 1)), draw(st.booleans())
    if draw(st.booleans()):
        most = 3 - null  # lists of up to three values are looked for, and NULL is one
        return Condition(column, codes=tuple(draw(st.sets(st.integers(0, 6), max_size=most))), null=null)
    low, high = draw(st.none() | st.integers(0, 25)), draw(st.none() | st.integers(0, 50))
    return Condition(column, low, high, None, null)


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
