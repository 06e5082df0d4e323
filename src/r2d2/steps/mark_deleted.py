"""Mark the tables of a scan that were deleted on purpose and can be rebuilt.

The journal of a lake knows which tables are deleted; its facts come in as `DeletedTable`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from r2d2.model.scan import Scan
from r2d2.model.table import Absent, Table
from r2d2.steps.find_changes import in_doubt


@dataclass(frozen=True, slots=True)
class DeletedTable:
    """A table that the journal calls deleted."""

    name: str
    location: str  # where it was, below the lake's root
    parents: str  # names of the tables that it is rebuilt from
    files: Mapping[str, tuple[int, int]]  # size and modification time of the files with its rows, by path below it
    is_gone: bool  # nothing lies at its path now
    wrong: str = ""  # why it may not be possible to rebuild it


def mark_deleted(scan: Scan, deleted: Iterable[DeletedTable], *, root: str) -> Scan:
    """Mark the tables that are deleted in the lake at *root*, with their parents and what is wrong with them.

    Skip tables that changed between the scan and their deletion: the scan does not know what was deleted.
    """
    table_at = {below(table.location, root): table for table in scan.tables}
    absent = {
        table_at[one.location].name: Absent(one.parents, one.wrong)
        for one in deleted
        if one.location in table_at and one.is_gone and has_files(table_at[one.location], one.files)
    }
    return replace(scan, absent=absent)


def has_files(table: Table, files: Mapping[str, tuple[int, int]]) -> bool:
    """Whether the scan saw just these files with the table's rows, by size and modification time."""
    scanned = {below(file.path, table.location): (file.size_bytes, file.modified_ns) for file in table.files}
    return scanned == files


def below(path: str, folder: str) -> str:
    """*path* below *folder*, with /; '' if it is that folder itself.

    >>> below("/lake/a/b", "/lake"), below("/lake", "/lake")
    ('a/b', '')
    """
    relative = os.path.relpath(path, folder)
    return "" if relative == "." else relative


def keep_deleted(scan: Scan, old: Scan, rebuildable: Mapping[str, Absent]) -> Scan:
    """Add to a new listing of the lake the deleted tables that can be rebuilt, as the old scan knew them.

    Leave out tables that nothing is certain of: those that were in doubt when last listed, and all of them where edges
    rest on samples, which cannot be drawn again.
    """
    if not rebuildable or not scan.settings.verify:
        return scan
    here = {table.name for table in scan.tables} | {problem.where for problem in scan.problems}
    wanted = rebuildable.keys() - here - in_doubt(old)
    away = [(t, p) for t, p in zip(old.tables, old.profiles, strict=True) if t.name in wanted]
    all_of_them = sorted([*zip(scan.tables, scan.profiles, strict=True), *away], key=lambda known: known[0].name)
    absent = {table.name: rebuildable[table.name] for table, _ in away}
    return replace(
        scan,
        tables=tuple(table for table, _ in all_of_them),
        profiles=tuple(profile for _, profile in all_of_them),
        overlaps=scan.overlaps | {pair for pair in old.overlaps if not absent.keys().isdisjoint(pair)},
        absent=absent,
        unsampled=frozenset(absent),
    )
