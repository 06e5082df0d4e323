"""What the tests of safety share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from r2d2.safety import journal
from tests.safety.tally import TALLY


@pytest.fixture
def fast_folder() -> Iterator[Path]:
    """A folder on a real file system whose sync costs nothing, where there is one."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="r2d2-safety-", dir=base))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def remembered_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a journal are parsed once and remembered: the same few are read a hundred thousand times."""
    monkeypatch.setattr(journal, "_fits", lru_cache(maxsize=4096)(journal._fits))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much was tried."""
    if TALLY:
        terminalreporter.write_line("safety: " + ", ".join(f"{number:,} {what}" for what, number in TALLY.items()))
