"""Progress on stderr: a moving line on a terminal, plain lines now and then elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from r2d2.cli.output import console
from r2d2.cli.time_left import STALLED_SECONDS, TimeLeft
from r2d2.model.progress import News, Progress, silent
from r2d2.pipeline import SCAN, words_of
from r2d2.report.words import bytes_for_people

SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def shown(*, quiet: bool) -> Iterator[Progress]:
    """Draw the news of a command."""
    if quiet:
        yield silent
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        with _pulsing(PlainLines()) as lines:
            yield lines


def amount(done: int, total: int | None, unit: str = "") -> str:
    """How much is done, in words.

    >>> amount(3, 7), amount(1_200_000, 4_500_000_000, "bytes"), amount(1200, None, "files")
    ('3 of 7', '1.2 MB of 4.5 GB', '1,200 files')
    """
    if unit == "bytes":
        shown_done, shown_total, unit = bytes_for_people(done), bytes_for_people(total or 0), ""
    else:
        shown_done, shown_total = f"{done:,}", f"{total or 0:,}"
    return " ".join(filter(None, (shown_done, "" if total is None else f"of {shown_total}", unit)))


def _figures(news: News) -> str:
    return ", ".join(filter(None, (amount(news.done, news.total, news.unit), news.detail)))


def _doing(step: str) -> str:
    """The words for a running step; any other stage is given in words already."""
    known = words_of(step)
    return known.doing if known else step


class PlainLines:
    """One line for each step, and in a long one another now and then, also if nothing advances."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = TimeLeft(clock)
        self._lock = threading.Lock()  # steps and the pulse come from different threads
        self._step = ""
        self._said = 0.0  # when the last line was printed
        self._told = 0.0  # when the figures changed
        self._figures = ""  # how far the running job is; empty if none runs that counts

    def __call__(self, news: News) -> None:
        """Note how far a step is, and print a line if it is time."""
        with self._lock:
            now = self._clock()
            if news.step != self._step:
                self._say(news.step, _doing(news.step))
                self._step, self._said = news.step, now
            figures = _figures(news) if news.unit and news.total else ""
            if figures != self._figures:
                self._figures, self._told = figures, now
            self._left.tell(news.done, news.total)
            self._say_figures(now)

    def pulse(self) -> None:
        """Print a line if it is time, though nobody has told anything."""
        with self._lock:
            self._say_figures(self._clock())

    def _say_figures(self, now: float) -> None:
        if not self._figures or now - self._said < SECONDS_BETWEEN_LINES:
            return
        self._say(self._step, ", ".join(filter(None, (self._figures, self._outlook(now)))))
        self._said = now

    def _outlook(self, now: float) -> str:
        """The time left, or for how long nobody has told anything new."""
        if now - self._told > STALLED_SECONDS:
            return f"no news for {now - self._told:,.0f} s"
        seconds = self._left.seconds
        return f"about {seconds:,.0f} s left" if seconds is not None and seconds >= 1 else ""

    def _say(self, step: str, what: str) -> None:
        number = next((f"step {place}, " for place, one in enumerate(SCAN, 1) if one.name == step), "")
        print(f"r2d2: {number}{what}", file=sys.stderr, flush=True)


@contextmanager
def _pulsing(lines: PlainLines) -> Iterator[PlainLines]:
    """Let lines be printed now and then while whoever should tell something is silent."""
    ended = threading.Event()

    def pulse() -> None:
        while not ended.wait(SECONDS_BETWEEN_LINES / 6):
            lines.pulse()

    thread = threading.Thread(target=pulse, daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        ended.set()
        thread.join()


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=10),
        TimeElapsedColumn(Column(no_wrap=True, min_width=7)),
        TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True, min_width=7)),  # as it is when drawn
        TextColumn("{task.fields[amount]}", markup=False),  # the last: what a narrow terminal cuts off
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        tasks: dict[str, tuple[object, int, TimeLeft]] = {}  # by step, its bar and how far it was

        def show(news: News) -> None:
            task, before, left = tasks.get(news.step, (None, 0, TimeLeft()))
            left.tell(news.done, news.total)
            if task is None:
                task = bar.add_task(_doing(news.step), total=news.total, amount=_figures(news), left=left)
            elif news.done < before:  # another job of the same step: its speed is another
                bar.reset(task, total=news.total, amount=_figures(news), left=left)  # type: ignore[arg-type]
            tasks[news.step] = task, news.done, left
            bar.update(task, completed=news.done, total=news.total, amount=_figures(news))  # type: ignore[arg-type]

        yield show
