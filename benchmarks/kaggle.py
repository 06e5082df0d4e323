"""`make bench-kaggle`: as large as the paper's Kaggle lake, 140 tables of 24 GB: time, memory, and every edge judged.

The lake is M grown (`benchmarks/grown_m.py`): an edge holds in it if and only if it holds in M
(`tests/support/grown_lake.py` says why, `tests/test_growth.py` tests it). So DuckDB counts missing rows in M for every
edge after min-max, and is asked about some edges, drawn at random, at full size too.
`make bench-kaggle SIZE=2` takes about so many GB.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import grown_m, lakes
from benchmarks.duckdb_baselines import COUNT, ask_each
from benchmarks.results import save
from benchmarks.scale import figures
from benchmarks.scans import minmax_pairs, read_every_byte, scan, standing_pairs
from r2d2.app.lake import Lake, open_state

SIZE_GB = 24.0
GB_EACH = 1.74  # of M for each time it is grown


def main() -> None:
    size_gb = float(sys.argv[1]) if len(sys.argv) > 1 else SIZE_GB
    row = measure(max(1, round(size_gb / GB_EACH)))
    save("kaggle" if size_gb == SIZE_GB else f"kaggle-{size_gb:g}", [row], truth="counted in lake M, see the code")


def measure(times: int) -> dict[str, Any]:
    """A scan of M grown so many times, and its edges held against the truth."""
    folder = grown_m.lake(times)
    read_every_byte(folder)
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as states:
        scanned = scan(folder, Path(states) / "grown")
        grown = open_state(Path(states) / "grown")
        row = {"tables": scanned.answer["tables"], **figures(scanned, grown, sampled=True)}
        scan(lakes.lake(lakes.M).path, Path(states) / "M")
        return {**row, **judged(grown, open_state(Path(states) / "M"))}


def judged(grown: Lake, base: Lake) -> dict[str, int]:
    """Edges after min-max that the scan lost or invented, by DuckDB's count of missing rows in the base lake."""
    pairs, standing = minmax_pairs(grown), standing_pairs(grown)
    _, truth = ask_each(base, pairs, COUNT)
    return {"true edges": len(truth), "missing": len(truth - standing), "wrong": len(standing - truth)}


if __name__ == "__main__":
    main()
