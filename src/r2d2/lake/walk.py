"""The walk through one root: each folder once; each file in a table, its `unexplained`, or a problem."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from r2d2.errors import UserError
from r2d2.lake.filters import Patterns
from r2d2.lake.found import Draft, Found, FoundLink
from r2d2.lake.listing import Folder, Listings, list_folder, look_at_file, printable
from r2d2.lake.partitions import Partitioned, data_file, read_partitions, split_partition
from r2d2.lake.recognise import (
    BOOKKEEPING,
    OTHER,
    PARQUET,
    is_passed_over,
    looks_like_a_part,
    parts_among,
    was_written_as_a_part,
)
from r2d2.lake.roots import Root
from r2d2.model.counted import counted
from r2d2.stores.contract import Store

_NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Told:
    """Knowledge about folders from before the walk: the user's patterns, and files that cannot be one table."""

    one: Patterns  # names of folders whose files are one table
    split: Patterns  # names of folders whose files are tables of their own
    apart: Collection[str] = ()  # paths of folders whose files do not fit one another, though they are named like parts

    def is_one(self, folder: Folder) -> bool:
        """Whether the folder's files are one table, as the user or their writer says."""
        return self.one.match_itself(folder.name) or folder.is_marked

    def is_split(self, folder: Folder) -> bool:
        """Whether the user says that the folder's files are tables of their own."""
        split = self.split.match_itself(folder.name)
        if split and self.one.match_itself(folder.name):
            raise UserError(
                f"--split and --folder-table both match {folder.name}",
                hint="its files are one table or several: change one of the two patterns",
            )
        return split


def walk(root: Root, found: Found, *, store: Store, told: Told, progress: Callable[[int], None]) -> None:
    """Add what lies at and below *root* to *found*. No recursion, however deep the lake."""
    if not os.path.isdir(root.path):
        _take_lone_file(root, found, store)
        return
    listings = Listings(store, now_and_then=lambda: progress(len(found.drafts)))
    first = list_folder(root.path, root.label, store, prefix=root.prefix)
    pending = _visit(first, None, found, listings, told)
    while pending:
        parent, name, above = pending.pop()
        folder = listings.look(parent, name)
        pending += _visit(folder, above, found, listings, told)
        listings.forget(folder)


def _visit(
    folder: Folder, above: Draft | None, found: Found, listings: Listings, told: Told
) -> list[tuple[Folder, str, Draft | None]]:
    """Sort what lies in one folder. Returns the folders in it to go on with and the table they lie in."""
    if folder.error or folder.table_format:
        _refuse_folder(folder, above, found)
        return []
    if folder.is_state:
        found.notice(folder.name, "is a state folder of r2d2, no part of the lake")
        _note(above, folder.path + "/")
        return []
    if told.is_split(folder):
        _take_loose_files(folder, frozenset(), above, found)
        _account_for_rest(folder, above, found)
        return [(folder, name, above) for name in reversed(folder.folders)]
    partitioned = read_partitions(folder, listings.look)
    data = folder.data_names
    if _is_partitioned(folder, partitioned, data, told):
        table = _take_partitions(folder, partitioned, data, above, found, told)
        listings.clear()
        below = _plain_folders(folder)
    else:
        table = _take_files(folder, data, above, found, told)
        below = folder.folders
        if partitioned.holds_rows:
            lone = _some(sorted(partitioned.tops))
            found.notice(folder.name, f"{lone} beside files was taken for a plain folder: its name is no column")
        if partitioned.is_foreign and not partitioned.holds_rows:
            _account_for_foreign(folder, partitioned, table or above, found)
            below = _plain_folders(folder)
    _account_for_rest(folder, table or above, found)
    return [(folder, name, table or above) for name in reversed(below)]


def _is_partitioned(folder: Folder, partitioned: Partitioned, data: Sequence[str], told: Told) -> bool:
    """Whether partition folders make the folder a table. A single one beside files is a folder like any other."""
    if not data:
        return partitioned.holds_rows
    return (
        bool(partitioned.tops)
        and (len(partitioned.tops) > 1 or told.is_one(folder))
        and (partitioned.holds_rows or partitioned.is_incomplete)
    )


