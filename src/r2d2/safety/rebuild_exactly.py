"""Run recipes into work folders and check that the output is exact. Used by drill and restore."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Content, Placed, Rebuild
from r2d2.safety.errors import Changed, DiskError, Refused
from r2d2.safety.files import FILE, Files
from r2d2.safety.parents_on_disk import ParentsOnDisk
from r2d2.safety.paths import check_path, join
from r2d2.safety.per_table import ask, each, own_errors
from r2d2.safety.plan import Entry, TableSeen, is_bookkeeping
from r2d2.safety.ports import Rebuilder
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.registry import Slot
from r2d2.safety.snapshots import Examined, Look, Tables, below, examine, placed, some


@dataclass(slots=True)
class Rebuilding:
    """A table that is being rebuilt into a work folder."""

    entry: Entry
    folder: str
    parents: tuple[Look, ...] = ()  # snapshots from when they were found unchanged
    rebuilt: Placed | None = None
    error: R2D2Error | None = None


def examine_parents(parents: Examined | ParentsOnDisk, entry: Entry) -> tuple[Look, ...]:
    """Snapshots of the parents, once their pinned files are found unchanged to the byte. Added files are ignored."""
    return tuple(_examine_parent(parents, entry, parent) for parent in entry.parents)


def _examine_parent(parents: Examined | ParentsOnDisk, entry: Entry, parent: TableSeen) -> Look:
    try:
        with own_errors():
            return parents.look(parent.rows)
    except Changed as error:
        raise drifted(entry, parent, error) from error
    except DiskError as error:
        raise unreadable(entry, parent, error) from error


def drifted(entry: Entry, parent: TableSeen, error: Changed) -> Changed:
    """The error for a parent that changed and so cannot rebuild the child, with a hint (HAZARDS 15)."""
    return Changed(
        f"{entry.child.name!r} cannot be rebuilt: its parent {error.args[0]}",
        hint=f"bring the files of {parent.name!r} back from a backup; `r2d2 doctor` names them",
    )


def unreadable(entry: Entry, parent: TableSeen, error: DiskError) -> DiskError:
    """The error for a parent that cannot be read and may be unchanged: only this child waits."""
    return DiskError(
        f"{entry.child.name!r} cannot be rebuilt: its parent {parent.name!r} cannot be read ({error.__cause__})",
        hint="fix that and try again; if the disk is broken, bring the parent's files back from a backup",
    )


def rebuild_all(lake: Tables, there: Files, trials: Sequence[Rebuilding], by: Rebuilder) -> None:
    """Make a folder in *there* for each table, rebuild the child into it, and check its files and content."""
    parents = Examined(lake, alone=False)

    def begin(one: Rebuilding) -> None:
        one.parents = examine_parents(parents, one.entry)
        there.make_folder(one.folder)

    def question(one: Rebuilding) -> Rebuild:
        sources = tuple(placed(lake, parent, parent.location) for parent in one.entry.parents)
        return Rebuild(one.entry.recipe, sources, join(there.root, one.folder), not one.entry.child.is_folder)

    def take(one: Rebuilding, written: tuple[str, ...]) -> None:
        refuse_odd_output(there, one.folder, written, one_file=not one.entry.child.is_folder)
        one.rebuilt = Placed(join(there.root, one.folder), written)

    each(trials, begin)
    ask(trials, lambda some: by.rebuild_many([question(one) for one in some]), take)
    ask(trials, lambda some: by.measure_many([rebuilt(one) for one in some]), refuse_inexact)
    each(trials, lambda one: refuse_parent_in_motion(lake, one))


def rebuilt(one: Rebuilding) -> Placed:
    """The rebuilt table; it must have been rebuilt."""
    assert one.rebuilt is not None
    return one.rebuilt


def refuse_odd_output(files: Files, folder: str, written: tuple[str, ...], *, one_file: bool) -> None:
    """Refuse a work folder that holds anything but the regular files that the rebuilder returned."""
    found = set(below(files, folder))
    odd = sorted(found ^ set(written)) + [path for path in sorted(found) if not _is_file(files, join(folder, path))]
    if odd or not written or (one_file and len(written) != 1):
        raise Refused(f"the rebuilder left unexpected files: {some(odd) or len(written)}", hint="report this")


def refuse_inexact(one: Rebuilding, content: Content) -> None:
    """Refuse a rebuilt table with other counts or another digest than the child had (HAZARDS 15, 20)."""
    entry = one.entry
    if content != entry.expected:
        raise Changed(
            f"what the recipe rebuilt differs from the deleted {entry.child.name!r}: "
            f"{content.rows} rows for {entry.expected.rows}, or another digest",
            hint="nothing was put in place; `r2d2 doctor` checks the parent",
        )


def refuse_parent_in_motion(lake: Tables, one: Rebuilding) -> None:
    """Refuse a parent that was written to during the rebuild: old and new rows may be mixed (HAZARDS 14)."""
    for parent, before in zip(one.entry.parents, one.parents, strict=True):
        if lake.snapshot(parent.rows, parent.location).files != before.files:
            raise Changed(f"{parent.name!r} is being written to", hint="wait until its writer has ended")


def examine_quarantined(lake: Tables, slot: Slot) -> Placed:
    """The table in quarantine, if it is whole and unchanged to the byte."""
    aside = in_quarantine(slot.slot)
    examine(lake, slot.entry.child, aside, alone=True)
    return placed(lake, slot.entry.child, aside)


def has_all_its_rows(lake: Tables, slot: Slot) -> bool:
    """Whether the copy in quarantine has every file that holds rows, unchanged, and beside them only bookkeeping."""
    rows = slot.entry.child.rows
    try:
        with own_errors():
            look = examine(lake, rows, in_quarantine(slot.slot), alone=False)
    except (Changed, DiskError):
        return False
    return all(is_bookkeeping(path) for path in look.others)


def sync_tree(files: Files, folder: str, paths: tuple[str, ...]) -> None:
    """Put the content and the names of a folder's files on disk, before anyone relies on them (HAZARDS 22)."""
    folders = {folder}
    for path in paths:
        check_path(path)
        files.sync(join(folder, path))
        parts = path.split("/")
        folders.update(join(folder, "/".join(parts[:depth])) for depth in range(1, len(parts)))
    for path in sorted(folders, reverse=True):
        files.sync(path)


def _is_file(files: Files, path: str) -> bool:
    found = files.stat(path)
    return found is not None and found.kind == FILE
