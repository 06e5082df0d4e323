"""Which tables of a scan were deleted on purpose and are to be rebuilt: what the lake's own journal says now."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from r2d2.app.recovering import recover_lakes
from r2d2.errors import R2D2Error, UserError
from r2d2.model.counted import counted
from r2d2.model.scan import Scan
from r2d2.model.table import Absent, Table
from r2d2.safety.doctor import BAD, doctor
from r2d2.safety.files import Files, refuse_remote
from r2d2.safety.locked_lake import posix_files, read_registry
from r2d2.safety.paths import SAFETY
from r2d2.safety.plan import TableSeen
from r2d2.safety.posix_versions import modified_ns


def with_absent(scan: Scan) -> Scan:
    """The scan with what is true now of deleted tables; where that cannot be told, with what was known then."""
    recover_lakes(scan.roots)
    try:
        return replace(scan, absent=absent_tables(scan))
    except (R2D2Error, OSError):  # a damaged journal, say: `update` and `doctor` name it, showing a graph goes on
        return scan


def absent_tables(scan: Scan) -> Mapping[str, Absent]:
    """The tables that are no longer in the lake and can be had back, as the scan knows them. Nothing is changed.

    One that was not what the scan knows when it went is none of them: what the scan says is not true of it.
    """
    try:
        root = lake_root(scan)
    except UserError:  # several roots, or a lake that is elsewhere now
        return scan.absent
    with posix_files(root) as files:
        return _absent(scan, files) if files.stat(SAFETY) is not None else {}


def lake_root(scan: Scan) -> str:
    """The one folder that holds all tables of a scan: where safe deletion works."""
    for root in scan.roots:
        refuse_remote(root)
        refuse_gone(root)
    if len(scan.roots) != 1 or not os.path.isdir(scan.roots[0]):
        raise UserError(
            f"tables are deleted in one folder at a time, and the scan has {counted(len(scan.roots), 'roots')}"
            if len(scan.roots) != 1
            else f"{scan.roots[0]} is no folder of tables",
            hint="scan the folder that holds them all, with a state of its own: --state DIR",
        )
    return os.path.realpath(scan.roots[0])


def refuse_gone(root: str) -> None:
    """A lake that was scanned, and is not there now."""
    if "://" not in root and not os.path.lexists(root):
        raise UserError(f"{root} is not there any more", hint="is its disk mounted? If it was moved, scan it there")


def below(path: str, folder: str) -> str:
    """*path* below *folder*, with /; '' if it is that folder itself."""
    relative = os.path.relpath(path, folder)
    return "" if relative == "." else relative


def is_as_seen(table: Table, seen: TableSeen) -> bool:
    """Whether the files that hold a table's rows are those of the scan, by size and time."""
    scanned = {below(file.path, table.location): (file.size_bytes, file.modified_ns) for file in table.files}
    found = {file.path: (file.size_bytes, modified_ns(file.version)) for file in seen.files if file.holds_rows}
    return scanned == found


def _absent(scan: Scan, files: Files) -> dict[str, Absent]:
    active = read_registry(files).active
    if not active:
        return {}
    table_at = {below(table.location, files.root): table for table in scan.tables}
    wrong = {one.table: one.because for one in doctor(files, deep=False) if one.severity == BAD}
    return {
        table_at[child.location].name: Absent(slot.entry.parent_names, wrong.get(child.name, ""))
        for slot in active
        if (child := slot.entry.child).location in table_at
        and files.stat(child.location) is None
        and is_as_seen(table_at[child.location], child)
    }
