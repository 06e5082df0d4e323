"""Tables that nobody has confirmed: files that schemas took out of a folder, and a `key=value` folder beside files.

That files named like parts do not fit one another, or that a single folder is named like a partition, is reason enough
to compare them one by one. It is not reason enough to delete one: other programs may still read the folder around them
as one table, and that table would change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from r2d2.lake.filters import Patterns
from r2d2.lake.listing import paths_above
from r2d2.lake.partitions import split_partition
from r2d2.lake.recognise import looks_like_a_part
from r2d2.lake.roots import resolve_roots
from r2d2.model.table import Table


def taken_apart(tables: Iterable[Table], *, roots: Sequence[str], split: Sequence[str]) -> dict[str, str]:
    """The tables that may be parts of a folder outside those of `--split`; by name, with the name of that folder."""
    listed = list(tables)
    with_files = {os.path.dirname(file.path) for table in listed for file in table.files}
    suspects = [(table, folder) for table in listed for folder in _folders_around(table, with_files)]
    asked = Patterns(split, known=())
    labels = {root.path: root.label for root in resolve_roots(roots)} if suspects and split else {}
    named = [(table.name, _folder_name(table, folder, labels)) for table, folder in suspects]
    return {name: folder for name, folder in reversed(named) if not asked.match_itself(folder)}


def _folders_around(table: Table, with_files: set[str]) -> Iterator[str]:
    """The folders, by path, that the table may be a part of: its own, or one that holds files beside a partition."""
    if table.is_file and looks_like_a_part(os.path.basename(table.location)):
        yield os.path.dirname(table.location)
    folders = paths_above(table.location) if table.is_file else (table.location, *paths_above(table.location))
    for path in folders:
        above = os.path.dirname(path)
        if split_partition(os.path.basename(path)) is not None and above in with_files:
            yield above


def _folder_name(table: Table, folder: str, labels: dict[str, str]) -> str:
    """The name that a folder around a table would have as a table."""
    below = len(os.path.relpath(table.location, folder).split(os.sep))
    return labels.get(folder) or "/".join(table.name.split("/")[:-below]) or os.path.basename(folder)
