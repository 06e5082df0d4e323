"""Errors that a person can do something about.

Each is one sentence and, if possible, a hint. The CLI catches `R2D2Error` in one place and exits with its `exit_code`;
any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations


class R2D2Error(Exception):
    """Base of all errors shown to users; `hint` names a way out."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = str(self.args[0])
        return f"{message}\nHint: {self.hint}" if self.hint else message


class UserError(R2D2Error):
    """The request cannot be carried out as given; the user can correct it."""

    exit_code = 2


class EngineEnded(UserError):
    """Spark ended while it was needed. No table is at fault, and every further one would fail as well."""


class TableError(R2D2Error):
    """One table cannot be used. The run goes on without it, as child and as parent (HAZARDS 26)."""


class StateError(UserError):
    """The state folder cannot be used: another version wrote it, another run holds it, or it is damaged."""
