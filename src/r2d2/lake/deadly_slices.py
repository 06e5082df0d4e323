"""Find the slices that kill or hang their reader, after a job has died of one (HAZARDS 25).

They are read one by one, in children that may die, of a process that is started for it: this one may have loaded
Polars, and a fork of a process with Polars' threads hangs as soon as it reads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence

from r2d2.errors import R2D2Error
from r2d2.formats.contract import FileSlice
from r2d2.formats.registry import try_to_read
from r2d2.lake.fresh_python import command, environment
from r2d2.lake.guarded import guarded_map


def deadly_slices(parts: Sequence[FileSlice], *, timeout_seconds: float) -> dict[int, str]:
    """Positions of the slices that kill or hang their reader, or cannot be read, with the reasons."""
    done = subprocess.run(
        command(__name__),
        input=json.dumps({"parts": list(parts), "seconds": timeout_seconds}),
        env=environment(),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise R2D2Error(f"the search for the file that kills its readers failed (exit code {done.returncode})")
    return dict(json.loads(done.stdout))


def _find(parts: Sequence[FileSlice], seconds: float) -> Iterator[tuple[int, str]]:
    outcomes = guarded_map(try_to_read, parts, timeout_seconds=seconds, what="its rows")
    return ((place, outcome.because) for place, outcome in enumerate(outcomes) if outcome.because)


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps(list(_find(asked["parts"], asked["seconds"]))))
