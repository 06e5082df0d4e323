"""Whatever an item does to the process that handles it, the others are done and the caller lives (HAZARDS 25)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r2d2.errors import TableError
from r2d2.lake import guarded
from r2d2.lake.guarded import Outcome, guarded_map

pytestmark = pytest.mark.slow

DEEDS = ("fine", "refuse", "abort", "kill", "exit", "hang", "bloat", "bug")


def do(deed: str) -> str:
    """What a file may do to its reader."""
    if deed == "refuse":
        raise TableError("it is refused", hint="another one")
    if deed == "abort":
        os.abort()
    if deed == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if deed == "exit":
        os._exit(0)
    if deed == "hang":
        time.sleep(60)
    if deed == "bloat":
        return str(len(bytearray(64 << 30)))
    if deed == "bug":
        raise AttributeError("a bug of ours")
    return f"done {deed}"


def expected_reason(deed: str) -> str:
    return {
        "refuse": "it is refused",
        "abort": "reading its metadata killed the reader (exit code -6)",
        "kill": "reading its metadata killed the reader (exit code -9)",
        "exit": "reading its metadata killed the reader (exit code 0)",
        "hang": "reading its metadata took more than 1 seconds",
        "bloat": "its metadata asks for more memory than a reader may have",
        "bug": "reading its metadata killed the reader (exit code 1)",
    }.get(deed, "")


def children() -> set[str]:
    """The processes that this one has started and not yet buried."""
    mine = Path(f"/proc/{os.getpid()}/task")
    return {pid for task in mine.iterdir() for pid in (task / "children").read_text().split()}


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def run(deeds: list[str]) -> list[Outcome[str]]:
    return list(guarded_map(do, deeds, timeout_seconds=1 if "hang" in deeds else 30))


def assert_each_has_its_own_outcome(deeds: list[str]) -> None:
    outcomes = run(deeds)
    assert [outcome.item for outcome in outcomes] == deeds
    assert [outcome.because for outcome in outcomes] == [expected_reason(deed) for deed in deeds]
    for outcome in outcomes:
        assert bool(outcome.result) == (not outcome.because)
        assert outcome.hint == ("another one" if outcome.item == "refuse" else "")


@settings(max_examples=20)
@given(st.lists(st.sampled_from([*DEEDS[:5], "bug", "fine", "fine"]), max_size=8))
def test_each_item_has_its_own_outcome_in_order(deeds: list[str]) -> None:
    assert_each_has_its_own_outcome(deeds)


@settings(max_examples=3)
@given(st.lists(st.sampled_from(["hang", "bloat", "fine"]), min_size=1, max_size=3))
def test_each_item_has_its_own_outcome_even_if_some_hang_or_bloat(deeds: list[str]) -> None:
    assert_each_has_its_own_outcome(deeds)


@pytest.mark.parametrize("deed", DEEDS)
def test_an_item_between_others_is_the_only_one_to_fail(deed: str) -> None:
    assert_each_has_its_own_outcome(["fine", deed, "fine"])


def test_no_items_are_no_work() -> None:
    assert run([]) == []


def test_many_items_share_one_process_as_long_as_it_lives() -> None:
    numbers = list(range(20_000))
    outcomes = list(guarded_map(lambda number: f"{number} {os.getpid()}", numbers, timeout_seconds=30))
    assert [int(outcome.result.split()[0]) for outcome in outcomes] == numbers
    readers = {outcome.result.split()[1] for outcome in outcomes}
    assert len(readers) == 1 and readers != {str(os.getpid())}


def test_fifty_deaths_in_a_row_are_fifty_outcomes() -> None:
    outcomes = run(["kill"] * 50)
    assert {outcome.because for outcome in outcomes} == {expected_reason("kill")} and len(outcomes) == 50


def test_what_an_item_eats_is_bounded_by_what_was_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "_MORE_MEMORY_BYTES", 64 << 20)
    outcomes = list(
        guarded_map(lambda size: str(len(bytearray(size))), [1 << 20, 256 << 20, 1 << 20], timeout_seconds=9)
    )
    assert [outcome.because for outcome in outcomes] == ["", expected_reason("bloat"), ""]


def test_odd_and_long_text_comes_through() -> None:
    texts = ["", "ü \0 \n\t", "\udcff\ud800", "x" * 5_000_000]
    assert [outcome.result for outcome in guarded_map(lambda text: text, texts, timeout_seconds=9)] == texts


def test_odd_reasons_come_through() -> None:
    def refuse(text: str) -> str:
        raise TableError(text, hint=text)

    texts = ["ü\n", "\udcff"]
    assert [(o.because, o.hint) for o in guarded_map(refuse, texts, timeout_seconds=9)] == [(t, t) for t in texts]


def test_a_death_in_the_middle_of_an_answer_is_that_items_outcome() -> None:
    def answer(item: str) -> str:
        if item == "half":  # more than the pipe holds, and death while it is full
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
            return "x" * 10_000_000
        return item

    outcomes = []
    for outcome in guarded_map(answer, ["before", "half", "after"], timeout_seconds=9):
        outcomes.append(outcome)
        time.sleep(0.5 if outcome.item == "before" else 0)
    assert [(o.item, o.result, o.because) for o in outcomes] == [
        ("before", "before", ""),
        ("half", "", expected_reason("kill")),
        ("after", "after", ""),
    ]


def test_what_a_dying_library_prints_stays_away_and_a_traceback_of_ours_does_not(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def speak(deed: str) -> str:
        os.write(2, b"terminate called after throwing an instance of ...")
        return do(deed)

    list(guarded_map(speak, ["abort", "fine"], timeout_seconds=30))
    assert capfd.readouterr().err == ""
    list(guarded_map(speak, ["bug"], timeout_seconds=30))
    said = capfd.readouterr().err
    assert "AttributeError: a bug of ours" in said and "terminate" not in said


def test_leaving_early_leaves_nothing_running() -> None:
    outcomes = guarded_map(do, ["fine", "hang", "fine"], timeout_seconds=60)
    assert next(iter(outcomes)).result == "done fine"
    outcomes.close()  # type: ignore[attr-defined]


def test_a_slow_consumer_is_not_taken_for_a_slow_item() -> None:
    outcomes = []
    for outcome in guarded_map(do, ["fine"] * 2, timeout_seconds=0.5):
        time.sleep(0.7)
        outcomes.append(outcome.because)
    assert outcomes == ["", ""]
