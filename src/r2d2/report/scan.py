"""A scan in figures: the document of `r2d2 scan`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from r2d2.model.graph import SchemaOperations
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.table import Absent, Problem
from r2d2.report.document import Document

_SEVERITY = {"unreadable": 0, "unsupported": 1, "notice": 2}


@dataclass(frozen=True)
class DeletedTable(Document):
    """A table that was deleted and is still part of the graph."""

    table: str
    parent: str  # the table that it is rebuilt from
    wrong: str  # the reason that it cannot be rebuilt now

    @property
    def says(self) -> str:
        """Its state in words."""
        return Absent(self.parent, self.wrong).says


@dataclass(frozen=True)
class ScanReport(Document):
    """Figures, funnel and problems of a scan. Tables, rows and bytes leave out deleted tables."""

    run: str
    state: str
    roots: tuple[str, ...]
    tables: int
    rows: int
    size_bytes: int
    edges: int
    session_seconds: float
    bytes_read: int
    kept_bytes_read: int  # always 0: there is no hash cache any more; documented, so the key stays
    funnel: tuple[FunnelLine, ...]
    schema_operations: SchemaOperations
    problems: tuple[Problem, ...]
    deleted: tuple[DeletedTable, ...]


def scan_report(scan: Scan, state: str) -> ScanReport:
    """The report of a finished scan that is kept in the folder *state*."""
    return ScanReport(
        run=scan.run,
        state=state,
        roots=scan.roots,
        tables=len(scan.tables) - len(scan.absent),
        rows=scan.rows,
        size_bytes=scan.size_bytes,
        edges=len(scan.graph),
        session_seconds=scan.session_seconds,
        bytes_read=scan.bytes_read,
        kept_bytes_read=0,
        funnel=scan.funnel,
        schema_operations=scan.schema_graph.operations,
        problems=scan.problems,
        deleted=deleted_tables(scan.absent),
    )


def deleted_tables(absent: Mapping[str, Absent]) -> tuple[DeletedTable, ...]:
    """The deleted tables by name."""
    return tuple(DeletedTable(name, known.parent, known.wrong) for name, known in sorted(absent.items()))


def worst_first(problems: Iterable[Problem]) -> list[Problem]:
    """Problems in the order in which a person should see them."""
    return sorted(problems, key=lambda problem: _SEVERITY.get(problem.kind, len(_SEVERITY)))
