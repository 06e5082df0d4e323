"""`make bench-scale`: the same lake from an eighth of M to more than 10 GB: how time and memory grow.

`python -m benchmarks.scale 0.125 1` takes these multiples of lake M only.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import lakes
from benchmarks.processes import watch
from benchmarks.results import save

MULTIPLES = (0.125, 0.5, 1.0, 6.0)
DRIVER_MEMORY = "4g"


def main() -> None:
    multiples = [float(text) for text in sys.argv[1:]] or list(MULTIPLES)
    rows = [measure(multiple) for multiple in multiples]
    for before, row in pairwise(rows):
        row["exponent"] = _exponent(before, row)
    whole = _exponent(rows[0], rows[-1]) if len(rows) > 1 else None
    print(f"time grows with the bytes to the power of {whole} from first to last")
    save("scale", rows, exponent=whole, driver_memory=DRIVER_MEMORY)


def measure(multiple: float) -> dict[str, Any]:
    """One scan of M at this size."""
    made = lakes.lake(_size(multiple))
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as folder:
        scan = ["scan", str(made.path), "--state", str(Path(folder) / "state"), "--driver-memory", DRIVER_MEMORY]
        seen = watch([sys.executable, "-m", "r2d2", *scan, "--json"])
    answer = json.loads(seen.output)
    row = {
        "times M": multiple,
        "GB": made.size_bytes / 1e9,
        "rows": made.rows,
        "edges": answer["edges"],
        "seconds": seen.seconds,
        "without session": sum(line["seconds"] for line in answer["funnel"]) - answer["session_seconds"],
        **{f"{kind} MB": peak for kind, peak in sorted(seen.peak_mb.items())},
    }
    print(row, flush=True)
    return row


def _size(multiple: float) -> lakes.LakeSize:
    if multiple == 1:
        return lakes.M
    factor = lakes.M.scale_factor * multiple
    return lakes.LakeSize(f"M-{multiple:g}", tables=lakes.M.tables, scale_factor=factor, seed=lakes.M.seed)


def _exponent(one: dict[str, Any], other: dict[str, Any]) -> float:
    grown = other["without session"] / one["without session"]
    return round(math.log(grown) / math.log(other["GB"] / one["GB"]), 2)


if __name__ == "__main__":
    main()
