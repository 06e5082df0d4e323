"""The formats there are, by name. Importing this loads none of them, nor pyarrow.

A format of ours has a short name here. Any other is named by its module, importable wherever tables are read, which
holds it as `FORMAT`: tables and slices carry that name, so child processes and Spark's workers find it without
registration. Only the walk, which looks for tables, has to be told by `register`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from r2d2.errors import TableError
from r2d2.formats.contract import Claim, FileSlice, Range, TableFormat
from r2d2.formats.files import folded
from r2d2.model.schema import Token
from r2d2.model.table import Table
from r2d2.stores.contract import Store
from r2d2.stores.local import LocalStore

if TYPE_CHECKING:
    import pyarrow as pa

BUILT_IN = {"parquet": "r2d2.formats.parquet.format"}  # name: module
_registered: list[str] = []
_INSTALL = "register the module of the format, and install it where tables are read"


def register(module: str) -> None:
    """Let the walk look for tables of the format in this module as well; TableError if there is none."""
    name = format_named(module).name
    if name != module:
        raise TableError(f"the format in {module} calls itself {name}", hint="name it by its module")
    if not is_read(module):
        _registered.append(module)
    _forget()


def unregister(module: str) -> None:
    """Take a registration back."""
    _registered.remove(module)
    _forget()


def _forget() -> None:
    for known in (all_formats, suffixes, magics):
        known.cache_clear()


@cache
def format_named(name: str) -> TableFormat:
    """The format of this name; TableError if it cannot be had."""
    try:
        found: TableFormat = import_module(BUILT_IN.get(name, name)).FORMAT
    except (ImportError, AttributeError, ValueError) as error:
        raise TableError(f"there is no table format {name} here ({error})", hint=_INSTALL) from error
    return found


def format_of(table: Table) -> TableFormat:
    """The format of a table, if the walk looks for it; a name from a state folder alone is never imported."""
    if not is_read(table.format):
        raise TableError(f"{table.name} has the unknown format {table.format}", hint=_INSTALL)
    return format_named(table.format)


@cache
def all_formats() -> tuple[TableFormat, ...]:
    """All formats that the walk looks for."""
    return tuple(format_named(name) for name in (*BUILT_IN, *_registered))


@cache
def suffixes() -> Mapping[str, str]:
    """Formats, by name, that the endings of file names state."""
    return {suffix: one.name for one in all_formats() for suffix in one.suffixes}


@cache
def magics() -> Mapping[bytes, str]:
    """Formats, by name, that the first four bytes of files state."""
    return {magic: one.name for one in all_formats() for magic in one.magics}


def is_read(name: str | None) -> bool:
    """Whether the walk looks for files of this format."""
    return name in BUILT_IN or name in _registered


def strongest_claim(folder: str, names: Iterable[str], store: Store) -> Claim | None:
    """The strongest claim of any format on a folder with these names in it."""
    there = frozenset(names)
    claims = [claim for one in all_formats() if (claim := one.recognise(folder, there, store)) is not None]
    return max(claims, key=lambda claim: claim.strength, default=None)


def read_slice(part: FileSlice, tokens: Iterable[Token]) -> dict[Token, pa.ChunkedArray]:
    """Read columns of a slice by the format that it names."""
    return format_named(part["format"]).read(part, tokens)


def slice_range(part: FileSlice, token: Token) -> Range | None:
    """Bounds of a column of a slice, by the format that it names; None if they are unknown."""
    return format_named(part["format"]).range(part, token)


def read_bytes(part: FileSlice, start: int, length: int) -> bytes:
    """Raw bytes of the file of a slice; fewer where it ends."""
    try:
        (found,) = LocalStore().ranges(part["path"], [(start, length)])
    except OSError as error:
        raise TableError(f"{os.path.basename(part['path'])} cannot be read ({error})") from error
    return found


def try_to_read(part: FileSlice) -> str:
    """Read all columns of a slice, for the effect on the process that does."""
    found = format_named(part["format"])
    columns = found.profile(part["path"], LocalStore()).columns
    found.read(part, [folded(token, part["fold"]) for token in columns])
    return ""


def without_rebuild(tables: Iterable[Table]) -> dict[int, str]:
    """By table number the reason, for tables that are neither rebuilt nor rebuilt from."""
    return {n: why for n, table in enumerate(tables) if (why := _without_rebuild(table))}


def _without_rebuild(table: Table) -> str:
    if not is_read(table.format):
        return f"its format {table.format} is not known here"
    return format_of(table).capabilities.without_rebuild


def without_row_lists(tables: Iterable[Table]) -> dict[int, str]:
    """By table number the reason, for tables whose rows a recipe cannot list."""
    known = ((n, format_of(table)) for n, table in enumerate(tables) if is_read(table.format))
    return {n: why for n, found in known if (why := found.capabilities.without_row_lists)}
