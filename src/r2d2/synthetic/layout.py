"""Layouts of a table on disk: one file, a folder of parts, or a folder per value of a column."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from r2d2.synthetic.hive import partition_folder, partition_of
from r2d2.synthetic.store import StoredFile, StoredTable
from r2d2.synthetic.stream import Stream, rechunk

MOST_OPEN_FILES = 32

Kind = Literal["file", "folder", "hive"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Kind of layout, and the sizes that bound memory: a row group is in memory, a file is streamed."""

    kind: Kind
    rows_per_file: int  # "folder" only
    row_group_rows: int
    compression: str
    partition_by: str | None = None  # "hive" only


@dataclass(frozen=True, slots=True)
class Written:
    """A table on disk and its size."""

    table: StoredTable
    size_bytes: int


def write_table(stream: Stream, location: Path, layout: Layout) -> Written:
    """Write the stream to its file or folder, row group by row group. Even an empty table has one file."""
    rows = 0
    with _writer(location, layout, stream.schema) as writer:
        for batch in rechunk(stream.batches, rows=layout.row_group_rows):
            writer.write(batch)
            rows += batch.num_rows
        if not rows:
            writer.write(pa.RecordBatch.from_pylist([], schema=stream.schema))
    base = location if layout.kind != "file" else location.parent
    files = tuple(StoredFile(path, partition_of(path.relative_to(base))) for path in sorted(writer.paths))
    table = StoredTable(files, _schema_on_disk(stream.schema, layout), rows)
    return Written(table, sum(file.path.stat().st_size for file in files))


def _writer(location: Path, layout: Layout, schema: pa.Schema) -> _PartWriter | _HiveWriter:
    return _HiveWriter(location, layout) if layout.kind == "hive" else _PartWriter(location, layout, schema)


class _PartWriter:
    """Writer of one file, or of part files of limited rows."""

    def __init__(self, location: Path, layout: Layout, schema: pa.Schema) -> None:
        self.paths: list[Path] = []
        self._location, self._layout, self._schema = location, layout, schema
        self._capacity = layout.rows_per_file if layout.kind == "folder" else sys.maxsize
        self._open: pq.ParquetWriter | None = None
        self._room = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the batch; close a full file and begin the next one."""
        start = 0
        while start < batch.num_rows or not self.paths:
            writer = self._open if self._open and self._room else self._next_file()
            part = batch.slice(start, self._room)
            writer.write_batch(part)
            start, self._room = start + part.num_rows, self._room - part.num_rows

    def _next_file(self) -> pq.ParquetWriter:
        self._close()
        part = self._location / f"part-{len(self.paths):05}.parquet"
        self.paths.append(self._location if self._layout.kind == "file" else part)
        self._open = _open_file(self.paths[-1], self._schema, self._layout)
        self._room = self._capacity
        return self._open

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def __enter__(self) -> _PartWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


class _HiveWriter:
    """Writer of `key=value/part-n.parquet`; closes the least recently used file if too many are open."""

    def __init__(self, location: Path, layout: Layout) -> None:
        assert layout.partition_by is not None
        self.paths: list[Path] = []
        self._location, self._layout, self._column = location, layout, layout.partition_by
        self._open: dict[str, pq.ParquetWriter] = {}
        self._parts: dict[str, int] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        """Write the rows of each value to its own folder; without rows, an empty file to the folder of NULL."""
        keys = batch.column(self._column).cast(pa.string())
        rest = batch.drop_columns([self._column])
        for value in sorted(keys.unique().to_pylist(), key=lambda key: key or "") or [None]:
            chosen = keys.is_null() if value is None else pc.equal(keys, value).fill_null(False)
            self._writer(value, rest.schema).write_batch(rest.filter(chosen))

    def _writer(self, value: str | None, schema: pa.Schema) -> pq.ParquetWriter:
        folder = partition_folder(self._column, value)
        writer = self._open.pop(folder, None) or self._new_writer(folder, schema)
        self._open[folder] = writer  # last in the dict: used last
        return writer

    def _new_writer(self, folder: str, schema: pa.Schema) -> pq.ParquetWriter:
        if len(self._open) >= MOST_OPEN_FILES:
            self._open.pop(next(iter(self._open))).close()
        part = self._parts.get(folder, 0)
        self._parts[folder] = part + 1
        self.paths.append(self._location / folder / f"part-{part}.parquet")
        return _open_file(self.paths[-1], schema, self._layout)

    def __enter__(self) -> _HiveWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for writer in self._open.values():
            writer.close()


def _open_file(path: Path, schema: pa.Schema, layout: Layout) -> pq.ParquetWriter:
    path.parent.mkdir(parents=True, exist_ok=True)
    return pq.ParquetWriter(path, schema, compression=layout.compression)


def _schema_on_disk(schema: pa.Schema, layout: Layout) -> pa.Schema:
    if layout.partition_by is None:
        return schema
    key = schema.field(layout.partition_by)
    return schema.remove(schema.get_field_index(key.name)).append(key)
