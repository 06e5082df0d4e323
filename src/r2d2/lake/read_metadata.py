"""The metadata of every file of every table, read by tasks that someone else runs: here, Spark.

Small tables are read and merged whole by one task; a table of many files is cut into pieces that the driver
merges again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from r2d2.errors import TableError
from r2d2.lake.guarded import guarded_map
from r2d2.lake.merge import FilesProfile, from_json, merge_files, require_one_table, to_json
from r2d2.lake.source import source_named
from r2d2.model.table import Problem, Table
from r2d2.ticks import tick

FILES_PER_PIECE = 256
FILES_PER_TASK = 512  # a task costs a tenth of a second, a footer about a millisecond

Piece = tuple[int, str, Sequence[str]]  # the table's number, its source, some of its files


class RunTasks(Protocol):
    """Whoever runs tasks: packs the pieces into bundles and calls *task* on each, somewhere."""

    def __call__(
        self,
        pieces: Sequence[Any],
        *,
        task: Callable[[Any], Iterable[str]],
        weight: Callable[[Any], float],
        per_task: float,
    ) -> list[str]:
        """All answers, in any order."""


def read_metadata(
    tables: Sequence[Table], *, run_tasks: RunTasks, timeout_seconds: float
) -> tuple[dict[str, FilesProfile], list[Problem]]:
    """The merged metadata of each table, and the tables whose metadata cannot be had (HAZARDS 25, 26)."""
    answers = run_tasks(
        [piece for number, table in enumerate(tables) for piece in _pieces(number, table)],
        task=partial(read_bundle, timeout_seconds=timeout_seconds),
        weight=lambda piece: len(piece[2]),
        per_task=FILES_PER_TASK,
    )
    return _gather(tables, answers)


def _pieces(number: int, table: Table) -> Iterator[Piece]:
    paths = [file.path for file in table.files]
    for first in range(0, len(paths), FILES_PER_PIECE):
        yield number, table.source, paths[first : first + FILES_PER_PIECE]


def read_bundle(bundle: Sequence[Piece], *, timeout_seconds: float) -> Iterator[str]:
    """What one task does: read every file's metadata in a child that may die, merge by table, answer in JSON."""
    jobs = [(number, source, path) for number, source, paths in bundle for path in paths]
    found: defaultdict[int, list[FilesProfile]] = defaultdict(list)
    failed: dict[int, tuple[str, str]] = {}
    for outcome in guarded_map(_read, jobs, timeout_seconds=timeout_seconds):
        tick(0)
        number = outcome.item[0]
        if outcome.because:
            failed.setdefault(number, (outcome.because, outcome.hint))
        else:
            found[number].append(from_json(outcome.result))
    for number, merged in _merged(found, failed):
        yield json.dumps([number, to_json(merged)])
    for number, failure in failed.items():
        yield json.dumps([number, None, *failure])


def _read(job: tuple[int, str, str]) -> str:
    _, source, path = job
    return to_json(source_named(source).profile_file(path))


def _merged(
    found: Mapping[int, Sequence[FilesProfile]], failed: dict[int, tuple[str, str]], *, whole: bool = False
) -> Iterator[tuple[int, FilesProfile]]:
    """One profile per table; a table whose files contradict one another joins the failed. *whole*: all are there."""
    for number, profiles in found.items():
        if number not in failed:
            try:
                merged = merge_files(profiles)
                yield number, require_one_table(merged) if whole else merged
            except TableError as error:
                failed[number] = str(error.args[0]), error.hint


def _gather(tables: Sequence[Table], answers: Sequence[str]) -> tuple[dict[str, FilesProfile], list[Problem]]:
    found: defaultdict[int, list[FilesProfile]] = defaultdict(list)
    failed: dict[int, tuple[str, str]] = {}
    for answer in answers:
        number, profile, *failure = json.loads(answer)
        if failure:
            failed.setdefault(number, (failure[0], failure[1]))
        else:
            found[number].append(from_json(profile))
    metadata = {tables[number].name: merged for number, merged in _merged(found, failed, whole=True)}
    problems = [Problem(tables[n].name, because, hint=hint) for n, (because, hint) in sorted(failed.items())]
    return metadata, problems
