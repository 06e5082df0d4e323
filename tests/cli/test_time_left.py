"""The time left is told while it can be believed: not for long after it was wrong, and never of a job that stands still."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.cli.time_left import STALLED_SECONDS, TimeLeft


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def told(done_at: Callable[[int], int], total: int | None, seconds: int) -> list[float | None]:
    """The estimates of a job, second by second."""
    clock = Clock()
    left = TimeLeft(clock)
    left.tell(0, total)
    estimates = []
    for second in range(1, seconds + 1):
        clock.now = float(second)
        left.tell(done_at(second), total)
        estimates.append(left.seconds)
    return estimates


def test_of_a_steady_job_it_is_right_all_along() -> None:
    estimates = told(lambda second: second * 10, 1_000, 99)
    assert estimates[:4] == [None] * 4, "too early to tell"
    assert estimates[4:] == [pytest.approx(100 - second) for second in range(5, 100)]


def test_of_a_job_that_slows_down_it_grows() -> None:
    estimates = told(lambda second: second * 10 if second <= 60 else 600 + (second - 60), 1_000, 120)
    assert estimates[59] == pytest.approx(40) and estimates[119] == pytest.approx(340)


def test_of_a_job_that_stands_still_there_is_none() -> None:
    estimates = told(lambda second: min(second, 95) * 10, 1_000, 300)
    assert estimates[94] == pytest.approx(5)
    assert set(estimates[95 + int(STALLED_SECONDS) :]) == {None}


def test_there_is_none_without_a_total_nor_of_nothing_nor_of_what_is_done() -> None:
    assert set(told(lambda second: second, None, 100)) == {None}
    assert set(told(lambda second: 0, 100, 100)) == {None}
    assert set(told(lambda second: 100, 100, 100)) == {None}


def test_another_job_begins_afresh() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    left.tell(0, 100)
    clock.now = 90.0
    left.tell(90, 100)
    left.tell(5, 100)  # the next job
    assert left.seconds is None
    clock.now = 100.0
    left.tell(25, 100)
    assert left.seconds == pytest.approx(37.5)


@settings(max_examples=300, deadline=None)
@given(st.floats(0.5, 200), st.integers(0, 200))
def test_no_short_estimate_is_repeated_for_minutes(half_life: float, steady: int) -> None:
    """Each half of what is left takes as long as the half before: at any moment it seems to end soon, and never does."""

    def done_at(second: int) -> int:
        return second * 10**9 if second <= steady else int(10**12 * (1 - (1 - steady / 1000) * 0.5 ** (late(second))))

    def late(second: int) -> float:
        return (second - steady) / half_life

    estimates = told(done_at, 10**12, steady + int(25 * half_life))  # later it is a matter of single bytes
    for said in (10, 30, 100):
        short = [second for second, left in enumerate(estimates) if left is not None and left <= said]
        assert not short or short[-1] - short[0] <= 2 * said + 12, (said, short[0], short[-1])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 40), st.integers(0, 300)), max_size=40), st.integers(1, 2_000))
def test_whatever_is_told_an_estimate_is_a_time_to_come(news: list[tuple[float, int]], total: int) -> None:
    clock = Clock()
    left = TimeLeft(clock)
    for wait, done in news:
        clock.now += wait
        left.tell(done, total)
        seconds = left.seconds
        assert seconds is None or (seconds > 0 and 0 < done < total)
        assert str(left) == "" or ":" in str(left)
