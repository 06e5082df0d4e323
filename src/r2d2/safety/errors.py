"""Errors of safe deletion. Each of them means: no row was lost, and little was changed."""

from __future__ import annotations

from r2d2.errors import R2D2Error, UserError


def in_one_line(error: BaseException) -> str:
    """The error and its hint in one line, for a record or a table cell."""
    if isinstance(error, R2D2Error):
        return f"{error.args[0]} — {error.hint}" if error.hint else str(error.args[0])
    return str(error) or type(error).__name__


class Refused(UserError):
    """A guard refused the request. A part that had begun is undone, at the latest by the next command."""


class Changed(Refused):
    """A table differs from what the plan or the journal says of it."""


class NotMoved(Refused):
    """A table cannot be moved and is certainly where it was; `because` is for the journal."""

    def __init__(self, message: str, *, hint: str, because: str) -> None:
        super().__init__(message, hint=hint)
        self.because = because


class Busy(Refused):
    """Another process holds the lake."""


class DiskError(R2D2Error):
    """The file system failed: a full or broken disk, a missing permission. The command stopped; no row is lost."""


def disk_error(error: OSError) -> DiskError:
    """A DiskError with the message of an OSError."""
    hint = "nothing was lost; fix that and run any command, which recovers first"
    return DiskError(f"the file system failed: {error}", hint=hint)


class JournalDamaged(R2D2Error):
    """The journal is unreadable somewhere, or its records contradict each other: nothing is touched."""


class JournalStopped(R2D2Error):
    """A record may or may not be on disk: this process stops; the next command recovers."""
