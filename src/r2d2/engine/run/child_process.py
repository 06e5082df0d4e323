"""Tasks in a fresh Python process on this machine, which is sooner than starting Spark where there is little to do.

A process of its own, because a damaged file may kill it. It is told in JSON which tasks to make again, from their
`kind` and from what they are `given`; the caller says which program that is.
"""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import IO, NamedTuple, TypedDict, TypeVar

from r2d2.engine.run.contract import (
    Answer,
    Block,
    Exchange,
    Exchanged,
    Given,
    NoAnswer,
    ReaderDied,
    Task,
    Work,
)
from r2d2.engine.run.inline import Inline
from r2d2.model.progress import News, Progress, silent

WAIT_SECONDS = 60.0

_Item = TypeVar("_Item")
_Said = TypeVar("_Said")


class Program(NamedTuple):
    """How a process is started."""

    command: Sequence[str]
    environment: Mapping[str, str]


class _Job(TypedDict):
    kind: str
    given: Given
    items: Sequence[object]
    sent: Sequence[tuple[int, int, int, str]]  # blocks of an exchange in base64


class _Reply(TypedDict):
    answers: list[object]  # of a task; the notes of an exchange
    counts: list[str]  # in base64
    done: tuple[int, int]  # pieces and bytes


class ChildProcess:
    """Runs each task in a process of its own, and waits for it *seconds* at most."""

    def __init__(self, program: Callable[[], Program], *, seconds: float = WAIT_SECONDS) -> None:
        self._program = program
        self._seconds = seconds

    def run(self, task: Task[Work, Answer], items: Sequence[Work], progress: Progress = silent) -> list[Answer]:
        """The answers of the process; *progress* is told at the end."""
        return self._ask(task, items, progress)[1] if items else []

    def exchange(
        self, exchange: Exchange[Work, Answer], items: Sequence[Work], progress: Progress = silent
    ) -> Exchanged[Answer]:
        """The counts and notes of the process."""
        return Exchanged(*self._ask(exchange, items, progress, exchange.sent(0))) if items else Exchanged((), ())

    def _ask(
        self,
        task: Task[Work, Answer] | Exchange[Work, Answer],
        items: Sequence[Work],
        progress: Progress,
        sent: Iterable[Block] = (),
    ) -> tuple[list[bytes], list[Answer]]:
        if task.given is None:
            raise NoAnswer(f"a child process cannot {task.kind}")
        blocks = [(group, part, table, b64encode(b"".join(block)).decode()) for group, part, table, block in sent]
        reply = self._reply({"kind": task.kind, "given": task.given, "items": items, "sent": blocks})
        pieces, size = reply["done"]
        progress(News(done=size, unit="bytes", pieces=pieces))
        answers: list[Answer] = reply["answers"]  # type: ignore[assignment]
        return [b64decode(counts) for counts in reply["counts"]], answers

    def _reply(self, job: _Job) -> _Reply:
        program = self._program()
        try:
            done = subprocess.run(
                program.command,
                input=json.dumps(job),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                timeout=self._seconds,
                env={**program.environment, "POLARS_MAX_THREADS": "1"},
                check=True,
            )
            reply: _Reply = json.loads(done.stdout)
            return reply
        except subprocess.CalledProcessError as error:
            if error.returncode < 0:  # by a signal
                raise ReaderDied(error) from error
            raise NoAnswer(str(error)) from error
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise NoAnswer(str(error)) from error


def serve(
    tasks: Mapping[str, Callable[[Given], Task[_Item, _Said] | Exchange[_Item, _Said]]],
    asked: IO[str],
    answered: IO[str],
) -> None:
    """Do one job in the process that was started for it; *tasks* makes them again, by kind."""
    job = json.load(asked)
    task, done = tasks[job["kind"]](job["given"]), News()

    def tell(now: News) -> None:
        nonlocal done
        done = now

    if isinstance(task, Task):
        counts: Sequence[bytes] = ()
        answers: Sequence[_Said] = Inline().run(task, job["items"], tell)
    else:
        sent = [(group, part, table, [b64decode(block)]) for group, part, table, block in job["sent"]]
        exchanged = Inline().exchange(replace(task, sent=lambda most_bytes: sent), job["items"], tell)
        counts, answers = exchanged.counts, exchanged.notes
    texts = [b64encode(count).decode() for count in counts]
    json.dump({"answers": answers, "counts": texts, "done": (done.pieces, done.done)}, answered)
