"""The containment edges of a scan as rows: one view model for table, JSON, CSV, pandas and notebook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.graph import Edges
from r2d2.model.scan import Scan
from r2d2.report.document import Document
from r2d2.report.evidence import content_evidence, profile_evidence
from r2d2.report.html_table import html_table
from r2d2.steps.prune_by_minmax import judge_pairs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EdgeRow(Document):
    """One pair of tables, as `r2d2 edges` lists it."""

    parent: str
    child: str
    verdict: Verdict
    containment: float | None  # share of the child's rows that are in the parent; None: not counted
    bag: bool | None  # whether it holds with multiplicity too; None: not counted
    missing_rows: int | None  # rows of the child that are not in the parent; None: not counted
    child_rows: int | None
    parent_rows: int | None
    because: str
    since: str | None = None  # the run that settled it; None: a pair that was dropped
    parent_deleted: str | None = None  # None: it is in the lake; else its state in words
    child_deleted: str | None = None


EDGE_FIELDS = tuple(field.name for field in fields(EdgeRow))


@dataclass(frozen=True)
class EdgeTable:
    """Edges as a sequence of rows."""

    rows: tuple[EdgeRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[EdgeRow]:
        return iter(self.rows)

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with one row per edge."""
        import pandas as pd

        return pd.DataFrame([row.to_json() for row in self.rows], columns=list(EDGE_FIELDS))

    def _repr_html_(self) -> str:
        return html_table(EDGE_FIELDS, (row.to_json() for row in self.rows))


def standing_edges(scan: Scan) -> Iterator[EdgeRow]:
    """The edges that no step has ruled out."""
    for place, row in enumerate(_rows(scan, scan.graph.standing)):
        yield replace(row, since=scan.standing_since(place))


def dropped_edges(scan: Scan) -> Iterator[EdgeRow]:
    """The pairs of the schema graph that were ruled out: by content, then by metadata, worked out again in batches."""
    yield from _rows(scan, scan.graph.ruled_out)
    for _, dropped in judge_pairs(
        scan.schema_graph, profiles=scan.profiles, overlaps=scan.overlaps, containment=scan.containment
    ):
        for parent, child in zip(dropped.parents.tolist(), dropped.children.tolist(), strict=True):
            yield _row(scan, parent, child, profile_evidence(scan, parent, child))


def _rows(scan: Scan, edges: Edges) -> Iterator[EdgeRow]:
    for position, (parent, child) in enumerate(zip(edges.parents, edges.children, strict=True)):
        evidence = content_evidence(scan, edges, position) or profile_evidence(scan, parent, child)
        missing = edges.missing_rows[position], edges.missing_copies[position]
        yield _row(scan, parent, child, evidence, *missing)


def _share(missing_rows: int, child_rows: int | None) -> float | None:
    """The share of the child's rows that the parent holds; None: unknown."""
    if not missing_rows:
        return 1.0
    return 1 - missing_rows / child_rows if child_rows else None


def _row(
    scan: Scan, parent: int, child: int, evidence: Evidence, missing_rows: int = -1, missing_copies: int = -1
) -> EdgeRow:
    child_rows = scan.profiles[child].rows
    counted = missing_rows >= 0
    return EdgeRow(
        parent=scan.tables[parent].name,
        child=scan.tables[child].name,
        verdict=evidence.verdict,
        containment=_share(missing_rows, child_rows) if counted else None,
        bag=missing_copies == 0 if counted else None,
        missing_rows=missing_rows if counted else None,
        child_rows=child_rows,
        parent_rows=scan.profiles[parent].rows,
        because=evidence.because,
        parent_deleted=_deleted(scan, parent),
        child_deleted=_deleted(scan, child),
    )


def _deleted(scan: Scan, table: int) -> str | None:
    known = scan.absent.get(scan.tables[table].name)
    return known.says if known else None
