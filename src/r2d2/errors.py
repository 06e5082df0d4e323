"""What can go wrong that a person can do something about.

Each error is one sentence and, where there is one, a way out. The CLI catches `R2D2Error` at one place and
exits with its `exit_code`; anything else is a bug and keeps its traceback.
"""

from __future__ import annotations


class R2D2Error(Exception):
    """Something failed; `hint` says what would help."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{message}\nHint: {self.hint}" if self.hint else message


class UserError(R2D2Error):
    """What was asked cannot be done as asked; the user can put it right."""

    exit_code = 2


class EngineEnded(UserError):
    """Spark has ended while it was needed: no table is to blame, and the next one would fare no better."""


class TableError(R2D2Error):
    """One table cannot be used. The run goes on without it, as child and as parent (HAZARDS 26)."""


class StateError(UserError):
    """The state folder cannot be used: another version wrote it, another run holds it, or it is damaged."""
