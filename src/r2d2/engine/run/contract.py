"""The contract of executors: whoever carries out tasks over work items, here or elsewhere.

Work items and answers are plain JSON. A task is a plain function over a bundle of items; it may not rely on where, in
which order and how often bundles are run. Each implementation has to pass tests/contracts/test_executor.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from r2d2.model.progress import Progress, silent

Work = TypeVar("Work")
Answer = TypeVar("Answer")

Pieces = Sequence[bytes | memoryview]  # bytes, one after another, in memory that may be used again afterwards
Block = tuple[int, int, int, Pieces]  # group, hash range, table (below 0: none), packed hashes or what else meets them
NOTE = -1  # the group of blocks that are not hashes but a note in JSON
Given = Mapping[str, object]


def _nothing(most_bytes: int) -> Iterable[Block]:
    return ()


class Packed(Protocol):
    """The bytes of a block that has arrived, wherever they lie."""

    @property
    def size(self) -> int:
        """How many they are."""

    def fill(self, start: int, into: Sequence[memoryview]) -> None:
        """Write them, from *start* on, into memory, one piece after another."""

    def all(self) -> bytes | memoryview:
        """All of them."""


@dataclass(frozen=True, slots=True)
class Task(Generic[Work, Answer]):
    """A function over a bundle of work items, and how heavy the items are."""

    kind: str  # of its work items
    run: Callable[[Sequence[Work]], Iterable[Answer]]
    weight: Callable[[Work], float]
    per_task: float  # the weight of a bundle that is worth a task
    given: Given | None = None  # plain JSON from which another process can make the task again, if one can


@dataclass(frozen=True, slots=True)
class Exchange(Generic[Work, Answer]):
    """Two functions: one packs work items into blocks, the other counts where blocks of one group and range meet."""

    kind: str
    pack: Callable[[Sequence[Work], int], Iterable[Block]]  # the number: most bytes of a block; 0 for any
    count: Callable[[int, Mapping[int, Sequence[Packed]]], bytes]  # of a group, the blocks by table
    weight: Callable[[Work], float]
    per_task: float
    given: Given | None = None
    sent: Callable[[int], Iterable[Block]] = _nothing  # blocks that meet those that are packed; most bytes as above


@dataclass(frozen=True, slots=True)
class Exchanged(Generic[Answer]):
    """The counts of all groups, in any order, and the notes of the tasks that packed."""

    counts: Sequence[bytes]
    notes: Sequence[Answer]


class NoAnswer(Exception):
    """There is no answer: the executor cannot do the task, or it did not come in time."""


class ReaderDied(NoAnswer):
    """The process that read was killed, as a damaged file can do. Another executor, or fewer items, may do."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@contextmanager
def last_try() -> Iterator[None]:
    """Within, a killed reader is told by its reason, for people: nobody tries again."""
    try:
        yield
    except ReaderDied as died:
        raise died.reason from died.reason.__cause__


class Executor(Protocol):
    """Carries out tasks, and tells now and then how many bytes and pieces are done. It can be used after a failure."""

    def run(self, task: Task[Work, Answer], items: Sequence[Work], progress: Progress = silent) -> list[Answer]:
        """All answers, in any order; none for no items."""

    def exchange(
        self, exchange: Exchange[Work, Answer], items: Sequence[Work], progress: Progress = silent
    ) -> Exchanged[Answer]:
        """The counts of every group in which blocks meet, and all notes."""
