"""Check everything that could be wrong. Read-only: it returns findings and needs no lock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from r2d2.model.counted import counted
from r2d2.safety.errors import Changed, JournalDamaged
from r2d2.safety.files import FOLDER, Files
from r2d2.safety.journal import Told, read_journal
from r2d2.safety.paths import LOCK, QUARANTINE, SAFETY, WORK, is_slot
from r2d2.safety.plan import TableSeen, is_bookkeeping
from r2d2.safety.posix_quarantine import PosixQuarantine
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.registry import SETTLED, Registry, Slot, State
from r2d2.safety.snapshots import Examined, PosixTables, examine, has_its_times, look_at, refuse_unexplained, some

BAD, NOTE = "bad", "note"
_OURS = frozenset(("journal.jsonl", "lock", "quarantine", "work"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong (bad) or worth knowing (note)."""

    severity: str
    what: str  # journal, lock, folder, pending, quarantine, parent, place, drill, leftover
    table: str  # '' if the finding is about no single table
    because: str
    hint: str = ""


def doctor(files: Files, *, deep: bool = True) -> tuple[Finding, ...]:
    """Run all checks. *deep* hashes every file of quarantine and parents; otherwise of tables with a new mtime."""
    found = files.stat(SAFETY)
    if found is None and not files.names(""):
        return (Finding(BAD, "folder", "", "the lake's folder is empty", "is its disk mounted there?"),)
    if found is None:
        return ()
    if found.kind != FOLDER:
        return (Finding(BAD, "folder", "", f"{SAFETY} is not a folder", "find out what put it there"),)
    try:
        told = read_journal(PosixQuarantine(files))
        registry = Registry(told.records)
    except JournalDamaged as error:
        return (Finding(BAD, "journal", "", str(error.args[0]), error.hint),)
    except OSError as error:
        return (Finding(BAD, "journal", "", f"it cannot be read ({error})", "check its permissions and the disk"),)
    return tuple(_findings(files, told, registry, deep))


def _findings(files: Files, told: Told, registry: Registry, deep: bool) -> Iterator[Finding]:
    holder = files.lock_holder(LOCK)
    if holder is not None:
        yield Finding(NOTE, "lock", "", f"the lake is in use by {holder}", "the findings below may be out of date")
    if told.torn_bytes and holder is None:
        because = f"a crash tore its last {counted(told.torn_bytes, 'bytes')}"
        yield Finding(NOTE, "journal", "", because, "the next apply, drill, purge or restore cuts them off")
    parents = Examined(PosixTables(files), alone=False)
    for slot in registry.active:
        yield from _about_slot(files, slot, parents, deep)
    try:
        yield from _leftovers(files, registry)
    except OSError as error:
        yield Finding(BAD, "folder", "", f"{SAFETY} cannot be listed ({error})", "check its permissions")


def _about_slot(files: Files, slot: Slot, parents: Examined, deep: bool) -> Iterator[Finding]:
    pending = _pending(files, slot) if slot.state not in SETTLED else None
    if pending is not None:
        yield pending
    aside = list(_about_quarantined(files, slot, deep)) if slot.state is State.QUARANTINED else []
    needs_parent = slot.state in (State.QUARANTINED, State.PURGING, State.PURGED)
    if needs_parent or (slot.state is State.RESTORING and pending is not None and pending.severity == BAD):
        of_parent = [one for parent in slot.entry.parents for one in _about_parent(files, slot, parent, parents, deep)]
        if aside and any(one.severity == BAD for one in of_parent):
            names = slot.entry.parent_names
            hint = f"`r2d2 restore` uses whichever copy has every row; else bring {names!r} back from a backup"
            aside, of_parent = ([replace(one, hint=hint) for one in found] for found in (aside, of_parent))
        yield from (*aside, *of_parent)
    if slot.state in SETTLED:
        yield from _about_place(files, slot)
        yield from _about_drills(slot)


def _pending(files: Files, slot: Slot) -> Finding:
    name = slot.entry.child.name
    try:
        wrong = _why_stuck(files, slot)
    except OSError as error:
        because = f"it was left {slot.state}, and its files cannot be checked ({error})"
        return Finding(BAD, "pending", name, because, "fix that; the next command then settles it")
    if wrong is not None:
        return Finding(BAD, "pending", name, *wrong)
    return Finding(
        NOTE, "pending", name, f"it was left {slot.state}", "the next command settles it, or says why it cannot"
    )


def _why_stuck(files: Files, slot: Slot) -> tuple[str, str] | None:
    """The reason that no command can settle the table now, and a hint; None if a command can."""
    home, aside = slot.entry.child.location, in_quarantine(slot.slot)
    taken = files.stat(home) is not None
    if PosixQuarantine(files).is_stranded(slot):
        because = f"it was being restored, and is neither in quarantine nor unchanged at {home!r}"
        hint = "`r2d2 restore` rebuilds it by its recipe; if somebody has it, they can put it back first"
        return because, f"move away what is at {home!r}; {hint}" if taken else hint
    if slot.state is State.MOVING and taken and files.stat(aside) is not None:
        because = f"it is in quarantine and cannot be put back: something else is at {home!r}"
        return (
            because,
            "move that away; the next command then puts the table back. `r2d2 restore --to DIR` makes a copy",
        )
    if slot.state is State.MOVING and not taken and files.stat(aside) is None:
        because = f"it was on its way to quarantine, and is neither there nor at {home!r}: someone else moved it"
        return because, f"put it back at {home!r}, perhaps from a backup; the next command then settles it"
    return None


