"""An update in figures: the document of `r2d2 update`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from r2d2.model.scan import Scan
from r2d2.report.document import Document
from r2d2.report.scan import ScanReport, scan_report
from r2d2.steps.find_changes import TableChange

if TYPE_CHECKING:
    from r2d2.flows.update import Update
    from r2d2.safety.doctor import Finding


@dataclass(frozen=True)
class NamedEdge(Document):
    """An edge by the names of its tables."""

    parent: str
    child: str


@dataclass(frozen=True)
class UpdateReport(ScanReport):
    """The lake as it is now, its changed tables, and the edges gained and lost."""

    previous: str  # the run that was brought up to date
    changed: tuple[TableChange, ...]
    gained: tuple[NamedEdge, ...]
    lost: tuple[NamedEdge, ...]
    kept_edges: int
    asked_pairs: int
    endangered: tuple[Finding, ...]  # problems of deleted tables that must stay rebuildable


def update_report(done: Update, state: str, endangered: Sequence[Finding] = ()) -> UpdateReport:
    """The report of an update whose result is kept in the folder *state*."""
    return UpdateReport(
        **vars(scan_report(done.scan, state)),
        previous=done.old.run,
        changed=tuple(done.changes.changed),
        gained=_edges(done.gained),
        lost=_edges(done.lost),
        kept_edges=done.kept_edges,
        asked_pairs=done.asked_pairs,
        endangered=tuple(endangered),
    )


def changes_in_words(done: Update) -> str:
    """Counts of tables by kind of change, and of new tables that cannot be read, in words."""
    counts = Counter(str(one.change) for one in done.changes.changed)
    known = {one.table for one in done.changes.changed} | _unreadable(done.old)
    words = [f"{count:,} {change}" for change, count in counts.items()]
    if broken := _unreadable(done.scan) - known:
        words.append(f"{len(broken):,} new and unreadable")
    return ", ".join(words) or ("no table has changed" if done.is_news else "nothing has changed")


def _unreadable(scan: Scan) -> set[str]:
    return {problem.where for problem in scan.problems if problem.needs_a_look}


def _edges(pairs: Iterable[tuple[str, str]]) -> tuple[NamedEdge, ...]:
    return tuple(NamedEdge(parent, child) for parent, child in pairs)
