"""Decide which tables must stay, whatever their deletion would save."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from r2d2.model.scan import Scan
from r2d2.model.table import Table

_YOUNG = "(--min-age)"  # the end of the reason to keep a table that was written to lately
_NS_PER_DAY = 86_400 * 1e9


@dataclass(frozen=True, slots=True)
class Guards:
    """Facts and wishes that keep tables; tables are given by name."""

    held: frozenset[str] = frozenset()  # under legal hold
    protected: frozenset[str] = frozenset()
    parents_of_deleted: Mapping[str, str] = field(default_factory=dict)  # with a deleted table that needs each
    deleted: frozenset[str] = frozenset()  # tables that are deleted, though the scan has one of that name
    fixed: Mapping[int, str] = field(default_factory=dict)  # by number, why a table cannot be rebuilt
    taken_apart: Mapping[str, str] = field(default_factory=dict)  # parts of a folder that may be one table: that folder
    protected_owner: Callable[[Table], str] = lambda table: ""  # the owner that protects a table, '' if none does
    min_age_days: float = 0.0
    now_ns: int = 0
    empty_too: bool = False  # tables without rows may go


@dataclass(frozen=True, slots=True)
class Protected:
    """Tables that must stay."""

    because: Mapping[int, str]  # by number, the strongest reason
    young: frozenset[str]  # names of those that their age alone keeps


def protect_tables(scan: Scan, guards: Guards) -> Protected:
    """Find the tables that must stay, each with its strongest reason."""
    shares = {one: other for pair in scan.overlaps for one, other in (pair, pair[::-1])}
    reasons = ((number, next(_reasons(scan, guards, shares, number), "")) for number in range(len(scan.tables)))
    because = {number: reason for number, reason in reasons if reason}
    young = frozenset(scan.tables[number].name for number, reason in because.items() if reason.endswith(_YOUNG))
    return Protected(because, young)


def _reasons(scan: Scan, guards: Guards, shares: Mapping[str, str], number: int) -> Iterator[str]:
    """The reasons to keep a table, the strongest first."""
    table = scan.tables[number]
    if table.name in guards.deleted:
        yield "a table of this name is deleted, and not restored yet"
    if table.name in guards.held:
        yield "it is under legal hold"
    if table.name in guards.protected:
        yield "it is protected"
    if number in guards.fixed:
        yield guards.fixed[number]
    if table.name in guards.parents_of_deleted:
        yield f"{guards.parents_of_deleted[table.name]}, which was deleted, is rebuilt from it"
    yield from _entangled(table, guards, shares)
    if owner := guards.protected_owner(table):
        yield f"it belongs to {owner}"
    days = days_untouched(table, now_ns=guards.now_ns)
    if days < guards.min_age_days:
        must = f"must be left alone for {guards.min_age_days:g}"
        yield f"it was written to {max(days, 0):.1f} days ago, and {must} {_YOUNG}"
    if scan.profiles[number].rows is None:
        yield "its rows have not been counted"
    if scan.profiles[number].rows == 0 and not guards.empty_too:
        yield "it is empty (--plan-empty takes such tables, too)"


def _entangled(table: Table, guards: Guards, shares: Mapping[str, str]) -> Iterator[str]:
    """Reasons why the files of this table cannot go without touching another (HAZARDS 1, 8)."""
    if table.unexplained:
        yield f"its folder also holds {table.unexplained[0]}, which is no part of it"
    if table.aliases:
        yield f"it is also known as {table.aliases[0]}"
    if table.name in shares:
        yield f"it shares files with {shares[table.name]}"
    if table.name in guards.taken_apart:
        folder = shlex.quote(guards.taken_apart[table.name])
        yield f"it is named like a part of a larger table; `r2d2 scan --split {folder}` says that it is none"


def days_untouched(table: Table, *, now_ns: int) -> float:
    """Days since a file of the table was last written."""
    newest = max((file.modified_ns for file in table.files), default=0)
    return (now_ns - newest) / _NS_PER_DAY
