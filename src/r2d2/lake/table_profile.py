"""From the metadata of its files to the profile of a table: partition columns join, names are folded if asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date

from r2d2.errors import TableError
from r2d2.formats.merge import FilesProfile
from r2d2.model.profile import ColumnStats, TableProfile, Value
from r2d2.model.schema import Column, Schema, Token, spell
from r2d2.model.table import DataFile, Table, all_rows

_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()


def table_profile(
    table: Table, metadata: FilesProfile, *, ignore_case: bool = False, partition_types: str = "infer"
) -> tuple[Table, TableProfile]:
    """The table with its files' parts, and its profile; TableError where its columns contradict one another."""
    parts = {file.path: file.parts for file in metadata.files}
    files = tuple(replace(file, parts=parts[file.path]) for file in table.files)
    columns = {Column(token, c.type_name): c.stats for token, c in metadata.columns.items()}
    in_files = {column.token[0] for column in columns}  # a struct of that name is hidden by the folders as well
    for column, stats in partition_columns(files, infer=partition_types == "infer").items():
        if column.token[0] in in_files:
            raise TableError(
                f"column {column} stands in its files and in its folder names",
                hint="rewrite it with one of the two; which values count cannot be told",
            )
        columns[column] = stats
    if ignore_case:
        columns = _folded(columns)
    schema = Schema.of(columns)
    profile = TableProfile(
        table=table.name,
        schema=schema,
        rows=metadata.rows,
        size_bytes=table.size_bytes,
        stats=tuple(columns[column] for column in schema.columns),
    )
    return replace(table, files=files), profile


def partition_columns(files: Iterable[DataFile], *, infer: bool) -> Mapping[Column, ColumnStats]:
    """The columns that the folder names carry; their statistics are exact where rows are counted."""
    parts_of: defaultdict[str, defaultdict[str | None, list[tuple[int | None, int]]]]
    parts_of = defaultdict(lambda: defaultdict(list))
    for file in files:
        for key, raw in file.partition:
            parts_of[key][raw].extend(file.parts)
    rows_of = {key: {raw: all_rows(some) for raw, some in parts.items()} for key, parts in parts_of.items()}
    return dict(_partition_column(key, rows, infer) for key, rows in rows_of.items())


def _partition_column(key: str, rows: Mapping[str | None, int | None], infer: bool) -> tuple[Column, ColumnStats]:
    """A value of unknown rows may stand in none: it widens the bounds, and exact they are of known rows only."""
    type_name = partition_type(rows, infer=infer)
    values = {raw: partition_value(raw, type_name) for raw, count in rows.items() if raw is not None and count != 0}
    low, high = min(values.values(), default=None), max(values.values(), default=None)
    there = {value for raw, value in values.items() if rows[raw] is not None}
    return Column((key,), type_name), ColumnStats(rows.get(None, 0), low, high, low in there, high in there)


def partition_type(values: Iterable[str | None], *, infer: bool) -> str:
    """int64 or date if every value is one, written in the one way that it prints; else string (HAZARDS 11).

    >>> partition_type(["1", "20", None], infer=True), partition_type(["01", "20"], infer=True)
    ('int64', 'string')
    """
    given = [value for value in values if value is not None]
    if infer and given:
        if all(_is_integer(value) for value in given):
            return "int64"
        if all(_is_date(value) for value in given):
            return "date"
    return "string"


def partition_value(raw: str, type_name: str) -> Value:
    """The value that a folder name stands for, in canonical form."""
    if type_name == "int64":
        return int(raw)
    if type_name == "date":
        return date.fromisoformat(raw).toordinal() - _EPOCH_ORDINAL
    return raw.encode("utf-8", "surrogateescape")


def _is_integer(text: str) -> bool:
    return text.isascii() and text.lstrip("-").isdigit() and str(int(text)) == text and -(2**63) <= int(text) < 2**63


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _folded(columns: Mapping[Column, ColumnStats]) -> dict[Column, ColumnStats]:
    """Names in one case; two columns that become one are an error, not a guess (HAZARDS 28)."""
    folded: dict[Token, Column] = {}
    result: dict[Column, ColumnStats] = {}
    for column, stats in columns.items():
        token = tuple(part.casefold() for part in column.token)
        if token in folded:
            raise TableError(
                f"columns {folded[token]} and {spell(column.token)} differ in case only",
                hint="scan without --ignore-case, or rename one",
            )
        folded[token] = column
        result[Column(token, column.type_name)] = stats
    return result
