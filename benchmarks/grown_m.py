"""Lake M made several times larger with the same edges, kept beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks import lakes
from tests.support.grown_lake import grow


def lake(times: int) -> Path:
    """M with each row so many times, made if it is not there yet."""
    folder = lakes.FOLDER / f"M-times-{times}"
    base = lakes.lake(lakes.M)
    if not folder.exists():
        print(f"growing lake M {times} times", flush=True)
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        grow(base.path, part, times)
        part.rename(folder)
    return folder
