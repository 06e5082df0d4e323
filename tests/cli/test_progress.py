"""Progress off a terminal: a line for each step, and in a long one another now and then, with the time left."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from r2d2.cli import progress
from r2d2.cli.progress import PlainLines
from r2d2.model.progress import News
from tests.cli.conftest import Command


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_long_step_says_now_and_then_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    show(News("verify_containment", 0, None))
    show(News("verify_containment", 0, 10**9, unit="bytes", detail="0 of 8 files, 0 of 9 edges decided"))
    for second in range(1, 61):
        clock.now = float(second)
        detail = f"{second // 10} of 8 files, 0 of 9 edges decided"
        show(News("verify_containment", second * 10**7, 10**9, unit="bytes", detail=detail))
    assert capsys.readouterr().err.splitlines() == [
        "r2d2: step 6, comparing every row",
        "r2d2: step 6, 300 MB of 1.0 GB, 3 of 8 files, 0 of 9 edges decided, about 70 s left",
        "r2d2: step 6, 600 MB of 1.0 GB, 6 of 8 files, 0 of 9 edges decided, about 40 s left",
    ]


def test_the_time_left_is_that_of_the_job_which_runs(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    show(News("prune_by_content", 0, 100, unit="bytes"))
    clock.now = 20.0
    show(News("prune_by_content", 100, 100, unit="bytes"))
    show(News("prune_by_content", 0, 400, unit="bytes"))  # the next job of the step
    clock.now = 30.0
    show(News("prune_by_content", 100, 400, unit="bytes"))
    assert capsys.readouterr().err.splitlines()[-1] == "r2d2: step 5, 100 B of 400 B, about 30 s left"


def estimates(err: str) -> list[float]:
    return [float(seconds) for seconds in re.findall(r"about ([0-9]+) s left", err.replace(",", ""))]


def test_the_last_tasks_do_not_end_in_ten_seconds_for_minutes(capsys: pytest.CaptureFixture[str]) -> None:
    """Nine tenths of a percent are left after a quarter of an hour, and come in ever smaller pieces."""
    clock = Clock()
    show = PlainLines(clock)
    show(News("verify_containment", 0, 10**9, unit="bytes"))
    left = 0.01
    for second in range(1, 1_801):
        clock.now = float(second)
        left = left if second <= 900 else left * 0.99
        done = 0.99 * second / 900 if second <= 900 else 1 - left
        show(News("verify_containment", int(10**9 * done), 10**9, unit="bytes"))
    lines = capsys.readouterr().err.splitlines()
    promised = [estimates(line) for line in lines]
    short = [line for line, said in zip(lines, promised, strict=True) if said and said[0] < 60]
    assert len(lines) > 50 and sum(map(bool, promised)) > 20, "while the speed is steady, the time left is told"
    assert len(short) <= 3, short


def test_while_nothing_is_told_no_time_left_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    show(News("verify_containment", 0, 1000, unit="bytes", detail="0 of 8 files"))
    for second in range(1, 300):
        clock.now = float(second)
        if second <= 31:
            show(News("verify_containment", second * 30, 1000, unit="bytes", detail="7 of 8 files"))
        show.pulse()
    assert capsys.readouterr().err.splitlines() == [
        "r2d2: step 6, comparing every row",
        "r2d2: step 6, 900 B of 1.0 kB, 7 of 8 files, about 3 s left",
        *(f"r2d2: step 6, 930 B of 1.0 kB, 7 of 8 files, no news for {n} s" for n in range(29, 269, 30)),
    ]


def test_a_job_of_unknown_size_has_no_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    for second in range(200):
        clock.now = float(second)
        show(News("discover", second, None, unit="tables"))
        show.pulse()
    assert capsys.readouterr().err.splitlines() == ["r2d2: step 1, looking for tables"]


def test_a_step_that_does_not_count_says_nothing_of_the_one_before(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    show(News("profile", 5, 9, unit="files"))
    clock.now = 10.0
    show(News("build_schema_graph", 0, None))
    clock.now = 100.0
    show.pulse()
    assert capsys.readouterr().err.splitlines() == [
        "r2d2: step 2, reading their metadata",
        "r2d2: step 3, comparing schemas",
    ]


def test_work_outside_a_scan_has_a_line_without_a_number_for_each_stage(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    show = PlainLines(clock)
    for stage in ("checking every byte", "comparing values"):
        for done in range(3):
            clock.now += 100.0
            show(News(stage, done, 3))
            show.pulse()
    assert capsys.readouterr().err.splitlines() == ["r2d2: checking every byte", "r2d2: comparing values"]


@pytest.mark.slow
def test_lines_go_on_by_themselves_while_a_job_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.05)
    monkeypatch.setattr(progress, "STALLED_SECONDS", 0.1)
    with progress.shown(quiet=False) as show:
        show(News("verify_containment", 1, 1000, unit="bytes"))
        time.sleep(1.0)
    err = capsys.readouterr().err
    assert err.count("1 B of 1.0 kB") > 2 and "no news for" in err
    time.sleep(0.2)
    assert capsys.readouterr().err == "", "and end with the work"


def test_on_a_terminal_one_line_tells_it_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    with progress.shown(quiet=False) as show:
        show(News("verify_containment", 0, None))
        show(News("verify_containment", 0, 1000, unit="bytes", detail="0 of 2 files"))
        show(News("verify_containment", 500, 1000, unit="bytes", detail="1 of 2 files"))
        show(News("verify_containment", 100, 300, unit="bytes", detail="1 of 1 files, 5 of 6 edges decided"))
    err = capsys.readouterr().err
    assert "100 B of 300 B, 1 of 1 files, 5 of 6 edges decided" in err


def test_work_that_cannot_begin_announces_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), progress.shown(quiet=False):
        raise ValueError("no")
    assert capsys.readouterr().err == ""
    with progress.shown(quiet=False) as show:
        for done in range(1, 4):
            show(News("making tables", done, 3))
    assert capsys.readouterr().err == "r2d2: making tables\n"


def test_generate_says_what_is_wrong_and_nothing_before(tmp_path: Path, r2d2: Command) -> None:
    (tmp_path / "lineage.json").write_text("{}")
    done = r2d2("generate", tmp_path)
    assert done.code == 2 and done.err.startswith("r2d2: ") and "holds a generated lake already" in done.err
    assert "making" not in done.err
