"""The metadata of every file of every table: the work items, the task that reads them, and what comes of the answers.

Small tables are read and merged whole by one task; a table of many files is cut into pieces that the driver
merges again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from r2d2.formats.merge import FilesProfile, Misfit, from_json, merge_files, require_one_table, to_json
from r2d2.formats.registry import format_named
from r2d2.lake.guarded import guarded_map
from r2d2.model.progress import tick
from r2d2.model.table import Problem, Table
from r2d2.model.work import Failed, MetadataWork, Profiled
from r2d2.stores.local import LocalStore

FILES_PER_PIECE = 256
FILES_PER_TASK = 512  # a task costs a tenth of a second, a footer about a millisecond

Failure = tuple[str, str]  # why, and a hint


@dataclass(slots=True)
class Metadata:
    """The merged metadata of tables by name, and the tables whose metadata cannot be had (HAZARDS 25, 26)."""

    merged: dict[str, FilesProfile] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)  # locations: the files are named like parts and do not fit
    of_files: dict[str, FilesProfile] = field(default_factory=dict)  # by path, of files in folders apart, where known


def metadata_work(tables: Sequence[Table]) -> list[MetadataWork]:
    """The work items for all files of some tables, which are numbered by their place."""
    return [item for number, table in enumerate(tables) for item in _pieces(number, table)]


def _pieces(number: int, table: Table) -> Iterator[MetadataWork]:
    paths = [file.path for file in table.files]
    for first in range(0, len(paths), FILES_PER_PIECE):
        some = paths[first : first + FILES_PER_PIECE]
        yield {"kind": "metadata", "table": number, "format": table.format, "paths": some}


def read_bundle(bundle: Sequence[MetadataWork], *, timeout_seconds: float) -> Iterator[Profiled | Failed]:
    """Read every file's metadata in a child process that may die, and merge it by table.

    Files that do not fit one another are answered one by one: they may be tables of their own, and need not be read
    again then.
    """
    jobs = [(item["table"], item["format"], path) for item in bundle for path in item["paths"]]
    found: defaultdict[int, list[str]] = defaultdict(list)
    failed: dict[int, Failure] = {}
    for outcome in guarded_map(_read, jobs, timeout_seconds=timeout_seconds):
        tick(0)
        number = outcome.item[0]
        if outcome.because:
            failed.setdefault(number, (outcome.because, outcome.hint))
        else:
            found[number].append(outcome.result)
    for number, (because, hint) in failed.items():
        yield {"kind": "failed", "table": number, "because": because, "hint": hint}
    for number, texts in found.items():
        for text in _merged_if_they_fit(texts):
            yield {"kind": "profile", "table": number, "profile": text}


def _merged_if_they_fit(texts: list[str]) -> list[str]:
    if len(texts) == 1:
        return texts
    try:
        merged = merge_files(map(from_json, texts))
    except Misfit:
        return texts
    return [to_json(merged)] if merged.core else texts


def _read(job: tuple[int, str, str]) -> str:
    _, source, path = job
    return to_json(format_named(source).profile(path, LocalStore()))


@dataclass(slots=True)
class _Answers:
    """Answers of all tasks about one table."""

    profiles: list[FilesProfile] = field(default_factory=list)
    failure: Failure | None = None  # a file could not be read
    misfit: Failure | None = None

    def add(self, answer: Profiled | Failed) -> None:
        """Keep one answer; of failures the first."""
        if answer["kind"] == "profile":
            self.profiles.append(from_json(answer["profile"]))
        else:
            self.failure = self.failure or (answer["because"], answer["hint"])

    def merged(self, *, by_names: bool) -> FilesProfile | None:
        """All of it as one profile; None, and `misfit` says why, where there cannot be one."""
        if not self.profiles:
            return None
        try:
            one = self.profiles[0] if len(self.profiles) == 1 else merge_files(self.profiles)
            return require_one_table(one, by_names=by_names)
        except Misfit as error:
            self.misfit = str(error.args[0]), error.hint
            return None


def gather_metadata(tables: Sequence[Table], answers: Iterable[Profiled | Failed]) -> Metadata:
    """The answers to the work items of these tables, merged by table."""
    said: defaultdict[int, _Answers] = defaultdict(_Answers)
    for answer in answers:
        said[answer["table"]].add(answer)
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
        else:
            metadata.problems.append(Problem(table.name, "it has no file that could be read"))
    return metadata
