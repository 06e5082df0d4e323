"""The evidence trail of one pair of tables, edge or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from r2d2.errors import UserError
from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.scan import Scan
from r2d2.report.edges import judge_profiles
from r2d2.steps.compare_profiles import compare_schemas


@dataclass(frozen=True, slots=True)
class Explanation:
    """What each check said, in order; the last one decides."""

    parent: str
    child: str
    trail: tuple[Evidence, ...]

    @property
    def verdict(self) -> Verdict:
        """What the last check left of it."""
        return self.trail[-1].verdict

    @property
    def because(self) -> str:
        """The reason that decided."""
        return self.trail[-1].because


def explain(scan: Scan, *, parent: str, child: str) -> Explanation:
    """Why *child* is, may be or cannot be contained in *parent*."""
    p, c = (find_table(scan, name) for name in (parent, child))
    if p == c:
        raise UserError(f"{parent} and {child} are the same table", hint="give two different ones")
    schema = compare_schemas(parent=scan.profiles[p], child=scan.profiles[c])
    trail = (schema,) if schema.verdict is Verdict.IMPOSSIBLE else (schema, judge_profiles(scan, p, c))
    return Explanation(scan.tables[p].name, scan.tables[c].name, trail)


def find_table(scan: Scan, name: str) -> int:
    """The number of the table with this name or alias; else an error with the nearest names."""
    wanted = name.removeprefix("./").rstrip("/")
    if wanted in scan.number_of:
        return scan.number_of[wanted]
    for problem in scan.problems:
        if problem.where == wanted and problem.kind != "notice":
            raise UserError(f"table {wanted} was left out: {problem.because}", hint=problem.hint)
    raise UserError(f"there is no table {name} in this scan", hint=_nearest(wanted, list(scan.number_of)))


def _nearest(name: str, names: Sequence[str]) -> str:
    """Names that are spelled alike, or that end or begin in the same word."""
    last = name.rpartition("/")[2]
    alike = get_close_matches(name, names, n=3, cutoff=0.6)
    same_word = [other for other in names if last and last in other.rpartition("/")[2]]
    near = list(dict.fromkeys([*alike, *same_word]))[:3]
    return f"did you mean {' or '.join(near)}?" if near else "`r2d2 edges` and the state's tables.parquet name them"
