"""Run a recipe into a folder of ours and see that what came out is exact. Used by drill and restore."""

from __future__ import annotations

from dataclasses import dataclass

from r2d2.safety.files import FILE, Files
from r2d2.safety.moving import in_quarantine
from r2d2.safety.paths import check_path, join
from r2d2.safety.plan import Entry
from r2d2.safety.rebuilder import Placed, Rebuilder
from r2d2.safety.refused import Changed, Refused
from r2d2.safety.registry import Slot
from r2d2.safety.tables import Look, below, examine, look_at, placed, some


@dataclass(frozen=True, slots=True)
class Parent:
    """A parent that was found unchanged, and how it looked then."""

    placed: Placed
    look: Look


def examine_parent(files: Files, entry: Entry) -> Parent:
    """The parent, if the files that were pinned are unchanged to the byte. Files added since are not read."""
    parent = entry.parent
    try:
        look = examine(files, parent, parent.location, alone=False)
    except Changed as error:
        raise drifted(entry, error) from error
    return Parent(placed(files, parent, parent.location), look)


def drifted(entry: Entry, error: Changed) -> Changed:
    """A parent that is not what it was cannot rebuild the child: what is wrong, and what would help (HAZARDS 15)."""
    return Changed(
        f"{entry.child.name!r} cannot be rebuilt: its parent {error.args[0]}",
        hint=f"bring the files of {entry.parent.name!r} back from a backup; `r2d2 doctor` names them",
    )


def rebuild_into(lake: Files, there: Files, entry: Entry, folder: str, *, parent: Parent, by: Rebuilder) -> Placed:
    """Make *folder* in *there*, rebuild the child into it, and see that it holds what it should and no more."""
    there.make_folder(folder)
    into = join(there.root, folder)
    one_file = not entry.child.is_folder
    written = by.rebuild(recipe=entry.recipe, parent=parent.placed, into=into, one_file=one_file)
    refuse_odd_output(there, folder, written, one_file=one_file)
    rebuilt = Placed(into, written)
    refuse_inexact(entry, by, rebuilt)
    refuse_parent_in_motion(lake, entry, parent)
    return rebuilt


def refuse_odd_output(files: Files, folder: str, written: tuple[str, ...], *, one_file: bool) -> None:
    """Exactly the files that the rebuilder names, all of them regular, in the folder that it was given."""
    found = set(below(files, folder))
    odd = sorted(found ^ set(written)) + [path for path in sorted(found) if not _is_file(files, join(folder, path))]
    if odd or not written or (one_file and len(written) != 1):
        raise Refused(f"the rebuilder left something odd: {some(odd) or len(written)}", hint="report this")


def refuse_inexact(entry: Entry, by: Rebuilder, rebuilt: Placed) -> None:
    """What was rebuilt must have the counts and the digest that the child had (HAZARDS 15, 20)."""
    content = by.measure(rebuilt)
    if content != entry.expected:
        raise Changed(
            f"what the recipe made of {entry.child.name!r} is not what was deleted: "
            f"{content.rows} rows for {entry.expected.rows}, or another digest",
            hint="nothing was put in place; `r2d2 doctor` checks the parent",
        )


def refuse_parent_in_motion(files: Files, entry: Entry, parent: Parent) -> None:
    """A parent that was written to while it was read was perhaps read half old, half new (HAZARDS 14)."""
    table = entry.parent
    now = look_at(files, table, table.location)
    if now.files != parent.look.files:
        raise Changed(f"{table.name!r} is being written to", hint="wait until its writer has ended")


def examine_quarantined(files: Files, slot: Slot) -> Placed:
    """The table in quarantine, if it is whole and unchanged to the byte."""
    aside = in_quarantine(slot.slot)
    examine(files, slot.entry.child, aside, alone=True)
    return placed(files, slot.entry.child, aside)


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
