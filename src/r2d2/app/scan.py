"""Scan a lake: find its tables and which are contained in which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from r2d2.app.lake_tools import FILES_MEANWHILE
from r2d2.app.workspace import Workspace
from r2d2.model.scan import Scan
from r2d2.pipeline import run


def scan_lake(workspace: Workspace, roots: Sequence[str], *, hash_bits: int = 128) -> Scan:
    """Take the lake under *roots* through the steps of a scan and save the result in the state folder.

    Fewer *hash_bits* make different rows look equal: for tests of the checks that stand behind the hash.
    """
    store, settings = workspace.store, workspace.settings
    workspace.recover(roots)
    with store.locked(), workspace.session() as session:
        tools = workspace.tools(session, hash_bits=hash_bits, meanwhile=FILES_MEANWHILE)
        found = run(roots, settings=settings, tools=tools, progress=workspace.progress)
        found = replace(found, session_seconds=session.seconds)
        return replace(found, run=store.save(found, keep=settings.keep_runs))