def _about_quarantined(files: Files, slot: Slot, deep: bool) -> Iterator[Finding]:
    child, aside = slot.entry.child, in_quarantine(slot.slot)
    try:
        look = look_at(files, child, aside)
        if deep or not has_its_times(child, look):
            examine(PosixTables(files), child, aside, alone=True)
        else:
            refuse_unexplained(child, look)
    except (Changed, OSError) as error:
        because = f"its copy in quarantine has changed: {_said(error)}"
        yield Finding(BAD, "quarantine", child.name, because, "restore it by its recipe now, while its parent is whole")


def _about_parent(files: Files, slot: Slot, pinned: TableSeen, parents: Examined, deep: bool) -> Iterator[Finding]:
    child, parent = slot.entry.child, pinned.rows
    known = {file.path for file in pinned.files}
    try:
        look = look_at(files, parent, parent.location)
        if deep or not has_its_times(parent, look):
            look = parents.look(parent)
    except (Changed, OSError) as error:
        hint = f"bring the files of {parent.name!r} back from a backup, or from where they were moved"
        if slot.state is State.QUARANTINED:
            hint = "restore it from quarantine now"
        elif slot.state is State.PURGING:
            hint += f"; the files that its purge had not unlinked yet stay in {in_quarantine(slot.slot)} until then"
        if slot.state is not State.QUARANTINED:
            hint += ". If that is impossible, `r2d2 forget` gives the table up"
        yield Finding(BAD, "parent", child.name, f"its parent has changed: {_said(error)}", hint)
        return
    more = [path for path in look.others if not is_bookkeeping(path) and path not in known]
    if more:
        because = f"its parent {parent.name!r} has grown: {some(more)}"
        yield Finding(NOTE, "parent", child.name, because, "that is fine: added files are not read")


def _said(error: Changed | OSError) -> str:
    return f"it cannot be read ({error})" if isinstance(error, OSError) else str(error.args[0])


def _about_place(files: Files, slot: Slot) -> Iterator[Finding]:
    child = slot.entry.child
    try:
        taken = files.stat(child.location) is not None
    except OSError as error:
        because = f"its old place {child.location!r} cannot be checked ({error})"
        yield Finding(
            BAD, "place", child.name, because, "check the folder's permissions; until then nothing is restored there"
        )
        return
    if taken:
        because = f"something new is at its old place {child.location!r}"
        yield Finding(NOTE, "place", child.name, because, "it can be restored to another folder")


def _about_drills(slot: Slot) -> Iterator[Finding]:
    name = slot.entry.child.name
    if not slot.drills:
        yield Finding(
            NOTE, "drill", name, "it was never drilled", "run `r2d2 drill`; a table is purged only after a drill"
        )
    elif not slot.is_drilled:
        yield Finding(
            BAD, "drill", name, f"its last drill failed: {slot.drills[-1].because}", "restore it, or drill again"
        )


def _leftovers(files: Files, registry: Registry) -> Iterator[Finding]:
    for name in files.names(SAFETY):
        if name not in _OURS:
            yield Finding(NOTE, "leftover", "", f"{SAFETY}/{name} was not made by R2D2", "R2D2 leaves it alone")
    expected = (State.MOVING, State.QUARANTINED, State.PURGING, State.RESTORING)
    known = {slot.slot for slot in registry.active if slot.state in expected}
    for name in _names(files, QUARANTINE):
        if name not in known:
            yield _unexpected(registry, name)
    for name in _names(files, WORK):
        hint = "the next apply, drill, purge or restore removes it" if is_slot(name) else "R2D2 leaves it alone"
        yield Finding(NOTE, "leftover", _name_of(registry, name), f"{WORK}/{name} is left over", hint)


def _unexpected(registry: Registry, name: str) -> Finding:
    """Finding about an entry of quarantine that no deleted table needs, such as a damaged copy after a restore."""
    slot = registry.slots.get(name)
    if slot is not None and slot.state is State.RESTORED:
        because = f"{QUARANTINE}/{name} is a copy that could not be restored; the table was rebuilt by its recipe"
        return Finding(NOTE, "leftover", slot.entry.child.name, because, "remove it when it is no longer needed")
    if slot is not None and slot.state is State.PURGED:
        because = f"{QUARANTINE}/{name} is left of a purged table: it could not be removed, or was not part of it"
        return Finding(
            BAD, "leftover", slot.entry.child.name, because, "look into it, then remove it: R2D2 does not need it"
        )
    if slot is None and is_slot(name):
        because = f"{QUARANTINE}/{name} is a table that the journal does not know: the journal has lost records"
        hint = "restore the journal from a backup, or, if no backup knows the table, move it elsewhere; all else waits"
        return Finding(BAD, "leftover", "", because, hint)
    because = f"{QUARANTINE}/{name} belongs to no table in quarantine"
    return Finding(BAD, "leftover", _name_of(registry, name), because, "look into it; R2D2 leaves it alone")


def _names(files: Files, folder: str) -> list[str]:
    return files.names(folder) if files.stat(folder) is not None else []


def _name_of(registry: Registry, slot: str) -> str:
    known = registry.slots.get(slot)
    return known.entry.child.name if known else ""
