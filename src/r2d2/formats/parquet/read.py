"""Some columns of some rows of one file, by token, in whatever way is fastest for their types.

Polars decodes several times faster than pyarrow, but has no home for some types: those columns go through pyarrow, and
so do lists, at which it is no faster, and small slices, for which it is the slower one. Both are held to the row count
of the footer (HAZARDS 7, 8). Polars, which believes much, reads a column only if its pages can be believed (13). What
it cannot read, pyarrow may.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.errors import TableError
from r2d2.formats.arrow_types import leaf_columns, type_name
from r2d2.formats.contract import FileSlice
from r2d2.formats.files import folded, partition_of, slice_of, with_partition
from r2d2.formats.parquet import NAME
from r2d2.formats.parquet.int96 import exact_moments
from r2d2.formats.parquet.layout import Layout, layout_of
from r2d2.formats.parquet.old_calendar import refuse_old_values
from r2d2.formats.parquet.page_guard import can_be_believed
from r2d2.model.schema import Token
from r2d2.model.table import DataFile
from r2d2.model.types import kind_of

SLICE_BYTES = 32 << 20
SLICE_ROWS = 1 << 20
SMALL_BYTES = 256 << 10  # below this, pyarrow is done before Polars has begun


def slices(
    files: Iterable[DataFile], partition_types: Mapping[str, str], *, fold_case: bool = False
) -> Iterator[FileSlice]:
    """The files in parts of about SLICE_BYTES and SLICE_ROWS at most; never less than a row group."""
    for file in files:
        for first, rows, size in _runs(file.parts):
            part = slice_of(file, partition_types, fold_case, format=NAME, first=first, rows=rows, size=size)
            yield {**part, "small": size < SMALL_BYTES}


def _runs(row_groups: Iterable[tuple[int | None, int]]) -> Iterator[tuple[int, int, int]]:
    """Neighbouring row groups together: first row, rows, bytes."""
    first = rows = size = 0
    for group_rows, group_bytes in row_groups:
        assert group_rows is not None  # every footer states it
        if rows and (rows + group_rows > SLICE_ROWS or size + group_bytes > SLICE_BYTES):
            yield first, rows, size
            first, rows, size = first + rows, 0, 0
        rows, size = rows + group_rows, size + group_bytes
    if rows:
        yield first, rows, size


def read_slice(part: FileSlice, tokens: Iterable[Token]) -> dict[Token, pa.ChunkedArray]:
    """The columns of one slice; one that its file lacks is NULL, as the table's schema says (HAZARDS 9)."""
    wanted = set(tokens)
    stored = _stored_columns(part, {token for token in wanted if partition_of(part, token) is None})
    return with_partition(part, stored, wanted, rows=part["rows"])


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _stored_columns(part: FileSlice, wanted: set[Token]) -> dict[Token, pa.ChunkedArray]:
    """The wanted columns that are stored in the file itself."""
    if not wanted:
        return {}
    try:
        with pq.ParquetFile(part["path"], page_checksum_verification=True) as file:
            layout = layout_of(file)
            names = dict.fromkeys(c.token[0] for c in layout.columns if folded(c.token, part["fold"]) in wanted)
            leaves = {name: layout.leaves[name] for name in names}
            fast = [] if part.get("small") else [name for name in leaves if name in layout.by_polars]
            fast = _believed(file, part, {name: leaves[name] for name in fast})
            found = {n: c for n, c in _from_polars(part, fast).items() if _same_kind(layout.schema, n, c)}
            found |= _from_pyarrow(file, part, {name: leaves[name] for name in leaves if name not in found})
            columns = dict(leaf_columns(found))
            if layout.int96:
                columns |= _exact_moments(layout, part, columns)
            refuse_old_values(file, layout, columns)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{os.path.basename(part['path'])} cannot be read ({_first_line(error)})") from error
    return {folded(token, part["fold"]): c for token, c in columns.items() if folded(token, part["fold"]) in wanted}


def _exact_moments(
    layout: Layout, part: FileSlice, columns: dict[Token, pa.ChunkedArray]
) -> dict[Token, pa.ChunkedArray]:
    """The INT96 columns among these, in the unit that holds their values."""
    found = layout.int96 & columns.keys()

    @cache
    def all_as(unit: str) -> dict[Token, pa.ChunkedArray]:
        path = part["path"]
        with pq.ParquetFile(path, page_checksum_verification=True, coerce_int96_timestamp_unit=unit) as coarser:
            names = sorted({token[0] for token in found})
            return dict(leaf_columns(_from_pyarrow(coarser, part, {name: layout.leaves[name] for name in names})))

    def exact(token: Token) -> pa.ChunkedArray:
        return exact_moments(columns[token], lambda unit: all_as(unit)[token])

    return {token: exact(token) for token in found}


def _from_polars(part: FileSlice, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """Nothing where it cannot: there are encodings that it lacks, and files that it alone refuses."""
    if not names:
        return {}
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # a task has one core
    import polars as pl

    try:
        scan = pl.scan_parquet(part["path"], glob=False, hive_partitioning=False, low_memory=True)
        frame = scan.select(pl.col(list(names))).slice(part["first"], part["rows"]).collect()
        newest = pl.CompatLevel.newest()  # strings stay views: no copy
        return {
            column.name: pa.chunked_array([chunk.to_arrow(compat_level=newest) for chunk in column.get_chunks()])
            for column in frame.get_columns()
        }
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # the latter, say, of a name with a zero in it
        return {}


def _same_kind(schema: pa.Schema, name: str, column: pa.ChunkedArray) -> bool:
    """Whether the two readers take the column for the same kind of value; if not, pyarrow's reading counts.

    (A date that was a date64 to its writer comes back from Polars as a timestamp.)
    """
    return kind_of(type_name(column.type)) == kind_of(type_name(schema.field(name).type))


def _from_pyarrow(
    file: pq.ParquetFile, part: FileSlice, leaves: Mapping[str, Sequence[int]]
) -> dict[str, pa.ChunkedArray]:
    """The row groups of the slice; names with dots need the leaves by number, not by path."""
    if not leaves:
        return {}
    groups, numbers = _row_groups(file, part), [number for some in leaves.values() for number in some]
    table = file.reader.read_row_groups(groups, column_indices=numbers, use_threads=False)
    table.validate(full=True)  # refuses bytes that are no text, as Polars does
    return {name: table.column(name) for name in leaves}


def _believed(file: pq.ParquetFile, part: FileSlice, leaves: Mapping[str, Sequence[int]]) -> list[str]:
    """The columns, none of them nested, whose pages in the row groups of the slice can be believed."""
    if not leaves:
        return []
    groups = [file.metadata.row_group(number) for number in _row_groups(file, part)]
    schema = file.schema
    columns = [[(group.column(leaf), schema.column(leaf)) for group in groups] for (leaf,) in leaves.values()]
    believed = can_be_believed(part["path"], columns)
    return [name for name, is_sound in zip(leaves, believed, strict=True) if is_sound]


def _row_groups(file: pq.ParquetFile, part: FileSlice) -> list[int]:
    groups, first = [], 0
    for number in range(file.metadata.num_row_groups):
        if part["first"] <= first < part["first"] + part["rows"]:
            groups.append(number)
        first += file.metadata.row_group(number).num_rows
    return groups
