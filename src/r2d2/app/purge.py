"""Free the space of deleted tables that can be rebuilt."""

from __future__ import annotations

from collections.abc import Sequence

from r2d2.app.status import table_states
from r2d2.app.workspace import DAY_SECONDS, Workspace
from r2d2.safety.purge import Purge, purge
from r2d2.safety.recovery import Recovered


def purge_tables(workspace: Workspace) -> tuple[tuple[Recovered, ...], tuple[Purge, ...]]:
    """Remove the copies in quarantine whose time is over; each was drilled, and its parents are whole."""
    with workspace.locked_if_touched() as here:
        if here is None:
            return (), ()
        return here.recovered, purge(here.lake, retention_seconds=workspace.settings.retention * DAY_SECONDS)


def overdue(workspace: Workspace, done: Sequence[Purge], *, now: float) -> bool:
    """Whether a table whose time was over at *now* could not be purged."""
    left = table_states(workspace).tables
    due = {t.slot for t in left if t.state == "purging" or (t.purge_from and t.purge_from <= now)}
    return any(one.slot in due for one in done if not one.is_purged)
