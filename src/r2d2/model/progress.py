"""Progress of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Done(NamedTuple):
    """Work that the tasks of a job have finished so far."""

    pieces: int  # files, or parts of big ones
    bytes: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Progress of a job that reads files. Bytes are those of whole slices, whichever columns are read."""

    files: int  # a part of a big file counts as one
    all_files: int
    bytes: int
    all_bytes: int
