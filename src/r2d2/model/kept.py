"""Something kept from an earlier run: where it is, and how one sees that it is what was put there."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

SUFFIX = ".hashes"  # of files that hold kept things


class Place(NamedTuple):
    """Where something is. The digest covers its name, too: nothing can be taken for something else."""

    name: str
    file: str
    first: int
    size: int
    digest: str


def digest_of(name: str, content: bytes) -> str:
    """What tells that some content is what was kept under a name."""
    told = hashlib.blake2b(name.encode(), digest_size=16)
    told.update(content)
    return told.hexdigest()


def read_kept(place: Place) -> bytes | None:
    """What is kept there; None if it is not what was put there, or cannot be read."""
    try:
        with open(place.file, "rb") as file:
            if os.fstat(file.fileno()).st_size < place.first + place.size:
                return None
            file.seek(place.first)
            content = file.read(place.size)
    except OSError:
        return None
    return content if digest_of(place.name, content) == place.digest else None
