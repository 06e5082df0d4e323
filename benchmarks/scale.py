"""`make bench-scale`: the same lake from an eighth of M to more than 10 GB: how time and memory grow.

Up to M the lakes are generated at their scale factor. Beyond, every table of M holds each of its rows several times,
so that what is contained in what stays the same (`benchmarks/grown_m.py`). *The limit* is DuckDB's time to read and
hash every byte once, taken at each size in the same run. `python -m benchmarks.scale 0.125 1` takes these multiples of
lake M only.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import grown_m, lakes
from benchmarks.duckdb_baselines import EXISTS, ask_each, hash_everything
from benchmarks.results import save
from benchmarks.scans import Scanned, minmax_pairs, read_every_byte, scan, standing_pairs
from r2d2.app.lake import Lake, open_state
from tests.support.growth import exponent, extrapolate, with_exponents

MULTIPLES = (0.125, 0.5, 1.0, 6.0)
DRIVER_MEMORY = "4g"
SAMPLE_EDGES = 100  # that DuckDB is asked for beyond lake M


def main() -> None:
    multiples = [float(text) for text in sys.argv[1:]] or list(MULTIPLES)
    rows = with_exponents([measure(multiple) for multiple in multiples], of="without session", by="GB")
    whole = exponent(rows[0], rows[-1], of="without session", by="GB")
    print(f"time grows with the bytes to the power of {whole} from first to last")
    name = "scale" if tuple(multiples) == MULTIPLES else "scale-part"
    save(name, rows, exponent=whole, driver_memory=DRIVER_MEMORY)


def measure(multiple: float) -> dict[str, Any]:
    """One scan of M at this size, and DuckDB on the same tables."""
    folder = lakes.lake(_size(multiple)).path if multiple <= 1 else grown_m.lake(int(multiple))
    read_every_byte(folder)
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as state:
        scanned = scan(folder, Path(state) / "state", "--driver-memory", DRIVER_MEMORY)
        row = {"times M": multiple, **figures(scanned, open_state(Path(state) / "state"), sampled=multiple > 1)}
    print(row, flush=True)
    return row


def figures(scanned: Scanned, lake: Lake, *, sampled: bool) -> dict[str, Any]:
    """Size, time and memory of a scan, with the same lake's limit and DuckDB edge by edge."""
    limit = hash_everything(lake)
    return {
        "GB": scanned.answer["size_bytes"] / 1e9,
        "rows": scanned.answer["rows"],
        "edges": scanned.answer["edges"],
        "seconds": scanned.seconds,
        "without session": scanned.without_session,
        "limit": limit,
        "times the limit": scanned.without_session / limit,
        "bytes read / bytes": scanned.read_share,
        **scanned.peaks,
        **_after_minmax(scanned, lake, sampled=sampled),
    }


def _after_minmax(scanned: Scanned, lake: Lake, *, sampled: bool) -> dict[str, Any]:
    """DuckDB's EXCEPT … LIMIT 1 for each edge that min-max pruning left, or for some of them drawn at random."""
    pairs = minmax_pairs(lake)
    some = random.Random(1).sample(pairs, min(SAMPLE_EDGES, len(pairs))) if sampled else pairs
    seconds, contained = ask_each(lake, some, EXISTS)
    whole = extrapolate(list(seconds.values()), of=len(pairs))
    return {
        "DuckDB after min-max": whole,
        "end to end / DuckDB": scanned.seconds / whole,
        "answers that differ": len(contained ^ (standing_pairs(lake) & set(some))),
        "DuckDB asked": f"{'extrapolated from ' if sampled else ''}{len(some)} of {len(pairs)} edges",
    }


def _size(multiple: float) -> lakes.LakeSize:
    if multiple == 1:
        return lakes.M
    factor = lakes.M.scale_factor * multiple
    return lakes.LakeSize(f"M-{multiple:g}", tables=lakes.M.tables, scale_factor=factor, seed=lakes.M.seed)


if __name__ == "__main__":
    main()
