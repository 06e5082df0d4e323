"""How far a step is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Done(NamedTuple):
    """What the tasks of a job have done so far."""

    pieces: int  # files, or parts of big ones
    bytes: int


@dataclass(frozen=True, slots=True)
class Reading:
    """How much of what a job reads has been read. Bytes are those of whole slices, whichever columns are asked for."""

    files: int  # a part of a big file counts as one
    all_files: int
    bytes: int
    all_bytes: int
