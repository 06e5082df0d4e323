"""Bring deleted tables back."""

from __future__ import annotations

import os
from collections.abc import Sequence

from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.safety.deleted import deleted
from r2d2.safety.errors import Refused
from r2d2.safety.locked_lake import posix_files
from r2d2.safety.paths import SAFETY
from r2d2.safety.recovery import Recovered
from r2d2.safety.restore import Restore, restore


def restore_tables(
    workspace: Workspace, tables: Sequence[str] | None, *, to: str = ""
) -> tuple[tuple[Recovered, ...], tuple[Restore, ...]]:
    """Bring deleted tables back: these, or all (None); with *to*, copies into another folder."""
    with workspace.locked_lake() as here:
        here.rebuilder.expect(len(tables or deleted(here.lake.registry)))
        if not to:
            return here.recovered, restore(here.lake, rebuilder=here.rebuilder, tables=tables)
        with posix_files(_made(to, here.lake.files.root)) as there:
            return here.recovered, restore(here.lake, rebuilder=here.rebuilder, tables=tables, to=there)


def _made(folder: str, lake_root: str) -> str:
    """The folder, made if it is not there."""
    if f"{os.path.realpath(folder)}/".startswith(f"{lake_root}/{SAFETY}/"):
        raise Refused(f"{folder} is in the safety folder", hint="restore to another folder")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made ({error.strerror})", hint="give another folder with --to") from error
    return folder
