"""The evidence trail of one pair of tables, edge or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from r2d2.errors import UserError
from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.graph import NO_GRAPH
from r2d2.model.scan import Scan
from r2d2.report.document import as_json
from r2d2.report.evidence import content_evidence, profile_evidence
from r2d2.steps.edges.compare_profiles import compare_schemas

_SAYS = {
    Verdict.IMPOSSIBLE: "is not contained in",
    Verdict.POSSIBLE: "may be contained in",
    Verdict.PROVEN: "is contained in",
}


@dataclass(frozen=True, slots=True)
class MissingRow:
    """A row of the child that the parent lacks: column and value as text (None is NULL); empty if none is missing."""

    values: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Evidence of each check, in order; the last one decides."""

    parent: str
    child: str
    trail: tuple[Evidence, ...]
    missing_row: MissingRow | None = None  # only on request: values may be private
    deleted: Mapping[str, str] = field(default_factory=dict)  # the tables of the two that are deleted, with their state

    @property
    def verdict(self) -> Verdict:
        """The verdict of the last check."""
        return self.trail[-1].verdict

    @property
    def because(self) -> str:
        """The reason of the last check."""
        return self.trail[-1].because

    @property
    def says(self) -> str:
        """The answer in words."""
        return f"{self.child} {_SAYS[self.verdict]} {self.parent}"

    def to_json(self) -> dict[str, Any]:
        """The document of `r2d2 explain`."""
        row = self.missing_row
        return {
            "parent": self.parent,
            "child": self.child,
            "verdict": str(self.verdict),
            "because": self.because,
            "trail": [as_json(evidence) for evidence in self.trail],
            "deleted": dict(self.deleted),
            "missing_row": None if row is None else [{"column": name, "value": value} for name, value in row.values],
        }


def explain(scan: Scan, *, parent: str, child: str) -> Explanation:
    """Explain why *child* is, may be or cannot be contained in *parent*."""
    p, c = (find_table(scan, name) for name in (parent, child))
    if p == c:
        raise UserError(f"{parent} and {child} are the same table", hint="give two different ones")
    names = scan.tables[p].name, scan.tables[c].name
    deleted = {name: scan.absent[name].says for name in names if name in scan.absent}
    return Explanation(*names, tuple(_trail(scan, p, c)), deleted=deleted)


def _trail(scan: Scan, parent: int, child: int) -> Iterator[Evidence]:
    """Evidence of the checks, up to the one that ruled the pair out, if one did."""
    schema = compare_schemas(parent=scan.profiles[parent], child=scan.profiles[child])
    yield schema
    if schema.verdict is Verdict.IMPOSSIBLE:
        return
    yield profile_evidence(scan, parent, child)
    found = scan.graph.find(parent, child)
    evidence = content_evidence(scan, *found) if found else None
    if evidence:
        yield evidence
    elif scan.graph is not NO_GRAPH:
        yield from _unread(scan, parent, child)


def _unread(scan: Scan, *tables: int) -> Iterator[Evidence]:
    """Reasons that the rows of a pair were not compared, if any."""
    names = [scan.tables[table].name for table in tables]
    for name in names:
        if name in scan.absent:
            because = f"{name} is deleted: its rows could not be compared"
            yield Evidence(scan.graph.step, Verdict.POSSIBLE, because)
    for problem in scan.problems:
        if problem.needs_a_look and problem.where in names:
            because = f"{problem.where} could not be read: {problem.because}"
            yield Evidence(scan.graph.step, Verdict.POSSIBLE, because)


def find_table(scan: Scan, name: str) -> int:
    """The number of the table with this name, alias or path on disk; else an error with the nearest names."""
    wanted = name.removeprefix("./").rstrip("/")
    if wanted in scan.number_of:
        return scan.number_of[wanted]
    path = os.path.realpath(name) if name and "\0" not in name else ""
    at_path = [number for number, table in enumerate(scan.tables) if table.location == path]
    if len(at_path) == 1:
        return at_path[0]
    below = [os.path.relpath(path, root) for root in scan.roots if path.startswith(os.path.join(root, ""))]
    for problem in scan.problems:
        if problem.where in (wanted, *below) and problem.kind != "notice":
            raise UserError(f"table {problem.where} was left out: {problem.because}", hint=problem.hint)
    raise UserError(f"there is no table {name} in this scan", hint=_nearest(wanted, list(scan.number_of)))


def _nearest(name: str, names: Sequence[str]) -> str:
    """A hint with names that end in the same word, are spelled alike, or contain the word in their last part."""
    last = name.rpartition("/")[2]
    alike = get_close_matches(name, names, n=3, cutoff=0.6)
    same_word = [other for other in names if last and last in other.rpartition("/")[2]]
    exact = [other for other in same_word if other.rpartition("/")[2] == last]
    near = list(dict.fromkeys([*exact, *alike, *same_word]))[:3]
    return f"did you mean {' or '.join(near)}?" if near else "`r2d2 edges` and the state's tables.parquet name them"
