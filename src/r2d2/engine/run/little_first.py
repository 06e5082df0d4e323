"""The executor that does little work at hand, and leaves the rest to another that takes longer to start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from r2d2.engine.run.contract import Answer, Exchange, Exchanged, Executor, NoAnswer, Task, Work
from r2d2.model.progress import Progress, silent


class LittleFirst:
    """Asks *at_hand* if the work is little; *otherwise* if it is much, or if there was no answer."""

    def __init__(self, at_hand: Executor, otherwise: Executor, is_little: Callable[[Sequence[object]], bool]) -> None:
        self._at_hand = at_hand
        self._otherwise = otherwise
        self._is_little = is_little

    def run(self, task: Task[Work, Answer], items: Sequence[Work], progress: Progress = silent) -> list[Answer]:
        """All answers, of the one or of the other."""
        if self._is_little(items):
            with suppress(NoAnswer):
                return self._at_hand.run(task, items, progress)
        return self._otherwise.run(task, items, progress)

    def exchange(
        self, exchange: Exchange[Work, Answer], items: Sequence[Work], progress: Progress = silent
    ) -> Exchanged[Answer]:
        """All counts and notes, of the one or of the other."""
        if self._is_little(items):
            with suppress(NoAnswer):
                return self._at_hand.exchange(exchange, items, progress)
        return self._otherwise.exchange(exchange, items, progress)
