"""Rebuild deleted tables on trial."""

from __future__ import annotations

from collections.abc import Sequence

from r2d2.app.workspace import Workspace
from r2d2.model.progress import News
from r2d2.safety.deleted import deleted
from r2d2.safety.drill import Drill, drill
from r2d2.safety.recovery import Recovered


def drill_tables(workspace: Workspace, tables: Sequence[str] = ()) -> tuple[tuple[Recovered, ...], tuple[Drill, ...]]:
    """Rebuild deleted tables on trial and compare: these, or all."""
    opened = workspace.locked_lake() if tables else workspace.locked_if_touched()
    with opened as here:
        if here is None:
            return (), ()
        away = deleted(here.lake.registry)
        here.rebuilder.expect(len(tables) or len(away))
        if away:
            workspace.progress(News("starting Spark"))
            here.session()  # how long a rebuild takes is recorded, and this is no part of it
        return here.recovered, drill(here.lake, rebuilder=here.rebuilder, tables=tables or None)
