"""Progress of long work: a function is told the news, the CLI draws them, tests collect them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class News:
    """How far some work is."""

    step: str = ""  # name of a step, or what is being done in words; empty if the caller knows it
    done: int = 0
    total: int | None = None  # None: not known
    unit: str = ""  # of done and total; bytes are those of whole slices, whichever columns are read
    detail: str = ""  # more, in words
    pieces: int = 0  # work items that are done; a part of a big file counts as one


Progress = Callable[[News], None]


def silent(news: News) -> None:
    """Progress callback that does nothing."""


def through(progress: Progress, change: Callable[[News], News]) -> Progress:
    """Progress callback that hands on changed news; silent if *progress* is, so that nobody listens in vain.

    >>> through(print, lambda news: News("profile", news.pieces, 9, "files"))(News(done=80, unit="bytes", pieces=2))
    News(step='profile', done=2, total=9, unit='files', detail='', pieces=0)
    >>> through(silent, lambda news: news) is silent
    True
    """
    return silent if progress is silent else lambda news: progress(change(news))


def named(progress: Progress, step: str) -> Progress:
    """Progress callback that hands on news as those of a step."""
    return through(progress, lambda news: replace(news, step=step))


def _unheard(size: int) -> None:
    """Ignore a finished piece."""


_listener: ContextVar[Callable[[int], None]] = ContextVar("listener", default=_unheard)


def tick(size: int) -> None:
    """Report one more finished piece of so many bytes from deep inside a task."""
    _listener.get()(size)


@contextmanager
def summing(progress: Progress) -> Iterator[None]:
    """Tell *progress* the sum of what is ticked inside the block."""
    pieces = done = 0

    def add(size: int) -> None:
        nonlocal pieces, done
        pieces, done = pieces + 1, done + size
        progress(News(done=done, unit="bytes", pieces=pieces))

    _listener.set(add)
    try:
        yield
    finally:
        _listener.set(_unheard)
