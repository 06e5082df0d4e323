"""A fresh Python process that runs one of our modules, and nothing of the folder where it happens to be started.

`python -m` puts the working folder first on the module path: a `numpy.py` there would run as whoever scans
(HAZARDS 41). `-P` leaves that folder out, and the process gets this one's module path without it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HOME = str(Path(__file__).parents[2])  # the folder that holds the package r2d2


def command(module: str) -> list[str]:
    """The command that runs a module in a fresh process."""
    return [sys.executable, "-P", "-m", module]


def environment() -> dict[str, str]:
    """The environment for it and for the processes that it starts."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(module_path()), "PYTHONSAFEPATH": "1"}


def module_path() -> list[str]:
    """Where this process finds its modules, the working folder excepted, unless r2d2 itself lies there."""
    here = os.path.realpath(os.curdir)
    path = [os.path.abspath(entry) for entry in sys.path if os.path.realpath(entry) != here]
    return path if _HOME in path else [*path, _HOME]
