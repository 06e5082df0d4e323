"""Steps that many tables take together. What fails for one is its own end, and nobody else's."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from r2d2.errors import EngineEnded, R2D2Error
from r2d2.safety.errors import JournalStopped, disk_error

# A full disk, or a process that may open nothing more, concerns every table alike.
_EVERYBODY_S = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM))


class Trial(Protocol):
    """One table on its way."""

    error: R2D2Error | None  # why it goes no further


One = TypeVar("One", bound=Trial)
Answer = TypeVar("Answer")


@contextmanager
def own_errors() -> Iterator[None]:
    """What the disk refuses of one table becomes that table's error; what concerns them all is raised as it is."""
    try:
        yield
    except OSError as error:
        if error.errno in _EVERYBODY_S:
            raise
        raise disk_error(error) from error


def each(trials: Iterable[One], step: Callable[[One], None]) -> None:
    """Take a step with each table that is still on its way."""
    for trial in trials:
        if trial.error is None:
            try:
                with own_errors():
                    step(trial)
            except JournalStopped:
                raise  # whether the record is on disk is not known: the next command finds out
            except R2D2Error as error:
                trial.error = error


def ask(
    trials: Iterable[One],
    question: Callable[[list[One]], Sequence[Answer | R2D2Error]],
    take: Callable[[One, Answer], None],
) -> None:
    """Ask one question about all that are still on their way, and take each answer by itself."""
    waiting = [trial for trial in trials if trial.error is None]
    if not waiting:
        return
    try:
        answers = question(waiting)
    except EngineEnded:
        raise  # it says nothing of any table, and whoever comes next would be told the same
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
