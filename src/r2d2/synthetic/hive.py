"""Hive-style folders: the path `country=DE/part-0.parquet` adds a column to the file (HAZARDS 11)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import quote, unquote

import pyarrow as pa

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"

Partition = tuple[tuple[str, str | None], ...]


def partition_folder(column: str, value: str | None) -> str:
    """The folder for one value. Hive has no empty value: as in Spark it goes to the folder of NULL.

    >>> partition_folder("day", "a/b"), partition_folder("day", None)
    ('day=a%2Fb', 'day=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{quote(column, safe='')}={quote(value, safe='') if value else NULL_FOLDER}"


def partition_of(relative: PurePath) -> Partition:
    """Columns and values from the folders of a path below its table, in order; None is NULL.

    >>> partition_of(PurePath("year=2024/country=A%26B/part-0.parquet"))
    (('year', '2024'), ('country', 'A&B'))
    """
    pairs = [folder.split("=", 1) for folder in relative.parts[:-1] if "=" in folder]
    return tuple((unquote(key), None if value == NULL_FOLDER else unquote(value)) for key, value in pairs)


def partition_type(values: Iterable[str | None]) -> pa.DataType:
    """The type of a key, from all its values in the table: int64 or date only if all are written so.

    >>> partition_type(["1", "2"]), partition_type(["01", "2"]), partition_type(["2024-01-31", None])
    (DataType(int64), DataType(string), DataType(date32[day]))
    """
    known = {value for value in values if value is not None}
    if known and all(_is_integer(value) for value in known):
        return pa.int64()
    if known and all(_is_date(value) for value in known):
        return pa.date32()
    return pa.string()


def _is_integer(text: str) -> bool:
    try:
        return str(int(text)) == text and -(2**63) <= int(text) < 2**63
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
