"""Compiled loops that may take the place of slower ones: used where Numba is installed and there is enough to do.

Loading them takes a fifth of a second, so a process begins without and changes over once it has done so much work that
they would have paid. Both forms must give the same results.
"""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

VARIABLE = "R2D2_COMPILED_LOOPS"  # never: without; always: from the first value on
_everywhere: list[Loops] = []


class Loops:
    """The compiled loops of one module, once they are loaded."""

    def __init__(self, module: str, *, worth_loading: int) -> None:
        wish = os.environ.get(VARIABLE, "")
        self.compiled: ModuleType | None = None
        self._module = module
        self._is_wanted = wish != "never"
        self._left = 1 if wish == "always" else worth_loading
        _everywhere.append(self)

    def expect(self, work: int) -> None:
        """Note that so much work comes next; load the loops once they are worth it."""
        if self._left > 0:
            self._left -= work
            if self._left <= 0:
                self.load()

    def load(self) -> None:
        """Use the compiled loops from now on, unless they are unwanted or Numba is missing."""
        self._left = 0
        try:
            self.compiled = import_module(self._module) if self._is_wanted else None
        except ImportError:
            self.compiled = None


def load_loops() -> None:
    """Load all compiled loops: for a process from which workers are forked."""
    for loops in _everywhere:
        loops.load()
