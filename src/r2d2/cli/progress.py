"""Progress on stderr: a moving line on a terminal, one plain line per step elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from r2d2.cli.output import console
from r2d2.pipeline import STEPS, Progress

_SAYS = {
    "discover": "looking for tables",
    "profile": "reading their metadata",
    "build_schema_graph": "comparing schemas",
    "prune_by_minmax": "comparing ranges and nulls",
    "prune_by_content": "looking for sampled rows",
    "verify_containment": "comparing every row of what is left",
}


@contextmanager
def shown(*, quiet: bool) -> Iterator[Progress]:
    """A progress to hand to the pipeline."""
    if quiet:
        yield lambda step, done, total: None
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _plain


@contextmanager
def counted(what: str, *, quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """A progress for work that counts: told how many are done, of how many, and the name of the last."""
    if quiet or not sys.stderr.isatty():
        if not quiet:
            print(f"r2d2: {what}", file=sys.stderr, flush=True)
        yield lambda done, total, name: None
        return
    with _bar() as show:
        yield lambda done, total, name: show(what, done, total)


def _plain(step: str, done: int, total: int | None) -> None:
    if total is None and done == 0:
        number = [s.name for s in STEPS].index(step) + 1
        print(f"r2d2: step {number}, {_SAYS.get(step, step)}", file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        tasks: dict[str, object] = {}

        def show(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(_SAYS.get(step, step), total=total)
            bar.update(tasks[step], completed=done, total=total)  # type: ignore[arg-type]

        yield show