def _take_files(folder: Folder, data: Sequence[str], above: Draft | None, found: Found, told: Told) -> Draft | None:
    """The files in a folder: the parts as one table, the others each as one."""
    is_one = told.is_one(folder)
    parts = parts_among(data, folder_name=os.path.basename(folder.path), is_one_table=is_one)
    by_names = not is_one and len(parts) > 1 and not all(map(was_written_as_a_part, parts))
    if by_names and folder.path in told.apart:
        found.notice(
            folder.name,
            f"{counted(len(parts), 'files')} are named like parts of one table ({_some(sorted(parts))}), but their "
            f"columns do not fit one another: each was taken for a table of its own",
        )
        _take_loose_files(folder, frozenset(), above, found, by_names=parts)
        return None
    table = _take_parts(folder, parts, above, found, by_names=by_names)
    _take_loose_files(folder, parts, table or above, found)
    return table


def _take_lone_file(root: Root, found: Found, store: Store) -> None:
    file = look_at_file(root.path, store, is_regular=os.path.isfile(root.path))
    if file.error:
        found.unreadable(root.label, [file.error])
    elif file.format == PARQUET:
        found.add(root.label, root.path, [data_file(root.path, file)], is_folder=False)
    elif file.format != OTHER:
        found.refuse_files(root.label, Counter([file.format]))
    else:
        found.notice(root.label, "is a file of no known format")


def _take_partitions(
    folder: Folder, partitioned: Partitioned, data: Sequence[str], above: Draft | None, found: Found, told: Told
) -> Draft | None:
    """The folder as a partitioned table, if all in it agrees; files beside its partition folders are no part of it."""
    conflicts = list(partitioned.conflicts)
    doubtful = data if told.is_one(folder) else [name for name in data if looks_like_a_part(name)]
    if doubtful:
        conflicts.insert(0, f"data lies beside its partition folders ({_some(doubtful)})")
    linked = [link.name for link in folder.links if split_partition(link.name) is not None]
    conflicts += [f"{folder.name_of(name)} is a link" for name in linked]
    if doubtful:
        way_out = f"make its files and folders tables of their own with --split {shlex.quote(folder.name)}, "
        _fail(folder, conflicts, above, found, way_out=way_out)
        return None
    table = None
    if conflicts:
        _fail(folder, conflicts, above, found)
    else:
        table = found.add(folder.name, folder.path, partitioned.files, is_folder=True)
        for path in partitioned.unexplained:
            table.note(path)
    if data:
        found.notice(folder.name, f"files beside its partition folders ({_some(data)}) were taken for no part of it")
    _take_loose_files(folder, frozenset(), table or above, found)
    return table


def _take_parts(
    folder: Folder, parts: frozenset[str], above: Draft | None, found: Found, *, by_names: bool
) -> Draft | None:
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
    content = [data_file(folder.path_of(file.name), file) for file in files]
    return found.add(folder.name, folder.path, content, is_folder=True, by_names=by_names)


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


def _take_loose_files(
    folder: Folder, parts: frozenset[str], nearest: Draft | None, found: Found, *, by_names: Collection[str] = ()
) -> None:
    """The other Parquet files in a folder, each as a table; those in *by_names* are named like parts."""
    for file in folder.files:
        if file.may_hold_rows and file.name not in parts:
            if file.error:
                found.unreadable(folder.name_of(file.name), [file.error])
                _note(nearest, folder.path_of(file.name))
            else:
                content = data_file(folder.path_of(file.name), file)
                name, is_part = folder.name_of(file.name), file.name in by_names
                found.add(name, content.path, [content], is_folder=False, by_names=is_part)


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


def _fail(folder: Folder, reasons: Sequence[str], above: Draft | None, found: Found, *, way_out: str = "") -> None:
    """The folder is a table that cannot be used: wholly left out, never read in part (HAZARDS 26)."""
    found.unreadable(folder.name, reasons, way_out=way_out)
    _note(above, folder.path + "/")


def _note(table: Draft | None, path: str) -> None:
    if table is not None:
        table.note(path)


def _plain_folders(folder: Folder) -> list[str]:
    return [name for name in folder.folders if split_partition(name) is None]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown}, …"
