"""A child process as the product's, but for its reader, which files of some names kill or hang. Run as a script."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

from r2d2.app import child_tasks
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.run.child_process import serve
from r2d2.formats.parquet.read import read_slice


def read_or_die(part: Mapping[str, Any], tokens: Iterable[Any]) -> Any:
    """A reader that a file named `deadly` kills, as a damaged page can, and a file named `endless` never lets go."""
    name = Path(part["path"]).stem
    if name == "deadly":
        os.abort()
    while name == "endless":
        time.sleep(1)
    return read_slice(part, tokens)  # type: ignore[arg-type]


def with_deadly_reader(hashing_with: Callable[..., Hashing]) -> Callable[..., Hashing]:
    """How the product hashes, but for the reader."""

    @wraps(hashing_with)
    def hashing(key: bytes, bits: int = 128) -> Hashing:
        usual = hashing_with(key, bits)
        return replace(usual, read=read_or_die)

    return hashing


if __name__ == "__main__":
    child_tasks.hashing_with = with_deadly_reader(child_tasks.hashing_with)
    serve(child_tasks.TASKS, sys.stdin, sys.stdout)
