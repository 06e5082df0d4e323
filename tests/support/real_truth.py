"""The right answers for a lake of real tables, by plain Python over every row."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

from r2d2.report.edges import EdgeRow
from r2d2.synthetic.oracle.truth import TrueEdge, lake_truth
from r2d2.synthetic.oracle.truth_rows import find_tables

MOST_CELLS = 200_000_000
Truth = dict[tuple[str, str], TrueEdge]


def true_pairs(lake: Path) -> Truth:
    """How much of which table is in which, for all pairs that the names of their columns allow."""
    names = find_tables(lake)
    edges = lake_truth(lake, tables=comparable(lake, names), all_pairs=True, most_cells=MOST_CELLS)
    return {(edge.parent, edge.child): edge for edge in edges}


def comparable(lake: Path, names: Iterable[str]) -> set[str]:
    """The tables whose top-level columns include another's, or are among them: the others need not be read."""
    columns = {name: frozenset(pq.read_schema(lake / name).names) for name in names}
    pairs = [(a, b) for a in columns for b in columns if a != b and columns[a] <= columns[b]]
    return {name for pair in pairs for name in pair}


def differences(standing: Iterable[EdgeRow], dropped: Iterable[EdgeRow], truth: Truth) -> dict[str, int]:
    """True edges that were not found, edges that are not true, and counts that are not the truth's."""
    found = {(row.parent, row.child) for row in standing}
    true = {pair for pair, edge in truth.items() if edge.contained}
    return {
        "missing edges": len(true - found),
        "wrong edges": len(found - true),
        "wrong counts": sum(is_miscounted(row, truth) for row in (*standing, *dropped)),
    }


def is_miscounted(row: EdgeRow, truth: Truth) -> bool:
    """Whether what a row says of missing rows and copies is not so; one dropped before counting says nothing."""
    edge = truth.get((row.parent, row.child))
    if row.missing_rows is None:
        return False
    return edge is None or (row.missing_rows, row.bag) != (edge.missing_rows, edge.bag)
