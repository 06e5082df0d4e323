"""Whose a table is, and how long ago it was written to."""

from __future__ import annotations

import os

from r2d2.model.table import Table

_SECONDS_PER_DAY = 86_400


def owners_of(table: Table) -> set[str]:
    """The users that the table's files belong to, by name where the machine knows one."""
    return {_name(os.stat(file.path).st_uid) for file in table.files}


def _name(user: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(user).pw_name
    except (ImportError, KeyError):
        return str(user)


def days_untouched(table: Table, *, now_ns: int) -> float:
    """Days since a file of the table was last written."""
    newest = max((file.modified_ns for file in table.files), default=0)
    return (now_ns - newest) / 1e9 / _SECONDS_PER_DAY
