"""`r2d2 status`: say what is deleted, where it is, and what was saved."""

from __future__ import annotations

import time
from typing import Any

import click

from r2d2.cli.options import AS_JSON, LAKE, QUIET, settings_from, with_settings


@click.command(short_help="Say what is deleted, where it is, and what was saved.")
@LAKE
@with_settings("status")
@AS_JSON
@QUIET
def status(lake: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Say what is deleted, where it is, what it hangs on, when it can go for good, and what was saved so far."""
    from r2d2.app.status import lake_status
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show_delete import show_status

    settings, now = settings_from(given), time.time()
    found = lake_status(Workspace(settings, lake=lake), now=now)
    show_status(found.recovered, found.status, found.saved, wrong=found.wrong, now=now, as_json=as_json)
    return 0
