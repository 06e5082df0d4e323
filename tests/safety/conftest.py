"""What the tests of safety share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def fast_folder() -> Iterator[Path]:
    """A folder on a real file system whose sync costs nothing, where there is one."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="r2d2-safety-", dir=base))
    yield folder
    shutil.rmtree(folder)
