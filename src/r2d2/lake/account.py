"""Account for all that is no table: each file and folder is kept with the table that it lies in, or named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from r2d2.lake.found import Draft, Found, FoundLink
from r2d2.lake.listing import Folder, printable
from r2d2.lake.partitions import Partitioned
from r2d2.lake.recognise import BOOKKEEPING, OTHER, is_passed_over
from r2d2.model.counted import counted

_NAMES_SHOWN = 3


def account_for_foreign(folder: Folder, partitioned: Partitioned, nearest: Draft | None, found: Found) -> None:
    """Account for partition folders that hold nothing but files of other formats."""
    if nearest is None:
        found.refuse_files(folder.name, partitioned.foreign, where=" in partition folders")
    for path in partitioned.unexplained:
        note(nearest, path)


def account_for_rest(folder: Folder, nearest: Draft | None, found: Found) -> None:
    """Keep everything else with the table that it lies in, or name it."""
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
        found.notice(folder.name, f"{counted(len(others), 'other files')}, no table ({some(others)})")
    for name in folder.hidden:
        if not is_passed_over(name):
            found.notice(folder.name_of(name), "is a hidden folder, which is not looked into")


def refuse_folder(folder: Folder, above: Draft | None, found: Found) -> None:
    """Name a folder that cannot be listed, or whose format is not read."""
    if folder.error:
        found.unreadable(folder.name, [folder.error])
    else:
        found.refuse_table(folder)
    note(above, folder.path + "/")


def fail(folder: Folder, reasons: Sequence[str], above: Draft | None, found: Found, *, way_out: str = "") -> None:
    """Leave out a table that cannot be used, as a whole: it is never read in part (HAZARDS 26)."""
    found.unreadable(folder.name, reasons, way_out=way_out)
    note(above, folder.path + "/")


def note(table: Draft | None, path: str) -> None:
    """Keep a path with the table that it lies in, if there is one."""
    if table is not None:
        table.note(path)


def some(names: Sequence[str]) -> str:
    """The first few names, for a message."""
    shown = ", ".join(printable(name) for name in names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown}, …"
