"""The containment edges of a scan as rows: one shape for table, JSON, CSV, pandas and notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.scan import Scan
from r2d2.steps.compare_profiles import compare_ranges
from r2d2.steps.prune_by_minmax import judge_pairs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One pair of tables: the JSON shape of `r2d2 edges --json`."""

    parent: str
    child: str
    verdict: Verdict
    containment: float | None  # share of the child's rows that are in the parent; None: not counted
    bag: bool | None  # whether it holds with multiplicity too; None: not counted
    missing_rows: int | None  # rows of the child that are not in the parent; None: not counted
    child_rows: int
    parent_rows: int
    because: str


EDGE_FIELDS = tuple(field.name for field in fields(EdgeRow))


@dataclass(frozen=True)
class Edges:
    """The edges that stand, as a sequence of rows."""

    rows: tuple[EdgeRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[EdgeRow]:
        return iter(self.rows)

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with one row per edge."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(EDGE_FIELDS))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in EDGE_FIELDS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(getattr(row, name)))}</td>" for name in EDGE_FIELDS) + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def standing_edges(scan: Scan) -> Iterator[EdgeRow]:
    """The edges that no step has ruled out."""
    assert scan.graph is not None
    for parent, child in zip(scan.graph.parents, scan.graph.children, strict=True):
        yield _row(scan, parent, child, Verdict.POSSIBLE, judge_profiles(scan, parent, child).because)


def dropped_edges(scan: Scan) -> Iterator[EdgeRow]:
    """The pairs of the schema graph that min-max pruning ruled out, worked out again, a batch at a time."""
    assert scan.schema_graph is not None
    for _, dropped in judge_pairs(scan.schema_graph, profiles=scan.profiles, overlaps=scan.overlaps, bag=scan.bag):
        for parent, child in zip(dropped.parents.tolist(), dropped.children.tolist(), strict=True):
            yield _row(scan, parent, child, Verdict.IMPOSSIBLE, judge_profiles(scan, parent, child).because)


def judge_profiles(scan: Scan, parent: int, child: int) -> Evidence:
    """What min-max pruning says of one pair."""
    if tuple(sorted((scan.tables[parent].name, scan.tables[child].name))) in scan.overlaps:
        return Evidence("prune_by_minmax", Verdict.IMPOSSIBLE, SHARED)
    return compare_ranges(parent=scan.profiles[parent], child=scan.profiles[child], bag=scan.bag)


SHARED = "they share files, or one lies inside the other: what is stored once is no copy"


def _row(scan: Scan, parent: int, child: int, verdict: Verdict, because: str) -> EdgeRow:
    return EdgeRow(
        parent=scan.tables[parent].name,
        child=scan.tables[child].name,
        verdict=verdict,
        containment=None,
        bag=None,
        missing_rows=None,
        child_rows=scan.profiles[child].rows,
        parent_rows=scan.profiles[parent].rows,
        because=because,
    )


def as_dict(row: EdgeRow) -> dict[str, Any]:
    """One row as plain values."""
    return asdict(row) | {"verdict": str(row.verdict)}
