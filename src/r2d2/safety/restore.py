"""Restore a deleted table: from quarantine if it is whole there, else by its recipe. Exactly, or not at all.

Nothing is ever overwritten: a table is verified elsewhere first and then moved by a rename that fails if the name is
taken (HAZARDS 21).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from r2d2.model.rebuild import Placed
from r2d2.safety.batches import batches
from r2d2.safety.deleted import find_slot, refuse_unsettled
from r2d2.safety.errors import Changed, DiskError, NotMoved, Refused, in_one_line
from r2d2.safety.files import Files
from r2d2.safety.locked_lake import Lake
from r2d2.safety.paths import SAFETY, folder_of, join
from r2d2.safety.per_table import each
from r2d2.safety.plan import TableSeen, folders_of
from r2d2.safety.ports import Rebuilder
from r2d2.safety.quarantine import (
    in_quarantine,
    in_work,
    make_folders_above,
    move_durably,
    remove_all,
    scrap_or_say,
)
from r2d2.safety.rebuild_exactly import (
    Rebuilding,
    examine_parents,
    examine_quarantined,
    has_all_its_rows,
    rebuild_all,
    rebuilt,
    sync_tree,
)
from r2d2.safety.records import Purged, PurgeUndone, Restored, RestoreIntended, RestoreUndone
from r2d2.safety.registry import Slot, State
from r2d2.safety.snapshots import Examined, PosixTables, holds_bytes, refuse_checksum_beside, refuse_other_content

BY_QUARANTINE, BY_RECIPE = "quarantine", "recipe"


@dataclass(frozen=True, slots=True)
class Restore:
    """Outcome of a restore for one table."""

    table: str
    slot: str
    is_restored: bool
    by: str  # quarantine or recipe
    path: str  # absolute; where it is now
    because: str  # the reason if it was not restored, or was restored by its recipe instead


@dataclass(slots=True, kw_only=True)
class Restoring(Rebuilding):
    """A table while it is restored to its place, or copied to another folder."""

    slot: Slot
    because: str = ""  # the reason if it is not restored from quarantine


def restore(
    lake: Lake, *, rebuilder: Rebuilder, tables: Iterable[str] | None = None, to: Files | None = None
) -> tuple[Restore, ...]:
    """Restore the named deleted tables, or all. With *to*, copies go there and the tables stay deleted.

    A single named table that cannot be restored raises Refused; among several, each has its own outcome.
    """
    if tables is None:
        slots = list(reversed(lake.registry.active))  # unsettled tables are refused one by one
    else:
        tables = tuple(tables)
        named = (find_slot(lake.registry, table, given_up_too=True) for table in tables)
        slots = list({slot.slot: slot for slot in named}.values())
    some = batches(slots, entry_of=lambda slot: slot.entry)
    done = [one for batch in some for one in _restore(lake, batch, rebuilder, to)]
    if tables is not None and len(tables) == 1 and done[0].error is not None:
        raise done[0].error
    return tuple(_outcome(one, (to or lake.files).root) for one in done)


def _restore(lake: Lake, slots: Sequence[Slot], by: Rebuilder, to: Files | None) -> list[Restoring]:
    """Restore some tables. Those in quarantine go first: they only need a move."""
    work = in_copy if to is not None else in_work
    trials = [Restoring(slot.entry, work(slot.slot), slot=slot) for slot in slots]
    parents = Examined(lake.quarantine, alone=False)
    each(trials, lambda one: _begin(lake, one, parents, to))
    if to is None:
        each([one for one in trials if not one.because], lambda one: _move_home(lake, one.slot, _aside(one)))
        _rebuild_home(lake, [one for one in trials if one.because], by)
    else:
        _copy(lake, trials, to, by)
    return trials


def _begin(lake: Lake, one: Restoring, parents: Examined, to: Files | None) -> None:
    can_be_asked_for = one.slot.state in (State.PURGING, State.FORGOTTEN) or lake.quarantine.is_stranded(one.slot)
    if not can_be_asked_for and not _waits(lake, one, to):
        refuse_unsettled(one.slot)
    refuse_inside_safety(lake.files, to)
    refuse_the_lake_itself(lake.files, to)
    refuse_occupied(to or lake.files, one.entry.child)
    one.because = _why_not_from_quarantine(lake, one.slot, parents)
    if one.because:
        refuse_checksum_beside(to or lake.files, one.entry.child)


def _waits(lake: Lake, one: Restoring, to: Files | None) -> bool:
    """Whether a table that waits in quarantine for its occupied place can be copied elsewhere."""
    return to is not None and one.slot.state is State.MOVING and lake.quarantine.identity(_aside(one)) is not None


def _outcome(one: Restoring, root: str) -> Restore:
    child, slot = one.entry.child, one.slot.slot
    if one.error is not None:
        return Restore(child.name, slot, False, "", "", in_one_line(one.error))
    by = BY_RECIPE if one.because else BY_QUARANTINE
    return Restore(child.name, slot, True, by, join(root, child.location), one.because)


def refuse_occupied(files: Files, child: TableSeen) -> None:
    """Refuse an occupied place, never to be overwritten (HAZARDS 21). The move would refuse it later as well."""
    if files.stat(child.location) is not None:
        raise Refused(
            f"something is at {os.path.join(files.root, child.location)!r} already",
            hint="move it away, or restore to another folder",
        )


def refuse_inside_safety(lake: Files, to: Files | None) -> None:
    """Refuse to copy into the safety folder, where a copy could be mistaken for R2D2's own files."""
    if to is not None and f"{to.root}/".startswith(f"{join(lake.root, SAFETY)}/"):
        raise Refused(f"{to.root} is in the safety folder", hint="restore to another folder")


