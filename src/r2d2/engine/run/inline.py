"""Tasks in this process, one bundle for all items: for tests, and inside a child process."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from r2d2.engine.run.contract import NOTE, Answer, Exchange, Exchanged, Packed, Task, Work
from r2d2.engine.run.exchange import InMemory
from r2d2.model.progress import Progress, silent, summing


class Inline:
    """Runs tasks here. Items and answers go through JSON, as they do on the way to another process."""

    def run(self, task: Task[Work, Answer], items: Sequence[Work], progress: Progress = silent) -> list[Answer]:
        """The answers of one call."""
        if not items:
            return []
        with summing(progress):
            answers: list[Answer] = json.loads(json.dumps(list(task.run(_travelled(items)))))
        return answers

    def exchange(
        self, exchange: Exchange[Work, Answer], items: Sequence[Work], progress: Progress = silent
    ) -> Exchanged[Answer]:
        """Count group by group; all hashes are held at a time."""
        groups: defaultdict[tuple[int, int], defaultdict[int, list[Packed]]] = defaultdict(lambda: defaultdict(list))
        notes: list[Answer] = []
        with summing(progress):
            for group, part, table, pieces in chain(
                exchange.sent(0), exchange.pack(_travelled(items), 0) if items else ()
            ):
                block = b"".join(pieces)
                if group == NOTE:
                    notes.append(json.loads(block))
                else:
                    groups[group, part][table].append(InMemory(block))
        return Exchanged([exchange.count(group, blocks) for (group, _), blocks in groups.items()], notes)


def _travelled(items: Sequence[Work]) -> Sequence[Work]:
    there: Sequence[Work] = json.loads(json.dumps(items))
    return there
