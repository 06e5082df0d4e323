"""The walk through one root: each folder once; each file in a table, its `unexplained`, or a problem."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Sequence

from r2d2.lake.found import Draft, Found, FoundLink, counted
from r2d2.lake.listing import Folder, Listings, list_folder, look_at_file, printable
from r2d2.lake.partitions import Partitioned, data_file, read_partitions, split_partition
from r2d2.lake.recognise import BOOKKEEPING, OTHER, PARQUET, is_passed_over, parts_among
from r2d2.lake.roots import Root

_NAMES_SHOWN = 3

Forced = Callable[[str], bool]
"""Whether the user wants the folder of this name to be one table."""


def walk(root: Root, found: Found, *, is_forced: Forced, progress: Callable[[int], None]) -> None:
    """Add what lies at and below *root* to *found*. No recursion, however deep the lake."""
    if not os.path.isdir(root.path):
        _take_lone_file(root, found)
        return
    listings = Listings(now_and_then=lambda: progress(len(found.drafts)))
    first = list_folder(root.path, root.label, prefix=root.prefix)
    pending = _visit(first, None, found, listings, is_forced)
    while pending:
        parent, name, above = pending.pop()
        folder = listings.look(parent, name)
        pending += _visit(folder, above, found, listings, is_forced)
        listings.forget(folder)


def _visit(
    folder: Folder, above: Draft | None, found: Found, listings: Listings, is_forced: Forced
) -> list[tuple[Folder, str, Draft | None]]:
    """Sort what lies in one folder. Returns the folders in it to go on with and the table they lie in."""
    if folder.error or folder.table_format:
        _refuse_folder(folder, above, found)
        return []
    if folder.is_state:
        found.notice(folder.name, "is a state folder of r2d2, no part of the lake")
        _note(above, folder.path + "/")
        return []
    partitioned = read_partitions(folder, listings.look)
    data = folder.data_names
    if partitioned.holds_rows or (partitioned.is_incomplete and data):
        table = _take_partitions(folder, partitioned, data, above, found)
        listings.clear()
        below = _plain_folders(folder)
    else:
        one = folder.is_marked or is_forced(folder.name)
        parts = parts_among(data, folder_name=os.path.basename(folder.path), is_one_table=one)
        table = _take_parts(folder, parts, above, found)
        _take_loose_files(folder, parts, table or above, found)
        below = folder.folders
        if partitioned.is_foreign:
            _account_for_foreign(folder, partitioned, table or above, found)
            below = _plain_folders(folder)
    _account_for_rest(folder, table or above, found)
    return [(folder, name, table or above) for name in reversed(below)]


def _take_lone_file(root: Root, found: Found) -> None:
    file = look_at_file(root.path, is_regular=os.path.isfile(root.path))
    if file.error:
        found.unreadable(root.label, [file.error])
    elif file.format == PARQUET:
        found.add(root.label, root.path, [data_file(root.path, file)], is_folder=False)
    elif file.format != OTHER:
        found.refuse_files(root.label, Counter([file.format]))
    else:
        found.notice(root.label, "is a file of no known format")


def _take_partitions(
    folder: Folder, partitioned: Partitioned, data: Sequence[str], above: Draft | None, found: Found
) -> Draft | None:
    """The folder as a partitioned table, if all in it agrees."""
    conflicts = list(partitioned.conflicts)
    if data:
        conflicts.insert(0, f"data lies beside its partition folders ({_some(data)})")
    linked = [link.name for link in folder.links if split_partition(link.name) is not None]
    conflicts += [f"{folder.name_of(name)} is a link" for name in linked]
    if conflicts:
        _fail(folder, conflicts, above, found)
        return None
    table = found.add(folder.name, folder.path, partitioned.files, is_folder=True)
    for path in partitioned.unexplained:
        table.note(path)
    return table


def _take_parts(folder: Folder, parts: frozenset[str], above: Draft | None, found: Found) -> Draft | None:
    """The part files in a folder as a table, if all of them can be used."""
    files = [file for file in folder.files if file.name in parts]
    if not files:
        return None
    reasons = [f"{folder.name_of(file.name)} {file.error}" for file in files if file.error]
    # A reader would follow the link: without it the table lacks rows, with it a file is in two tables.
    reasons += [f"{folder.name_of(link.name)} is a link" for link in folder.links if link.name in parts]
    if reasons:
        _fail(folder, reasons, above, found)
        return None
    _name_mixture(folder, parts, found)
    return found.add(
        folder.name, folder.path, [data_file(folder.path_of(file.name), file) for file in files], is_folder=True
    )


def _name_mixture(folder: Folder, parts: frozenset[str], found: Found) -> None:
    """Say so where only some of a folder's Parquet files make its table."""
    loose = [file.name for file in folder.files if file.may_hold_rows and file.name not in parts]
    if loose:
        found.notice(
            folder.name,
            f"files named like parts ({_some(sorted(parts))}) were taken for one table, "
            f"the others ({_some(loose)}) for tables of their own",
            hint=f"--folder-table {shlex.quote(folder.name)} makes all of them one table",
        )


def _take_loose_files(folder: Folder, parts: frozenset[str], nearest: Draft | None, found: Found) -> None:
    """The other Parquet files in a folder, each as a table."""
    for file in folder.files:
        if file.may_hold_rows and file.name not in parts:
            if file.error:
                found.unreadable(folder.name_of(file.name), [file.error])
                _note(nearest, folder.path_of(file.name))
            else:
                content = data_file(folder.path_of(file.name), file)
                found.add(folder.name_of(file.name), content.path, [content], is_folder=False)


def _account_for_foreign(folder: Folder, partitioned: Partitioned, nearest: Draft | None, found: Found) -> None:
    """Partition folders that hold nothing but files of other formats."""
    if nearest is None:
        found.refuse_files(folder.name, partitioned.foreign, where=" in partition folders")
    for path in partitioned.unexplained:
        _note(nearest, path)


def _account_for_rest(folder: Folder, nearest: Draft | None, found: Found) -> None:
    """What is no table: kept with the table that it lies in, else named."""
    rest = [file for file in folder.files if not file.may_hold_rows and file.format != BOOKKEEPING]
    found.links += [FoundLink(folder.name_of(link.name), folder.path, link) for link in folder.links]
    if nearest is not None:
        links, hidden = [link.name for link in folder.links], [f"{name}/" for name in folder.hidden]
        for name in [*(file.name for file in rest), *links, *hidden]:
            nearest.note(folder.path_of(name))
        return
    found.refuse_files(folder.name, Counter(file.format for file in rest if file.format != OTHER))
    others = [file.name for file in rest if file.format == OTHER]
    if others:
        found.notice(folder.name, f"{counted(len(others), 'other files')}, no table ({_some(others)})")
    for name in folder.hidden:
        if not is_passed_over(name):
            found.notice(folder.name_of(name), "is a hidden folder, which is not looked into")


def _refuse_folder(folder: Folder, above: Draft | None, found: Found) -> None:
    if folder.error:
        found.unreadable(folder.name, [folder.error])
    else:
        found.refuse_table(folder)
    _note(above, folder.path + "/")


def _fail(folder: Folder, reasons: Sequence[str], above: Draft | None, found: Found) -> None:
    """The folder is a table that cannot be used: wholly left out, never read in part (HAZARDS 26)."""
    found.unreadable(folder.name, reasons)
    _note(above, folder.path + "/")


def _note(table: Draft | None, path: str) -> None:
    if table is not None:
        table.note(path)


def _plain_folders(folder: Folder) -> list[str]:
    return [name for name in folder.folders if split_partition(name) is None]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown}, …"
