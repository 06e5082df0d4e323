"""Why something was not done. Whoever gets one of these can rely on it: nothing was lost, and little was changed."""

from __future__ import annotations

from r2d2.errors import R2D2Error, UserError


def in_one_line(error: BaseException) -> str:
    """What went wrong and what would help, for a record or a cell."""
    if isinstance(error, R2D2Error):
        return f"{error.args[0]} — {error.hint}" if error.hint else str(error.args[0])
    return str(error) or type(error).__name__


class Refused(UserError):
    """A guard said no. What was asked was not done; what had been begun is undone or is undone by the next command."""


class Changed(Refused):
    """A table is not what the plan or the journal says it is."""


class Busy(Refused):
    """Another process holds the lake."""


class DiskError(R2D2Error):
    """The file system failed us: a full or broken disk, a missing permission. Nothing is lost; the command stopped."""


def disk_error(error: OSError) -> DiskError:
    """What the file system said, for a person."""
    hint = "nothing was lost; put that right and run any command, which recovers first"
    return DiskError(f"the file system failed: {error}", hint=hint)


class JournalDamaged(R2D2Error):
    """The journal cannot be read to its end, or tells a story that cannot be: nothing is touched."""


class JournalStopped(R2D2Error):
    """A record could not be written for certain: this process does nothing more; the next command recovers."""