def refuse_the_lake_itself(lake: Files, to: Files | None) -> None:
    """Refuse to copy into the lake itself: a copy would occupy the place of a table that is still deleted."""
    if to is not None and to.root == lake.root:
        raise Refused(f"{to.root} is the lake itself", hint="without --to the tables go back to their places")


def in_copy(slot: str) -> str:
    """Name of the work folder of a copy, inside the target folder."""
    return f".r2d2-restoring-{slot}"


def _aside(one: Restoring) -> str:
    return in_quarantine(one.slot.slot)


def _why_not_from_quarantine(lake: Lake, slot: Slot, parents: Examined) -> str:
    if slot.state is State.PURGED:
        return "it was purged"
    if slot.state is State.FORGOTTEN:
        return "it was given up"
    if slot.state is State.RESTORING:
        return "it is neither at its old place nor in quarantine"
    try:
        examine_quarantined(lake.quarantine, slot)
    except Changed as error:
        because = f"its copy in quarantine is damaged: {error.args[0]}"
    except OSError as error:
        because = f"its copy in quarantine cannot be read: {error}"
    else:
        return ""
    if slot.state is State.PURGING:
        because = "its purge was broken off"
    return "" if has_all_its_rows(lake.quarantine, slot) and not _has_its_parents(parents, slot) else because


def _has_its_parents(parents: Examined, slot: Slot) -> bool:
    try:
        examine_parents(parents, slot.entry)
    except (Changed, DiskError):
        return False
    return True


def _move_home(lake: Lake, slot: Slot, source: str) -> None:
    """Move a verified table to its place; write records before and after."""
    quarantine, home = lake.quarantine, slot.entry.child.location
    identity = quarantine.prepare(source, home)
    if identity is None:
        raise Changed(f"{slot.entry.child.name!r} has vanished from {source!r}", hint="run `r2d2 doctor`")
    if slot.state is State.RESTORING:  # it is stranded: that restore is undone, and this one begins
        lake.write(RestoreUndone(slot.slot, "it is no longer in quarantine", lake.now()))
    if slot.state is State.PURGING and source == in_quarantine(slot.slot):
        lake.write(PurgeUndone(slot.slot, lake.now()))
    elif slot.state is State.PURGING:  # the rest of it in quarantine is of no use
        lake.write(Purged(slot.slot, lake.now()))
    lake.write(RestoreIntended(slot.slot, source, identity, lake.now()))
    try:
        quarantine.put_back(source, home, identity)
    except NotMoved as error:
        lake.write(RestoreUndone(slot.slot, error.because, lake.now()))
        raise
    lake.write(Restored(slot.slot, lake.now()))


