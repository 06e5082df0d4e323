"""Progress off a terminal: a line for each step, and in a long one another now and then, with the time left."""

from __future__ import annotations

import pytest

from r2d2.cli import progress
from r2d2.cli.progress import PlainLines


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_long_step_says_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    show("verify_containment", 0, None)
    show("verify_containment", 0, 10**9, unit="bytes", detail="0 of 8 files, 0 of 9 edges decided")
    for second in range(1, 61):
        clock.now = float(second)
        done = second * 10**7
        show("verify_containment", done, 10**9, unit="bytes", detail=f"{second // 10} of 8 files, 0 of 9 edges decided")
    assert capsys.readouterr().err.splitlines() == [
        "r2d2: step 6, comparing every row",
        "r2d2: step 6, 300 MB of 1.0 GB, 3 of 8 files, 0 of 9 edges decided, about 70 s left",
        "r2d2: step 6, 600 MB of 1.0 GB, 6 of 8 files, 0 of 9 edges decided, about 40 s left",
    ]


def test_the_time_left_is_that_of_the_job_which_runs(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    show("prune_by_content", 0, 100, unit="bytes")
    clock.now = 20.0
    show("prune_by_content", 100, 100, unit="bytes")
    show("prune_by_content", 0, 400, unit="bytes")  # the next job of the step
    clock.now = 30.0
    show("prune_by_content", 100, 400, unit="bytes")
    assert capsys.readouterr().err.splitlines()[-1] == "r2d2: step 5, 100 B of 400 B, about 30 s left"


def test_on_a_terminal_one_line_tells_it_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    with progress.shown(quiet=False) as show:
        show("verify_containment", 0, None)
        show("verify_containment", 0, 1000, unit="bytes", detail="0 of 2 files")
        show("verify_containment", 500, 1000, unit="bytes", detail="1 of 2 files")
        show("verify_containment", 100, 300, unit="bytes", detail="1 of 1 files, 5 of 6 edges decided")
    err = capsys.readouterr().err
    assert "100 B of 300 B, 1 of 1 files, 5 of 6 edges decided" in err
