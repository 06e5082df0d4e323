"""Find the change of each table since the last scan, as far as its files prove it (section 7.1).

A file is the same if its path and its version are. A table whose files are all the same is the same; one with the old
files and more has grown; one with some of the old files has shrunk; one whose files only have other paths was renamed.
Everything that is not proven that way counts as replaced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from r2d2.model.counted import counted
from r2d2.model.profile import TableProfile
from r2d2.model.scan import Scan
from r2d2.model.table import Problem, Table


class Change(StrEnum):
    """Change of a table between two scans."""

    SAME = "same"
    NEW = "new"
    GROWN = "grown"  # every row it had it still has
    SHRUNK = "shrunk"  # every row it has it had before
    REPLACED = "replaced"  # nothing is known of its rows
    RENAMED = "renamed"  # the same files elsewhere
    DELETED = "deleted"
    UNREADABLE = "unreadable"  # it may be there still, and cannot be read


@dataclass(frozen=True, slots=True)
class TableChange:
    """Change of one table, and the evidence for it."""

    table: str
    change: Change
    because: str
    before: str = ""  # the name it had, if it had another


@dataclass(frozen=True)
class Changes:
    """For each table of the new lake what happened to it and which old table it was; and what is gone."""

    kinds: tuple[Change, ...]
    old_numbers: tuple[int, ...]  # -1: it is new
    changed: tuple[TableChange, ...]  # all but the same ones

    def __bool__(self) -> bool:
        return bool(self.changed)


def touched_tables(changes: Changes) -> list[int]:
    """The tables whose pairs have to be looked at again."""
    return [n for n, kind in enumerate(changes.kinds) if kind not in (Change.SAME, Change.RENAMED)]


def in_doubt(old: Scan) -> set[str]:
    """Tables that were there at the last scan and may have been written to right after they were listed."""
    return {table.name for table in old.tables if table.name not in old.absent and not _is_settled(table)}


def unchanged_tables(old: Scan, tables: Sequence[Table]) -> dict[str, int]:
    """The numbers that tables had whose files are, beyond doubt, as they were; their profiles still hold."""
    known = {table.name: number for number, table in enumerate(old.tables)}
    unread = _unread(old)
    return {
        table.name: known[table.name]
        for table in tables
        if table.name in known
        and table.name not in unread
        and _same_files(old.tables[known[table.name]], table)
        and _is_settled(old.tables[known[table.name]])
        and _is_settled(table)
    }


def find_changes(old: Scan, new: Scan, *, broken: Mapping[str, str] = MappingProxyType({})) -> Changes:
    """Judge every table of *new*, which has profiles, against the last scan.

    Tables that are absent from the lake stay as they were. Tables whose rows are *broken* (by name, the reason) count
    as replaced.
    """
    named = {table.name: number for number, table in enumerate(old.tables)}
    names = {table.name for table in new.tables}
    gone = [number for name, number in named.items() if name not in names]
    unread = _unread(old)
    renamed = _renamed(old, new, gone, unread)
    old_numbers = [named.get(table.name, renamed.get(number, -1)) for number, table in enumerate(new.tables)]
    found = [
        TableChange(table.name, Change.SAME, "")
        if table.name in new.absent
        else _judge(old, was, table, profile, unread)
        for was, table, profile in zip(old_numbers, new.tables, new.profiles, strict=True)
    ]
    for number, because in _upset(old, new, old_numbers, broken).items():
        if found[number].change is not Change.NEW:
            found[number] = TableChange(new.tables[number].name, Change.REPLACED, because)
    left = set(gone) - set(renamed.values())
    now_in = {file.path: table.name for table in new.tables for file in table.files} if left else {}
    gravest_last = sorted(new.problems, key=lambda problem: problem.needs_a_look)
    problems = {problem.where: problem for problem in gravest_last if problem.kind != "notice"}
    deleted = [_left_out(old.tables[number], problems, now_in) for number in sorted(left)]
    deleted += [
        TableChange(name, Change.DELETED, f"{known.says}; it stays in the graph")
        for name, known in new.absent.items()
        if name not in old.absent
    ]
    changed = [one for one in found if one.change is not Change.SAME]
    return Changes(tuple(one.change for one in found), tuple(old_numbers), (*changed, *deleted))


def _left_out(table: Table, problems: Mapping[str, Problem], now_in: Mapping[str, str]) -> TableChange:
    """The change of a table that the new scan lacks: a problem of it, or of a folder above it, may say which.

    *now_in* are the new tables by the paths of their files.
    """
    name = table.name
    if name in problems:
        return TableChange(name, Change.UNREADABLE, f"it can no longer be read: {problems[name].because}")
    above = name
    while above := above.rpartition("/")[0]:
        if above in problems and problems[above].needs_a_look:
            because = f"it can no longer be read: {above}: {problems[above].because}"
            return TableChange(name, Change.UNREADABLE, because)
    others = sorted({now_in[file.path] for file in table.files if file.path in now_in})
    if others:
        more = f" and {counted(len(others) - 1, 'other tables')}" if others[1:] else ""
        return TableChange(name, Change.DELETED, f"its files are in {others[0]}{more} now")
    return TableChange(name, Change.DELETED, "it is no longer there")


def _judge(old: Scan, number: int, table: Table, profile: TableProfile, unread: set[str]) -> TableChange:
    """Judge one table by its files, if it was there before."""
    if number < 0:
        because = "it could not be read before" if table.name in unread else "it was not there before"
        return TableChange(table.name, Change.NEW, because)
    before, before_profile = old.tables[number], old.profiles[number]
    if before.name in old.absent:
        return TableChange(table.name, Change.REPLACED, "it was deleted, and is there again")
    if before.name != table.name:
        here = f"the files of {before.name} are here now"
        if _physical(before) == _physical(table):
            return TableChange(table.name, Change.RENAMED, here, before.name)
        because = f"{here}, under new names; as they may have been written to, they are read again"
        return TableChange(table.name, Change.REPLACED, because, before.name)
    if before.name in unread:
        return TableChange(table.name, Change.REPLACED, "its rows could not be read before")
    if not _is_settled(before):
        return TableChange(table.name, Change.REPLACED, "it was being written when it was last listed")
    if before.files is table.files and before_profile is profile and before.location == table.location:
        return TableChange(table.name, Change.SAME, "")  # taken over: `unchanged_tables` has looked
    then, now = before.states, table.states
    columns_then, columns_now = set(before_profile.schema.columns), set(profile.schema.columns)
    if before.location == table.location:
        if then == now and before_profile == profile:
            return TableChange(table.name, Change.SAME, "")
        if then < now and columns_then <= columns_now:
            return TableChange(table.name, Change.GROWN, _by_files("more", len(now - then), columns_now - columns_then))
        if now < then and columns_now <= columns_then:
            return TableChange(table.name, Change.SHRUNK, _by_files("fewer", len(then - now), set()))
    return TableChange(
        table.name, Change.REPLACED, f"{len(then - now):,} of its {counted(len(then), 'files')} are not as before"
    )


def _by_files(word: str, count: int, columns: Collection[object]) -> str:
    new_columns = f" and {len(columns):,} new columns" if columns else ""
    return f"it has {count:,} {word} {'file' if count == 1 else 'files'}{new_columns}; the others are as before"


def _same_files(one: Table, other: Table) -> bool:
    return (one.location, one.format) == (other.location, other.format) and one.states == other.states


def _is_settled(table: Table) -> bool:
    """Whether any later write to its files would show in their versions."""
    return all(file.version.settled for file in table.files)


def _unread(old: Scan) -> set[str]:
    """Tables of the old scan that have a problem: their rows could not be read."""
    return {problem.where for problem in old.problems if problem.needs_a_look}


def _renamed(old: Scan, new: Scan, gone: Sequence[int], unread: set[str]) -> dict[int, int]:
    """New tables that are, file by file, an old one under another name; the numbers of both."""
    known = {table.name for table in old.tables}
    added = [n for n, table in enumerate(new.tables) if table.name not in known]
    before: defaultdict[object, list[int]] = defaultdict(list)
    uncertain = unread | old.absent.keys()
    for number in gone:
        if old.tables[number].name not in uncertain and _is_settled(old.tables[number]):
            before[_moved(old.tables[number])].append(number)
    found = {}
    for number in added:
        candidates = before.get(_moved(new.tables[number]), [])
        if len(candidates) == 1 and _same_profile(old.profiles[candidates[0]], new.profiles[number]):
            found[number] = candidates.pop()
    return found


def _physical(table: Table) -> object:
    """Equal for tables of the same files in the same state, wherever they are."""
    return table.format, sorted((file.version, repr(file.partition)) for file in table.files)


def _moved(table: Table) -> object:
    """Equal for tables of the same files, though renaming a file, unlike its folder, may change its state."""
    files = ((f.version.identity, f.size_bytes, f.modified_ns, repr(f.partition)) for f in table.files)
    return table.format, tuple(sorted(files))


def _same_profile(one: TableProfile, other: TableProfile) -> bool:
    return replace(one, table="") == replace(other, table="")


def _upset(old: Scan, new: Scan, old_numbers: Sequence[int], broken: Mapping[str, str]) -> dict[int, str]:
    """Tables about which nothing may be taken over though their files are the same, and why."""
    names = {old.tables[was].name: new.tables[now].name for now, was in enumerate(old_numbers) if was >= 0}
    names = {then: now for then, now in names.items() if now not in new.absent}  # what is away stays as it was
    moved = {tuple(sorted((names[a], names[b]))) for a, b in old.overlaps if a in names and b in names}
    here = set(names.values())
    shared = {pair for pair in new.overlaps if pair[0] in here and pair[1] in here}
    upset = {
        new.number_of[name]: f"its rows cannot be read now: {because}"
        for name, because in broken.items()
        if name in new.number_of
    }
    for pair in moved ^ shared:
        for name in pair:
            upset.setdefault(new.number_of[name], "which tables it shares files or folders with has changed")
    return upset
