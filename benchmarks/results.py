"""Results as a table on the screen and as a file that says where, on what and by which version it was seen."""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"

Row = dict[str, Any]


def machine() -> dict[str, Any]:
    """What it ran on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 2**30),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
    }


def commit() -> str:
    """The version of the code, with a mark where files were changed since."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=FOLDER.parent)
    return done.stdout.strip() or "unknown"


def peak_memory_mb() -> int:
    """The most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds and seconds on the clock. CPU time is the fairer one where others use the machine too."""
    cpu, clock = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - clock


def save(name: str, rows: Sequence[Mapping[str, Any]], **about: Any) -> None:
    """Print the rows as a table and write them to results/NAME.json."""
    FOLDER.mkdir(exist_ok=True)
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    content = {"benchmark": name, "date": when, "commit": commit(), "machine": machine(), **about, "rows": list(rows)}
    (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=1, default=str) + "\n")
    print_rows(rows)


def print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows as an aligned table."""
    if not rows:
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_cell(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(column), *(len(row[i]) for row in cells)) for i, column in enumerate(columns)]
    print("  ".join(column.ljust(width) for column, width in zip(columns, widths, strict=True)))
    for row in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print(flush=True)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
