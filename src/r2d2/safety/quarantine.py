"""Move tables durably, and tell afterwards whether a move happened."""

from __future__ import annotations

from contextlib import suppress

from r2d2.safety.errors import Changed, DiskError, Refused, in_one_line
from r2d2.safety.files import FOLDER, Files
from r2d2.safety.paths import QUARANTINE, SAFETY, WORK, folder_of, is_slot, join
from r2d2.safety.per_table import own_errors
from r2d2.safety.posix_versions import same_object
from r2d2.safety.registry import Slot
from r2d2.safety.snapshots import below, look_at


def in_quarantine(slot: str) -> str:
    """Path of a table in quarantine."""
    return f"{QUARANTINE}/{slot}"


def in_work(slot: str) -> str:
    """Path of the folder in which a table is rebuilt."""
    return f"{WORK}/{slot}"


def move_durably(files: Files, source: str, target: str) -> None:
    """Move, and make the move survive a loss of power, the new name first (HAZARDS 23)."""
    files.move(source, target)
    sync_names(files, source, target)


def sync_names(files: Files, source: str, target: str) -> None:
    """Make a move from *source* to *target* durable, whichever process made it."""
    for folder in dict.fromkeys((folder_of(target), folder_of(source))):
        if files.stat(folder) is not None:
            files.sync(folder)


def make_folders_above(files: Files, path: str) -> None:
    """Make and sync the folders above *path*, from the top."""
    parts = path.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        folder = "/".join(parts[:depth])
        found = files.stat(folder)
        if found is None:
            with suppress(FileExistsError):
                files.make_folder(folder)
        elif found.kind != FOLDER:
            raise Refused(f"{folder!r} is not a folder", hint="move it out of the way")
        files.sync(folder_of(folder))


def drop_second_name(files: Files, keep: str, drop: str) -> bool:
    """Unlink the second name of one file that has both, as a move by links leaves it if killed half-way."""
    kept, dropped = files.stat(keep), files.stat(drop)
    if kept is None or dropped is None or kept.kind == FOLDER:
        return False
    if kept.version.identity != dropped.version.identity:
        return False
    files.sync(folder_of(keep))
    files.unlink(drop)
    return True


def has_arrived(files: Files, slot: Slot) -> bool:
    """Whether the table that was being restored is at its place now.

    The identity alone is not enough: a new folder may reuse the inode number of a removed one. So the listed files
    must be there, too. A table rebuilt by a recipe has no such list: it must not be empty.
    """
    assert slot.restore is not None
    child, restore = slot.entry.child, slot.restore
    found, ours = files.stat(child.location), files.stat(SAFETY)
    if found is None or ours is None or found.file_system != ours.file_system:
        return False
    if not same_object(found.version.identity, restore.identity):
        return False
    if restore.source != in_quarantine(slot.slot):
        return bool(files.names(child.location)) if found.kind == FOLDER else found.size_bytes > 0
    try:
        look_at(files, child.rows, child.location)
    except Changed:
        return False
    return True


def scrap(files: Files, folder: str) -> None:
    """Empty and remove a folder in which a table was being rebuilt. Links in it are removed, not followed."""
    if not (folder.startswith(WORK + "/") and is_slot(folder.removeprefix(WORK + "/"))):
        raise Refused(f"{folder!r} is not a work folder", hint="only work folders are ever emptied")
    remove_all(files, folder)


def scrap_or_say(files: Files, folder: str) -> str:
    """Remove a work folder if possible; return why it is still there, or ''. The next command tries again."""
    try:
        with own_errors():
            scrap(files, folder)
    except DiskError as error:
        return in_one_line(error)
    return ""


def remove_all(files: Files, folder: str) -> None:
    """Unlink everything in a folder that R2D2 made, and remove it; do nothing if it is missing."""
    found = files.stat(folder)
    if found is None:
        return
    if found.kind != FOLDER:
        files.unlink(folder)
        return
    folders = {folder}
    for path in list(below(files, folder)):
        parts = path.split("/")
        folders.update(join(folder, "/".join(parts[:depth])) for depth in range(1, len(parts)))
        if not path.endswith("/"):
            files.unlink(join(folder, path))
    for path in sorted(folders, reverse=True):  # a folder sorts before its content
        files.remove_folder(path)
