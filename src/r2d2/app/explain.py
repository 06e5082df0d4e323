"""Explain why a table is, may be or cannot be contained in another."""

from __future__ import annotations

import secrets
from dataclasses import replace

from r2d2.app.freshness import refuse_changed, refuse_deleted
from r2d2.app.lake_tools import table_content
from r2d2.app.workspace import Workspace
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.missing_row import find_missing_row
from r2d2.formats.registry import read_slice
from r2d2.model.evidence import Verdict
from r2d2.model.scan import Scan
from r2d2.report.evidence import compared_columns
from r2d2.report.explain import Explanation, MissingRow
from r2d2.report.explain import explain as explain_from_scan


def explain(workspace: Workspace, *, parent: str, child: str) -> Explanation:
    """The evidence for and against one pair of the newest scan, with a missing row if the settings ask for values."""
    show_values = workspace.settings.show_values
    return explain_pair(workspace.scan(), parent=parent, child=child, show_values=show_values)


def explain_pair(scan: Scan, *, parent: str, child: str, show_values: bool = False) -> Explanation:
    """The evidence for and against one pair. With *show_values* both tables are read for a row that rules it out."""
    explanation = explain_from_scan(scan, parent=parent, child=child)
    can_be_compared = len(explanation.trail) > 1  # the parent has the child's columns
    if not show_values or explanation.verdict is not Verdict.IMPOSSIBLE or not can_be_compared:
        return explanation
    p, c = scan.number_of[explanation.parent], scan.number_of[explanation.child]
    for number in (p, c):
        refuse_deleted(scan, scan.tables[number].name)
        refuse_changed(scan.tables[number])
    return replace(explanation, missing_row=_missing_row(scan, parent=p, child=c))


def _missing_row(scan: Scan, *, parent: int, child: int) -> MissingRow:
    """A row of the child that the parent lacks, with its values."""
    held, wanted = (table_content(scan.tables[number], scan.profiles[number], scan) for number in (parent, child))
    columns = compared_columns(scan, parent, child)
    tokens = [column.token for column in columns]
    hashing = Hashing(read_slice, secrets.token_bytes(32))
    row = find_missing_row(parent=held, child=wanted, tokens=tokens, hashing=hashing) or {}
    return MissingRow(tuple((str(column), row[column.token]) for column in columns) if row else ())
