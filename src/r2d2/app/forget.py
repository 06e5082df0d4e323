"""Give up deleted tables that are lost."""

from __future__ import annotations

from collections.abc import Sequence

from r2d2.app.workspace import Workspace
from r2d2.safety.forget import Forget, forget
from r2d2.safety.recovery import Recovered


def forget_tables(
    workspace: Workspace, tables: Sequence[str], *, approved_by: str
) -> tuple[tuple[Recovered, ...], tuple[Forget, ...]]:
    """Give up tables that are lost: no command speaks of them any more, except `status`."""
    with workspace.locked_lake() as here:
        return here.recovered, forget(here.lake, tables=tables, approved_by=approved_by)
