"""`make bench-scale`: the same lake from an eighth of M to more than 10 GB: how time and memory grow.

Up to M the lakes are generated at their scale factor. Beyond, every table of M holds each of its rows several times,
told apart by a new column, so that what is contained in what stays the same. `python -m benchmarks.scale 0.125 1`
takes these multiples of lake M only.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import lakes
from benchmarks.processes import watch
from benchmarks.results import save

MULTIPLES = (0.125, 0.5, 1.0, 6.0)
DRIVER_MEMORY = "4g"


class Folder(NamedTuple):
    """A lake on disk."""

    path: Path
    rows: int
    size_bytes: int


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
    made = _lake(multiple)
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


def _lake(multiple: float) -> Folder:
    """M at this size, made if it is not there yet."""
    if multiple <= 1:
        made = lakes.lake(_size(multiple))
        return Folder(made.path, made.rows, made.size_bytes)
    folder = lakes.FOLDER / f"M-times-{multiple:g}"
    base = lakes.lake(lakes.M)
    if not folder.exists():
        print(f"growing lake M {multiple:g} times", flush=True)
        grow(base.path, folder.with_suffix(".part"), int(multiple))
        folder.with_suffix(".part").rename(folder)
    size_bytes = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    return Folder(folder, base.rows * int(multiple), size_bytes)


def grow(lake: Path, into: Path, times: int) -> None:
    """Write every table of a lake with each row so many times, told apart by the new column `copy`."""
    for path in sorted(lake.rglob("*.parquet")):
        target = into / path.relative_to(lake)
        target.parent.mkdir(parents=True, exist_ok=True)
        file = pq.ParquetFile(path)
        schema = file.schema_arrow.append(pa.field("copy", pa.int32()))
        with pq.ParquetWriter(target, schema) as writer:
            for copy, group in product(range(times), range(file.num_row_groups)):
                rows = file.read_row_group(group)
                writer.write_table(rows.append_column("copy", pa.repeat(pa.scalar(copy, pa.int32()), len(rows))))


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
