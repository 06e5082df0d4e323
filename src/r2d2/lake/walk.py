"""The walk through one root: each folder once; each file in a table, its `unexplained`, or a problem."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from r2d2.errors import TableError, UserError
from r2d2.formats.contract import Claim
from r2d2.formats.registry import format_named, is_read
from r2d2.lake.account import account_for_foreign, account_for_rest, fail, note, refuse_folder, some
from r2d2.lake.filters import Patterns
from r2d2.lake.found import Draft, Found
from r2d2.lake.listing import Folder, Listings, list_folder, look_at_file
from r2d2.lake.partitions import Partitioned, data_file, mixed_formats, read_partitions, split_partition
from r2d2.lake.recognise import (
    OTHER,
    looks_like_a_part,
    parts_among,
    was_written_as_a_part,
)
from r2d2.lake.roots import Root
from r2d2.model.counted import counted
from r2d2.model.progress import News, Progress
from r2d2.stores.contract import Store


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


def walk(root: Root, found: Found, *, store: Store, told: Told, progress: Progress) -> None:
    """Add what lies at and below *root* to *found*. No recursion, however deep the lake."""
    if not os.path.isdir(root.path):
        _take_lone_file(root, found, store)
        return
    listings = Listings(store, now_and_then=lambda: progress(News("discover", len(found.drafts))))
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
        refuse_folder(folder, above, found)
        return []
    if folder.claim is not None:
        _take_claimed(folder, folder.claim, above, found, listings.store)
        return []
    if folder.is_state:
        found.notice(folder.name, "is a state folder of r2d2, no part of the lake")
        note(above, folder.path + "/")
        return []
    if told.is_split(folder):
        _take_loose_files(folder, frozenset(), above, found)
        account_for_rest(folder, above, found)
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
            lone = some(sorted(partitioned.tops))
            found.notice(folder.name, f"{lone} beside files was taken for a plain folder: its name is no column")
        if partitioned.is_foreign and not partitioned.holds_rows:
            account_for_foreign(folder, partitioned, table or above, found)
            below = _plain_folders(folder)
    account_for_rest(folder, table or above, found)
    return [(folder, name, table or above) for name in reversed(below)]


def _take_claimed(folder: Folder, claim: Claim, above: Draft | None, found: Found, store: Store) -> None:
    """The folder as a table whose format lists its files; nothing in it is looked at otherwise."""
    try:
        described = format_named(claim.format).describe(claim, store)
    except (TableError, OSError) as error:
        fail(folder, [str(error.args[0] if isinstance(error, TableError) else error)], above, found)
        return
    table = found.add(folder.name, folder.path, described.files, is_folder=True, format=claim.format)
    for path in described.unexplained:
        table.note(path)
    note(above, folder.path + "/")


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
            f"{counted(len(parts), 'files')} are named like parts of one table ({some(sorted(parts))}), but their "
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
    elif is_read(file.format):
        found.add(root.label, root.path, [data_file(root.path, file)], is_folder=False, format=file.format)
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
        conflicts.insert(0, f"data lies beside its partition folders ({some(doubtful)})")
    linked = [link.name for link in folder.links if split_partition(link.name) is not None]
    conflicts += [f"{folder.name_of(name)} is a link" for name in linked]
    if doubtful:
        way_out = f"make its files and folders tables of their own with --split {shlex.quote(folder.name)}, "
        fail(folder, conflicts, above, found, way_out=way_out)
        return None
    table = None
    if conflicts:
        fail(folder, conflicts, above, found)
    else:
        (format_name,) = partitioned.formats
        table = found.add(folder.name, folder.path, partitioned.files, is_folder=True, format=format_name)
        for path in partitioned.unexplained:
            table.note(path)
    if data:
        found.notice(folder.name, f"files beside its partition folders ({some(data)}) were taken for no part of it")
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
    formats = {file.format for file in files}
    reasons += mixed_formats(formats)
    if reasons:
        fail(folder, reasons, above, found)
        return None
    _name_mixture(folder, parts, found)
    content = [data_file(folder.path_of(file.name), file) for file in files]
    return found.add(folder.name, folder.path, content, is_folder=True, format=formats.pop(), by_names=by_names)


def _name_mixture(folder: Folder, parts: frozenset[str], found: Found) -> None:
    """Say so where only some of a folder's data files make its table."""
    loose = [file.name for file in folder.files if file.may_hold_rows and file.name not in parts]
    if loose:
        found.notice(
            folder.name,
            f"files named like parts ({some(sorted(parts))}) were taken for one table, "
            f"the others ({some(loose)}) for tables of their own",
            hint=f"--folder-table {shlex.quote(folder.name)} makes all of them one table",
        )


def _take_loose_files(
    folder: Folder, parts: frozenset[str], nearest: Draft | None, found: Found, *, by_names: Collection[str] = ()
) -> None:
    """The other data files in a folder, each as a table; those in *by_names* are named like parts."""
    for file in folder.files:
        if file.may_hold_rows and file.name not in parts:
            if file.error:
                found.unreadable(folder.name_of(file.name), [file.error])
                note(nearest, folder.path_of(file.name))
            else:
                content = data_file(folder.path_of(file.name), file)
                name, is_part = folder.name_of(file.name), file.name in by_names
                found.add(name, content.path, [content], is_folder=False, format=file.format, by_names=is_part)


def _plain_folders(folder: Folder) -> list[str]:
    return [name for name in folder.folders if split_partition(name) is None]
