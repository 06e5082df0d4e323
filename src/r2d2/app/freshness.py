"""Compare tables with what the scan knows of them, and refuse those that differ."""

from __future__ import annotations

import os
from collections.abc import Iterable

from r2d2.errors import TableError, UserError
from r2d2.model.scan import Scan
from r2d2.model.table import Table
from r2d2.stores.local import LocalStore


def changed_since(table: Table) -> bool:
    """Whether a file of the table is gone or has another version than when it was scanned."""
    store = LocalStore()
    return any(store.version(file.path) != file.version for file in table.files)


def changed_tables(tables: Iterable[Table]) -> list[str]:
    """Names of the tables that have changed since they were scanned."""
    return [table.name for table in tables if changed_since(table)]


def refuse_deleted(scan: Scan, *tables: str) -> None:
    """Refuse tables that are deleted: their rows cannot be read."""
    for table in tables:
        if table in scan.absent:
            raise UserError(
                f"{table} is {scan.absent[table].says}", hint=f"`r2d2 restore {table}` brings it back first"
            )


def refuse_changed(table: Table) -> None:
    """Refuse a table whose files are not those of the scan: the scan's words are not about these."""
    for file in table.files:
        if not os.path.exists(file.path):
            raise TableError(f"cannot read table {table.name}: {file.path} is gone", hint="scan the lake again")
    if changed_since(table):
        raise TableError(f"table {table.name} has changed since the scan", hint="scan the lake again")
