"""Tasks in this process, one bundle for all items: for tests, and inside a child process."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

from r2d2.engine.run.contract import NOTE, Answer, Exchange, Exchanged, Packed, Report, Task, Work
from r2d2.model.progress import Done
from r2d2.model.ticks import listening


class Inline:
    """Runs tasks here. Items and answers go through JSON, as they do on the way to another process."""

    def run(self, task: Task[Work, Answer], items: Sequence[Work], report: Report | None = None) -> list[Answer]:
        """The answers of one call."""
        if not items:
            return []
        with _telling(report):
            answers: list[Answer] = json.loads(json.dumps(list(task.run(_travelled(items)))))
        return answers

    def exchange(
        self, exchange: Exchange[Work, Answer], items: Sequence[Work], report: Report | None = None
    ) -> Exchanged[Answer]:
        """Count group by group; all hashes are held at a time."""
        groups: defaultdict[tuple[int, int], defaultdict[int, list[Packed]]] = defaultdict(lambda: defaultdict(list))
        notes: list[Answer] = []
        with _telling(report):
            for group, part, table, block in chain(exchange.sent, exchange.pack(_travelled(items)) if items else ()):
                if group == NOTE:
                    notes.append(json.loads(block))
                else:
                    groups[group, part][table].append(block)
        return Exchanged([exchange.count(group, blocks) for (group, _), blocks in groups.items()], notes)


def _travelled(items: Sequence[Work]) -> Sequence[Work]:
    there: Sequence[Work] = json.loads(json.dumps(items))
    return there


@contextmanager
def _telling(report: Report | None) -> Iterator[None]:
    """Tell *report* of every tick."""
    if report is None:
        yield
        return
    done = Done(0, 0)

    def add(size: int) -> None:
        nonlocal done
        done = Done(done.pieces + 1, done.bytes + size)
        report(done)

    with listening(add):
        yield
