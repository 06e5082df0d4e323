"""`r2d2 doctor`: check all that deleted tables depend on."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import AS_JSON, LAKE, QUIET, settings_from, with_settings


@click.command(short_help="Check all that deleted tables hang on.")
@click.option("--fast", is_flag=True, help="read only what has another size or time; without, every byte is read")
@LAKE
@with_settings("doctor")
@AS_JSON
@QUIET
def doctor(fast: bool, lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Check quarantine, parents, drills and journal; exit code 1 if anything is wrong."""
    from r2d2.app.doctor import doctor_lake
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show_delete import show_findings
    from r2d2.safety.doctor import BAD

    recovered, found = doctor_lake(Workspace(settings_from(given), lake=lake), deep=not fast)
    show_findings(recovered, found, as_json=as_json)
    return int(any(finding.severity == BAD for finding in found))
