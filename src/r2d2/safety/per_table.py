"""Run steps on many tables together. A failure ends one table's way; the others go on."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from r2d2.errors import EngineEnded, R2D2Error
from r2d2.safety.errors import JournalStopped, disk_error

# A full disk, or a process out of file descriptors or memory, affects every table.
_EVERYBODY_S = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM))


class Trial(Protocol):
    """A table that takes steps together with others."""

    error: R2D2Error | None  # the reason that it stopped; None while it goes on


One = TypeVar("One", bound=Trial)
Answer = TypeVar("Answer")


@contextmanager
def own_errors() -> Iterator[None]:
    """Turn an OSError into this table's DiskError; raise an error that affects every table as it is."""
    try:
        yield
    except OSError as error:
        if error.errno in _EVERYBODY_S:
            raise
        raise disk_error(error) from error


def each(trials: Iterable[One], step: Callable[[One], None]) -> None:
    """Run a step on each table without an error; keep an error with its table."""
    for trial in trials:
        if trial.error is None:
            try:
                with own_errors():
                    step(trial)
            except JournalStopped:
                raise  # the record may or may not be on disk: the next command finds out
            except R2D2Error as error:
                trial.error = error


def ask(
    trials: Iterable[One],
    question: Callable[[list[One]], Sequence[Answer | R2D2Error]],
    take: Callable[[One, Answer], None],
) -> None:
    """Ask one question about all tables without an error, and handle each answer by itself."""
    waiting = [trial for trial in trials if trial.error is None]
    if not waiting:
        return
    try:
        answers = question(waiting)
    except EngineEnded:
        raise  # the engine is gone: an error of no single table
    except R2D2Error as error:
        for trial in waiting:
            trial.error = error
        return
    answered = dict(zip(map(id, waiting), answers, strict=True))

    def step(trial: One) -> None:
        answer = answered[id(trial)]
        if isinstance(answer, R2D2Error):
            raise answer
        take(trial, answer)

    each(waiting, step)
