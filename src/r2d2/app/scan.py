"""Scan a lake: find its tables and which are contained in which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from r2d2.app.lake_tools import FILES_MEANWHILE
from r2d2.app.workspace import Workspace
from r2d2.model.scan import Scan
from r2d2.model.table import Table
from r2d2.pipeline import run


def scan_lake(workspace: Workspace, roots: Sequence[str], *, hash_bits: int = 128) -> Scan:
    """Take the lake under *roots* through the steps of a scan and save the result in the state folder.

    Fewer *hash_bits* make different rows look equal: for tests of the checks that stand behind the hash.
    """
    store, settings = workspace.store, workspace.settings
    workspace.recover(roots)
    with store.locked(), workspace.session() as session:
        kept = workspace.kept_hashes(writing=True, reading=False)  # a scan begins from scratch
        tools = workspace.tools(session, kept, hash_bits=hash_bits, meanwhile=FILES_MEANWHILE)
        found = run(roots, settings=settings, tools=tools, progress=workspace.progress)
        found = replace(found, session_seconds=session.seconds)
        found = replace(found, run=store.save(found, keep=settings.keep_runs))
        kept.save(tables_there(found))
        return found


def tables_there(scan: Scan) -> list[Table]:
    """The tables of a scan that are not deleted."""
    return [table for table in scan.tables if table.name not in scan.absent]
