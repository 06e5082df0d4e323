"""Check everything that deleted tables depend on."""

from __future__ import annotations

from collections.abc import Sequence

from r2d2.app.workspace import Workspace
from r2d2.safety.doctor import BAD, Finding, doctor
from r2d2.safety.posix import PosixFiles
from r2d2.safety.recovery import Recovered

_STUCK = "put that right; the next command then settles it, and `r2d2 restore` rebuilds it if it can"


def doctor_lake(workspace: Workspace, *, deep: bool) -> tuple[tuple[Recovered, ...], tuple[Finding, ...]]:
    """Recover the lake, then look for everything that could be wrong with its deleted tables."""
    with workspace.looking() as files:
        recovered = workspace.recovered(files)
        return recovered, findings_in(files, recovered, deep=deep)


def findings_in(files: PosixFiles, recovered: Sequence[Recovered], *, deep: bool) -> tuple[Finding, ...]:
    """The doctor's findings, and the tables that recovery could not settle."""
    found = doctor(files, deep=deep)
    known = {one.table for one in found if one.severity == BAD}
    left = [one for one in recovered if not one.did and one.table and one.table not in known]
    return (*found, *(Finding(BAD, "pending", one.table, one.because, _STUCK) for one in left))
