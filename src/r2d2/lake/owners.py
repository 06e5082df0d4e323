"""Owners of tables."""

from __future__ import annotations

import os

from r2d2.model.table import Table


def owners_of(table: Table) -> set[str]:
    """The users that the table's files belong to, by name where the machine knows one."""
    return {_name(os.stat(file.path).st_uid) for file in table.files}


def _name(user: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(user).pw_name
    except (ImportError, KeyError):
        return str(user)
