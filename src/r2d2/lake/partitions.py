"""Hive partition folders: `year=2024/month=01/part-0.parquet`.

Values are kept as written (HAZARDS 11): what type they have is not decided here. Files that disagree on the
partition columns are a conflict, not a guess; a partition that cannot be listed makes the table unreadable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

from r2d2.lake.listing import File, Folder, Look, is_utf8
from r2d2.lake.recognise import BOOKKEEPING, OTHER
from r2d2.model.table import DataFile

Partition = tuple[tuple[str, str | None], ...]

_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(slots=True)
class Partitioned:
    """Contents of the partition folders of one folder."""

    holds_rows: bool = False  # there is data in them: this is a table, readable or not
    is_incomplete: bool = False  # there may be data in those that cannot be listed
    tops: set[str] = field(default_factory=set)  # the partition folders at the top with data, or that may have some
    files: list[DataFile] = field(default_factory=list)
    formats: set[str] = field(default_factory=set)  # of these files
    conflicts: list[str] = field(default_factory=list)  # why they do not make one table
    unexplained: list[str] = field(default_factory=list)  # paths
    foreign: Counter[str] = field(default_factory=Counter)  # files of other formats
    strays: list[tuple[Folder, str]] = field(default_factory=list)  # folders within that are no partitions

    @property
    def is_foreign(self) -> bool:
        """Whether this is a table of another format: nothing but such files."""
        return self.foreign.total() == len(self.unexplained) > 0 and not (self.conflicts or self.strays)


def split_partition(name: str) -> tuple[str, str | None] | None:
    """Column and raw value that a folder's name states, if it does.

    >>> split_partition("day=2024-01-01"), split_partition("city=S%C3%A3o%20Paulo"), split_partition("a=b=c")
    (('day', '2024-01-01'), ('city', 'São Paulo'), ('a', 'b=c'))
    >>> split_partition("day="), split_partition("day=__HIVE_DEFAULT_PARTITION__"), split_partition("2024")
    (('day', ''), ('day', None), None)
    """
    column, equals, value = name.partition("=")
    if not column or not equals:
        return None
    return _unquote(column), None if value == _HIVE_NULL else _unquote(value)


def read_partitions(folder: Folder, look: Look) -> Partitioned:
    """Everything below the partition folders of *folder*, which is a table only if that `holds_rows`."""
    result = Partitioned()
    pending: list[tuple[Folder, str, Partition, str]]
    pending = [(folder, name, (), name) for name in _partition_names(folder)]
    columns: dict[tuple[str, ...], str] = {}  # the partition columns seen, and where first
    while pending:
        parent, name, above, top = pending.pop()
        part = split_partition(name)
        assert part is not None
        partition = (*above, part)
        inner = look(parent, name)
        _take_folder(inner, partition, result)
        if inner.claim or inner.table_format or inner.error:
            result.tops.add(top)
            continue
        if any(file.may_hold_rows for file in inner.files):
            result.holds_rows = True
            result.tops.add(top)
            columns.setdefault(tuple(column for column, _ in partition), inner.name)
        pending.extend((inner, deeper, partition, top) for deeper in _partition_names(inner))
        result.strays.extend((inner, other) for other in inner.folders if split_partition(other) is None)
    result.conflicts += _disagreements(columns)
    result.conflicts += mixed_formats(result.formats)
    if result.holds_rows:
        _examine_strays(result, look)
    result.files.sort(key=lambda file: file.path)
    return result


def data_file(path: str, file: File, partition: Partition = ()) -> DataFile:
    """A listed file as a table's."""
    return DataFile(path, *file.stored, partition)


def mixed_formats(formats: Collection[str]) -> list[str]:
    """The reason why files of these formats are not one table, if there are several."""
    return [f"its files are of several formats ({', '.join(sorted(formats))})"] if len(formats) > 1 else []


def _partition_names(folder: Folder) -> Iterator[str]:
    return (name for name in folder.folders if split_partition(name) is not None)


def _take_folder(folder: Folder, partition: Partition, result: Partitioned) -> None:
    """Sort what lies directly in one partition folder."""
    if trouble := _trouble_with(folder):
        result.conflicts.append(trouble)
        result.is_incomplete |= bool(folder.error)
        return
    column, value = partition[-1]  # those above it were seen with their own folders
    if not (is_utf8(column) and is_utf8(value or "")):
        result.conflicts.append(f"the value in {folder.name} is not UTF-8")
    for file in folder.files:
        if file.error:
            result.conflicts.append(f"{folder.name_of(file.name)} {file.error}")
        elif file.may_hold_rows:
            result.files.append(data_file(folder.path_of(file.name), file, partition))
            result.formats.add(file.format)
        elif file.format != BOOKKEEPING:
            result.unexplained.append(folder.path_of(file.name))
            if file.format != OTHER:
                result.foreign[file.format] += 1
    for link in folder.links:
        result.unexplained.append(folder.path_of(link.name))
        if link.may_hold_rows or split_partition(link.name) is not None:
            result.conflicts.append(f"{folder.name_of(link.name)} is a link")
    result.unexplained += [folder.path_of(name) + "/" for name in folder.hidden]


def _trouble_with(folder: Folder) -> str:
    if folder.error:
        return f"{folder.name} {folder.error}"
    claimed = folder.claim.format if folder.claim else folder.table_format
    return f"{folder.name} is a {claimed} table" if claimed else ""


def _disagreements(columns: dict[tuple[str, ...], str]) -> list[str]:
    twice = [where for names, where in columns.items() if len(set(names)) < len(names)]
    if twice:
        return [f"a partition column stands twice in {twice[0]}"]
    if len(columns) < 2:
        return []
    spelled = [f"{', '.join(names)} in {where}" for names, where in sorted(columns.items())[:2]]
    return [f"its files have different partition columns: {' but '.join(spelled)}"]


def _examine_strays(result: Partitioned, look: Look) -> None:
    """Look into plain folders inside partitions: foreign files are unexplained, data is a conflict."""
    pending = list(result.strays)
    while pending:
        stray = look(*pending.pop())
        trouble = _trouble_with(stray)
        if not trouble and stray.data_names:
            trouble = f"{stray.name} holds data and is no partition folder"
        if trouble:
            result.conflicts.append(trouble)
            continue
        inside = [file.name for file in stray.files if file.format != BOOKKEEPING]
        inside += [link.name for link in stray.links] + [name + "/" for name in stray.hidden]
        result.unexplained += [stray.path_of(name) for name in inside]
        pending += [(stray, name) for name in stray.folders]


def _unquote(text: str) -> str:
    # Not the default errors="replace": that would make one value of many.
    return unquote(text, errors="surrogateescape") if "%" in text else text
