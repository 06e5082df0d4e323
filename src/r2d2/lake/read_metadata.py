"""The metadata of every file of every table, read by tasks that someone else runs: here, Spark.

Small tables are read and merged whole by one task; a table of many files is cut into pieces that the driver
merges again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from r2d2.formats.contract import source_named
from r2d2.formats.merge import FilesProfile, Misfit, from_json, merge_files, require_one_table, to_json
from r2d2.lake.guarded import guarded_map
from r2d2.model.table import Problem, Table
from r2d2.model.ticks import tick

FILES_PER_PIECE = 256
FILES_PER_TASK = 512  # a task costs a tenth of a second, a footer about a millisecond

Piece = tuple[int, str, Sequence[str]]  # the table's number, its source, some of its files
Failure = tuple[str, str]  # why, and a hint


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


@dataclass(slots=True)
class Metadata:
    """The merged metadata of tables by name, and the tables whose metadata cannot be had (HAZARDS 25, 26)."""

    merged: dict[str, FilesProfile] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)  # locations: the files are named like parts and do not fit
    of_files: dict[str, FilesProfile] = field(default_factory=dict)  # by path, of files in folders apart, where known


def read_metadata(tables: Sequence[Table], *, run_tasks: RunTasks, timeout_seconds: float) -> Metadata:
    """Read the metadata of all files and merge it by table."""
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
        yield number, table.format, paths[first : first + FILES_PER_PIECE]


def read_bundle(bundle: Sequence[Piece], *, timeout_seconds: float) -> Iterator[str]:
    """Read every file's metadata in a child process that may die, merge it by table, and answer in JSON.

    An answer is the table's number, what it is about ("profile" or "failure"), and that. Files that do not fit one
    another are answered one by one: they may be tables of their own, and need not be read again then.
    """
    jobs = [(number, source, path) for number, source, paths in bundle for path in paths]
    found: defaultdict[int, list[FilesProfile]] = defaultdict(list)
    failed: dict[int, Failure] = {}
    for outcome in guarded_map(_read, jobs, timeout_seconds=timeout_seconds):
        tick(0)
        number = outcome.item[0]
        if outcome.because:
            failed.setdefault(number, (outcome.because, outcome.hint))
        else:
            found[number].append(from_json(outcome.result))
    for number, failure in failed.items():
        yield json.dumps([number, "failure", failure])
    for number, profiles in found.items():
        for profile in _merged_if_they_fit(profiles):
            yield json.dumps([number, "profile", to_json(profile)])


def _merged_if_they_fit(profiles: list[FilesProfile]) -> list[FilesProfile]:
    try:
        merged = merge_files(profiles)
    except Misfit:
        return profiles
    return [merged] if merged.core else profiles


def _read(job: tuple[int, str, str]) -> str:
    _, source, path = job
    return to_json(source_named(source).profile_file(path))


@dataclass(slots=True)
class _Answers:
    """Answers of all tasks about one table."""

    profiles: list[FilesProfile] = field(default_factory=list)
    failure: Failure | None = None  # a file could not be read
    misfit: Failure | None = None

    def add(self, about: str, what: Any) -> None:
        """Keep one answer; of failures the first."""
        if about == "profile":
            self.profiles.append(from_json(what))
        else:
            self.failure = self.failure or (what[0], what[1])

    def merged(self, *, by_names: bool) -> FilesProfile | None:
        """All of it as one profile; None, and `misfit` says why, where there cannot be one."""
        if not self.profiles:
            return None
        try:
            return require_one_table(merge_files(self.profiles), by_names=by_names)
        except Misfit as error:
            self.misfit = str(error.args[0]), error.hint
            return None


def _gather(tables: Sequence[Table], answers: Sequence[str]) -> Metadata:
    said: defaultdict[int, _Answers] = defaultdict(_Answers)
    for answer in answers:
        number, about, what = json.loads(answer)
        said[number].add(about, what)
    metadata = Metadata()
    for number, table in enumerate(tables):
        merged = said[number].merged(by_names=table.by_names)
        misfit, failure = said[number].misfit, said[number].failure
        if misfit and table.by_names:  # even if some of the files cannot be read: it is the others that do not fit
            metadata.apart.append(table.location)
            metadata.of_files |= {p.files[0].path: p for p in said[number].profiles if len(p.files) == 1}
        elif failure or misfit:
            because, hint = failure or misfit or ("", "")
            metadata.problems.append(Problem(table.name, because, hint=hint))
        elif merged is not None:
            metadata.merged[table.name] = merged
    return metadata