def _rebuild_home(lake: Lake, trials: Sequence[Restoring], by: Rebuilder) -> None:
    files = lake.files

    def finish(one: Restoring) -> None:
        refuse_occupied(files, one.entry.child)
        _open_as_the_parents(files, one)
        sync_tree(files, one.folder, rebuilt(one).files)
        _move_home(lake, one.slot, one.folder if one.entry.child.is_folder else join(one.folder, rebuilt(one).files[0]))

    on_their_way = [one for one in trials if one.error is None]
    rebuild_all(lake.quarantine, files, on_their_way, by)
    each(on_their_way, finish)
    for one in on_their_way:
        if one.error is not None or not one.entry.child.is_folder:  # a restored folder was moved as a whole
            scrap_or_say(files, one.folder)


def _open_as_the_parents(files: Files, one: Restoring) -> None:
    """Let exactly those users read the rebuilt table who may read all of its parents."""
    parents, written = one.entry.parents, rebuilt(one).files
    folders = [parent.location if parent.is_folder else folder_of(parent.location) for parent in parents]
    like = [(path, [join(parent.location, parent.rows.files[0].path) for parent in parents]) for path in written]
    if one.entry.child.is_folder:
        like += [(path, folders) for path in ("", *folders_of(written))]
    with suppress(PermissionError):  # a worker's user may own the files: keep their access rather than fail
        for path, as_this in like:
            files.open_as(join(one.folder, path), as_this)


def _copy(lake: Lake, trials: Sequence[Restoring], to: Files, by: Rebuilder) -> None:
    """Put verified copies into another folder, under the tables' own paths. The journal stays as it is."""

    def copy(one: Restoring) -> None:
        one.rebuilt = Placed(join(to.root, one.folder), _copy_files(lake.files, one.slot, to, one.folder))

    def finish(one: Restoring) -> None:
        child, written = one.entry.child, rebuilt(one).files
        sync_tree(to, one.folder, written)
        make_folders_above(to, child.location)
        _move_copy(to, one.folder if child.is_folder else join(one.folder, written[0]), child.location)

    on_their_way = [one for one in trials if one.error is None]
    for one in on_their_way:
        remove_all(to, one.folder)  # leftovers of an earlier attempt
    try:
        each([one for one in on_their_way if not one.because], copy)
        rebuild_all(lake.quarantine, to, [one for one in on_their_way if one.because], by)
        each(on_their_way, finish)
    finally:
        for one in on_their_way:
            remove_all(to, one.folder)


def _move_copy(to: Files, source: str, target: str) -> None:
    try:
        move_durably(to, source, target)
    except FileExistsError as error:
        raise Refused(f"something appeared at {target!r}", hint="move it away and try again") from error


def _copy_files(lake: Files, slot: Slot, to: Files, work: str) -> tuple[str, ...]:
    to.make_folder(work)
    child, aside = slot.entry.child, in_quarantine(slot.slot)
    written: list[str] = []
    for file in child.files:
        if not file.holds_rows and not holds_bytes(lake, join(aside, file.path), file.sha256):
            continue  # missing or changed bookkeeping holds no rows
        path = file.path or child.location.rpartition("/")[2]
        make_folders_above(to, join(work, path))
        to.create(join(work, path), lake.chunks(join(aside, file.path)))
        refuse_other_content(PosixTables(to), file, join(work, path), child.name)
        written.append(path)
    return tuple(written)
