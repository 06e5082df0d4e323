"""Bring a deleted table back: from quarantine if it is whole there, else by its recipe. Exact, or not at all.

Nothing is ever overwritten: what is put in place was verified elsewhere first and is moved by a rename that fails if
the name is taken (HAZARDS 21).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from r2d2.errors import R2D2Error
from r2d2.safety.files import Files
from r2d2.safety.find import deleted, find_slot, refuse_unsettled
from r2d2.safety.lake import Lake
from r2d2.safety.moving import in_quarantine, in_work, make_folders_above, move_durably, remove_all, scrap
from r2d2.safety.paths import SAFETY, join
from r2d2.safety.plan import TableSeen
from r2d2.safety.rebuild import examine_parent, examine_quarantined, rebuild_into, sync_tree
from r2d2.safety.rebuilder import Rebuilder
from r2d2.safety.records import Restored, RestoreIntended, RestoreUndone
from r2d2.safety.refused import Changed, JournalStopped, Refused
from r2d2.safety.registry import Slot, State
from r2d2.safety.tables import refuse_other_content

BY_QUARANTINE, BY_RECIPE = "quarantine", "recipe"


@dataclass(frozen=True, slots=True)
class Restore:
    """What became of one table."""

    table: str
    slot: str
    is_restored: bool
    by: str  # quarantine or recipe
    path: str  # absolute; where it is now
    because: str  # why not, or why not from quarantine


def restore(
    lake: Lake, *, rebuilder: Rebuilder, tables: Iterable[str] | None = None, to: Files | None = None
) -> tuple[Restore, ...]:
    """Restore some deleted tables, or all. With *to*, copies go there and the tables stay deleted.

    With one table that cannot be restored Refused is raised; with several, each says for itself what became of it.
    """
    if tables is None:
        return tuple(_restore_or_say(lake, slot, rebuilder, to) for slot in reversed(deleted(lake.registry)))
    slots = [find_slot(lake.registry, table) for table in tables]
    if len(slots) == 1:
        return (restore_one(lake, slots[0], rebuilder=rebuilder, to=to),)
    return tuple(_restore_or_say(lake, slot, rebuilder, to) for slot in slots)


def _restore_or_say(lake: Lake, slot: Slot, rebuilder: Rebuilder, to: Files | None) -> Restore:
    try:
        return restore_one(lake, slot, rebuilder=rebuilder, to=to)
    except JournalStopped:
        raise
    except R2D2Error as error:
        return Restore(slot.entry.child.name, slot.slot, False, "", "", str(error))


def restore_one(lake: Lake, slot: Slot, *, rebuilder: Rebuilder, to: Files | None = None) -> Restore:
    """Restore one table, or say by Refused why not."""
    refuse_unsettled(slot)
    refuse_inside_safety(lake.files, to)
    there = to or lake.files
    refuse_occupied(there, slot.entry.child)
    because = _why_not_from_quarantine(lake, slot)
    if to is not None:
        _copy(lake, slot, to, rebuilder, from_quarantine=not because)
    elif not because:
        _move_home(lake, slot, in_quarantine(slot.slot))
    else:
        _rebuild_home(lake, slot, rebuilder)
    path = join(there.root, slot.entry.child.location)
    return Restore(slot.entry.child.name, slot.slot, True, BY_RECIPE if because else BY_QUARANTINE, path, because)


def refuse_occupied(files: Files, child: TableSeen) -> None:
    """What lies there is not ours to replace (HAZARDS 21). The move itself would refuse, too; this is sooner."""
    if files.stat(child.location) is not None:
        raise Refused(
            f"something lies at {os.path.join(files.root, child.location)!r} already",
            hint="move it away, or restore to another folder",
        )


def refuse_inside_safety(lake: Files, to: Files | None) -> None:
    """A copy in the safety folder would be taken for something of ours."""
    if to is not None and f"{to.root}/".startswith(f"{join(lake.root, SAFETY)}/"):
        raise Refused(f"{to.root} is in the safety folder", hint="restore to another folder")


def _why_not_from_quarantine(lake: Lake, slot: Slot) -> str:
    if slot.state is State.PURGED:
        return "it was purged"
    try:
        examine_quarantined(lake.files, slot)
    except Changed as error:
        return f"its copy in quarantine is damaged: {error.args[0]}"
    except OSError as error:
        return f"its copy in quarantine cannot be read: {error}"
    return ""


def _move_home(lake: Lake, slot: Slot, source: str) -> None:
    """Move a verified table to its place, recorded before and after."""
    files, home = lake.files, slot.entry.child.location
    make_folders_above(files, home)
    found = files.stat(source)
    if found is None:
        raise Changed(f"{slot.entry.child.name!r} has vanished from {source!r}", hint="run `r2d2 doctor`")
    lake.write(RestoreIntended(slot.slot, source, found.inode, lake.now()))
    try:
        move_durably(files, source, home)
    except FileExistsError as error:
        lake.write(RestoreUndone(slot.slot, "something came to lie at its place", lake.now()))
        raise Refused(f"something came to lie at {home!r}", hint="move it away and try again") from error
    lake.write(Restored(slot.slot, lake.now()))


def _rebuild_home(lake: Lake, slot: Slot, rebuilder: Rebuilder) -> None:
    files, work, child = lake.files, in_work(slot.slot), slot.entry.child
    try:
        parent = examine_parent(files, slot.entry)
        rebuilt = rebuild_into(files, files, slot.entry, work, parent=parent, by=rebuilder)
        sync_tree(files, work, rebuilt.files)
        _move_home(lake, slot, work if child.is_folder else join(work, rebuilt.files[0]))
    except JournalStopped:
        raise
    except R2D2Error:
        scrap(files, work)
        raise
    if not child.is_folder:
        scrap(files, work)


def _copy(lake: Lake, slot: Slot, to: Files, rebuilder: Rebuilder, *, from_quarantine: bool) -> None:
    """Put a verified copy into another folder, under the table's own path. Nothing is recorded: nothing changed."""
    child, work = slot.entry.child, f".r2d2-restoring-{slot.slot}"
    remove_all(to, work)  # what an earlier attempt left
    try:
        if from_quarantine:
            written = _copy_files(lake.files, slot, to, work)
        else:
            parent = examine_parent(lake.files, slot.entry)
            written = rebuild_into(lake.files, to, slot.entry, work, parent=parent, by=rebuilder).files
        sync_tree(to, work, written)
        make_folders_above(to, child.location)
        _move_copy(to, work if child.is_folder else join(work, written[0]), child.location)
    finally:
        remove_all(to, work)


def _move_copy(to: Files, source: str, target: str) -> None:
    try:
        move_durably(to, source, target)
    except FileExistsError as error:
        raise Refused(f"something came to lie at {target!r}", hint="move it away and try again") from error


def _copy_files(lake: Files, slot: Slot, to: Files, work: str) -> tuple[str, ...]:
    to.make_folder(work)
    child, aside = slot.entry.child, in_quarantine(slot.slot)
    written: list[str] = []
    for file in child.files:
        path = file.path or child.location.rpartition("/")[2]
        make_folders_above(to, join(work, path))
        to.create(join(work, path), lake.chunks(join(aside, file.path)))
        refuse_other_content(to, file, join(work, path), child.name)
        written.append(path)
    return tuple(written)
