"""The footer of a Parquet file as a profile, and how sure its statements are (HAZARDS 27)."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.errors import TableError
from r2d2.formats.arrow_types import type_name
from r2d2.formats.merge import ColumnProfile, FileRows, FilesProfile
from r2d2.formats.parquet.encrypted import encrypted_columns
from r2d2.formats.parquet.exactness import Exactness, read_exactness
from r2d2.formats.parquet.int96 import as_instant
from r2d2.formats.parquet.layout import Layout, layout_of
from r2d2.formats.parquet.statistics import column_stats, needs_flags
from r2d2.model.profile import ColumnStats
from r2d2.model.schema import spell

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"


def read_footer(path: str) -> FilesProfile:
    """The profile of one file. May kill or hang the process that calls it: see `guarded`."""
    name = os.path.basename(path)
    size = _check_ends(path, name)
    try:
        # A footer of n bytes cannot hold strings or lists longer than n, whatever lengths it states.
        with pq.ParquetFile(path, thrift_string_size_limit=size, thrift_container_size_limit=size) as file:
            _refuse_encrypted(path, name, file.metadata)
            return _profile(path, file.metadata, layout_of(file))
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(
            f"{name} has a footer that cannot be read ({reason})", hint="rewrite or remove the file"
        ) from error


def _check_ends(path: str, name: str) -> int:
    """The file's size, if it begins and ends as Parquet does."""
    try:
        with open(path, "rb") as file:
            head = file.read(4)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 4))
            tail = file.read(4)
    except OSError as error:
        raise TableError(f"{name} cannot be opened ({error.strerror})", hint="check its permissions") from error
    if size == 0:
        raise TableError(f"{name} is empty (0 bytes)", hint="remove the file, or restore it")
    if head != _MAGIC:
        what = "has an encrypted footer" if head == _ENCRYPTED else "is not a Parquet file"
        raise TableError(f"{name} {what}", hint="move it away, or leave its table out with --exclude")
    if tail != _MAGIC or size < 12:
        raise TableError(f"{name} ends before its footer (truncated, {size:,} bytes)", hint="restore the file")
    return size


def _refuse_encrypted(path: str, name: str, metadata: pq.FileMetaData) -> None:
    encrypted = encrypted_columns(path, metadata)
    if encrypted:
        more = f" and {len(encrypted) - 1:,} more" if len(encrypted) > 1 else ""
        raise TableError(
            f"{name} has encrypted columns: {encrypted[0]}{more}",
            hint="its keys are not at hand; leave the table out with --exclude, or write it without encryption",
        )


def _profile(path: str, metadata: pq.FileMetaData, layout: Layout) -> FilesProfile:
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    files = (FileRows(path, tuple((group.num_rows, _stored_bytes(group)) for group in groups)),)
    if files[0].rows != metadata.num_rows:
        raise ValueError(f"row groups hold {files[0].rows} rows, the file states {metadata.num_rows}")
    name = os.path.basename(path)
    columns: dict[tuple[str, ...], ColumnProfile] = {}
    numbered = list(enumerate(groups))
    exactness = read_exactness(path) if needs_flags(metadata.created_by or "") else Exactness()
    names, leaves = layout.schema.names, sum(len(column.leaves) for column in layout.columns)
    if len(set(names)) < len(names):  # structs of one name can have different fields
        raise ValueError(f"column {max(names, key=names.count)} stands twice")
    if leaves != metadata.num_columns:
        raise ValueError(f"the schema names {leaves} columns, the file has {metadata.num_columns}")
    for token, kind, kind_name, (leaf, *more), has_int96, _ in layout.columns:
        if token in columns:
            raise ValueError(f"column {spell(token)} stands twice")
        stats = ColumnStats()
        if not more and metadata.schema.column(leaf).max_repetition_level == 0:
            if has_int96:
                kind = as_instant(kind, metadata.schema.column(leaf))
                kind_name = type_name(kind)
            stats = column_stats(metadata, numbered, leaf, kind, exactness)
        columns[token] = ColumnProfile(kind_name, name, stats)
    return FilesProfile(files, columns)


def _stored_bytes(group: pq.RowGroupMetaData) -> int:
    columns = [group.column(number) for number in range(group.num_columns)]
    for column in columns:
        column.compression  # noqa: B018 - an unknown codec kills the process that asks, and this one may die
    return sum(column.total_compressed_size for column in columns)
