"""Map the names in an access log to the tables of a scan."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from r2d2.errors import UserError

NOT_SCANNED = -1  # part of the lake, but no table of the scan
UNKNOWN = -2


class LogNames:
    """Finds the table that a name in a log means.

    A name below a table, such as one of its files, is a read of that table. A folder above tables names none of them.

    >>> names = LogNames({"sales": 0, "raw/events": 1}, given={"main.sales": "sales", "main.hr": ""})
    >>> [names.number(name) for name in ("/sales/", "raw/events/day=1", "main.sales", "main.hr", "raw")]
    [0, 1, 0, -1, -2]
    """

    def __init__(
        self,
        tables: Mapping[str, int],
        *,
        given: Mapping[str, str] | None = None,
        is_elsewhere: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._tables = tables
        self._above = {folder for name in tables for folder in _folders_above(name)}
        self._is_elsewhere = is_elsewhere
        self._known: dict[str, int] = {}
        self._known = {plain(name): self._given(name, plain(table)) for name, table in (given or {}).items()}

    def number(self, name: str | None) -> int:
        """The number of the table; or NOT_SCANNED, or UNKNOWN."""
        asked = plain(name or "")
        if asked not in self._known:
            self._known[asked] = self._look_up(asked)
        return self._known[asked]

    def numbers(self) -> set[int]:
        """The numbers of all tables."""
        return set(self._tables.values())

    def example(self) -> str:
        """The name of some table."""
        return min(self._tables, default="")

    def _look_up(self, name: str) -> int:
        for path in (name, *_folders_above(name)):
            if path in self._tables:
                return self._tables[path]
        if not name or name in self._above or not self._is_elsewhere(name):
            return UNKNOWN
        return NOT_SCANNED

    def _given(self, name: str, table: str) -> int:
        """The number that a person's mapping means; an empty table says that the name is outside this lake."""
        number = self._look_up(table) if table else NOT_SCANNED
        if number == UNKNOWN:
            raise UserError(
                f"the mapping of {name!r} names the table {table!r}, which this lake does not have",
                hint="`r2d2 scan --json` lists the tables; leave the table empty for a name that is none of them",
            )
        return number


def plain(name: str) -> str:
    """A name without the slashes and dots that a path may have and that change nothing.

    >>> plain("/raw//./events/")
    'raw/events'
    """
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def elsewhere_in_lake(roots: Sequence[str], known: Collection[str]) -> Callable[[str], bool]:
    """Tell whether a name is part of a lake although the scan has no such table.

    So are tables that were deleted, could not be read, or were left out by --include and --exclude. A name behind a
    link does not count: it may be a table of the scan under another name.
    """
    return partial(_is_elsewhere, roots=tuple(roots), known=frozenset(known))


def _is_elsewhere(name: str, *, roots: Sequence[str], known: Collection[str]) -> bool:
    if name in known:
        return True
    if ".." in name.split("/") or "\0" in name:
        return False
    if len(roots) == 1:
        return _is_there(roots[0], name)
    label, _, below = name.partition("/")
    return any(os.path.basename(root) == label and _is_there(root, below) for root in roots)


def _is_there(root: str, name: str) -> bool:
    path = os.path.join(os.path.realpath(root), name)
    return os.path.lexists(path) and os.path.realpath(path) == path.rstrip("/")


def _folders_above(name: str) -> list[str]:
    """The nearest first."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts) - 1, 0, -1)]
