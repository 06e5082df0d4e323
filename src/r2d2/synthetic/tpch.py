"""TPC-H tables as roots, made by the `tpchgen-cli` command (the optional extra `tpch`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from r2d2.errors import R2D2Error, UserError

LINEITEM_ROWS_AT_SCALE_1 = 6_000_000
SMALLEST_SCALE = 0.0001
# The biggest first: a small lake is derived from these.
TABLES = ("lineitem", "orders", "customer", "partsupp", "part", "supplier", "nation", "region")


def tpch_scale(rows: int) -> float:
    """The scale factor at which the biggest table, lineitem, has about *rows* rows.

    >>> tpch_scale(6_000_000)
    1.0
    """
    return max(SMALLEST_SCALE, rows / LINEITEM_ROWS_AT_SCALE_1)


def generate_tpch(folder: Path, *, scale_factor: float) -> list[Path]:
    """Write the eight tables below the folder, one Parquet file each."""
    if scale_factor <= 0:
        raise UserError(f"the TPC-H scale factor must be above 0, not {scale_factor}")
    options = ["--scale-factor", f"{scale_factor:.10f}", "--output-dir", str(folder), "--quiet"]
    try:
        subprocess.run([_command(), "parquet", *options], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        last_words = (error.stderr or "").strip().splitlines()[-1:] or ["no reason given"]
        raise R2D2Error(
            f"tpchgen-cli failed with exit code {error.returncode}: {last_words[0]}",
            hint="check the disk space of the output folder, or use the built-in roots",
        ) from error
    return [folder / f"{table}.parquet" for table in TABLES]


def _command() -> str:
    """Path of the command: beside this Python first, since a virtual environment may not be activated."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    found = shutil.which("tpchgen-cli", path=places)
    if found is None:
        raise UserError(
            "TPC-H roots need the tpchgen-cli command, and it is not installed",
            hint="pip install 'r2d2-lake[tpch]', or use the built-in roots",
        )
    return found
