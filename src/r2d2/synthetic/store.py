"""Parquet tables on disk, as the generator reads them: listed once, then streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.errors import UserError
from r2d2.synthetic.columns import plain
from r2d2.synthetic.hive import Partition, partition_of, partition_type
from r2d2.synthetic.reservoir import Reservoir
from r2d2.synthetic.stream import Stream

READ_BUFFER_BYTES = 1 << 20
SAMPLED_ROW_GROUPS = 4


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One Parquet file, and the partition values of its folders."""

    path: Path
    partition: Partition = ()


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The files of a table in order of their names, and the union of their columns."""

    files: tuple[StoredFile, ...]
    schema: pa.Schema
    rows: int

    def stream(self, *, batch_rows: int) -> Stream:
        """All rows, file after file."""
        batches = (batch for file in self.files for batch in self._batches(file, batch_rows))
        return Stream(self.schema, batches)

    def sample(self, *, rows: int, seed: int, batch_rows: int) -> pa.Table:
        """Some rows, from a few row groups only: good enough to choose a transformation, not for proofs."""
        random = np.random.default_rng(seed)
        reservoir = Reservoir(rows=rows, seed=seed)
        for _ in range(SAMPLED_ROW_GROUPS):
            file = self.files[random.integers(len(self.files))]
            groups = pq.read_metadata(file.path).num_row_groups
            if groups:
                for batch in self._batches(file, batch_rows, [int(random.integers(groups))]):
                    reservoir.add(batch)
        held = reservoir.sample()
        return self.schema.empty_table() if held is None else held

    def _batches(
        self, file: StoredFile, batch_rows: int, row_groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        # A small buffer and no pre-buffering: a given file may have one row group of any size.
        with pq.ParquetFile(file.path, buffer_size=READ_BUFFER_BYTES, pre_buffer=False) as parquet:
            for batch in parquet.iter_batches(batch_rows, row_groups=row_groups):
                if batch.num_rows:
                    yield self._completed(batch, dict(file.partition))

    def _completed(self, batch: pa.RecordBatch, partition: dict[str, str | None]) -> pa.RecordBatch:
        arrays = []
        for field in self.schema:
            if field.name in partition:
                value = pa.scalar(partition[field.name], pa.string()).cast(field.type)
                arrays.append(pa.repeat(value, batch.num_rows))
            elif field.name in batch.schema.names:
                arrays.append(batch.column(field.name).cast(field.type))
            else:
                arrays.append(pa.nulls(batch.num_rows, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def open_table(path: Path) -> StoredTable:
    """Open a Parquet file, or a folder of them, as a table. Reads only the footers."""
    files = _listed(path)
    schemas, rows = [], 0
    for file in files:
        footer = _footer(file.path)
        schemas.append(footer.schema.to_arrow_schema())
        rows += footer.num_rows
    return StoredTable(files, _plain_schema(_united(path, schemas), files), rows)


def _listed(path: Path) -> tuple[StoredFile, ...]:
    if path.is_file():
        return (StoredFile(path),)
    found = sorted(file for file in path.rglob("*.parquet") if not _is_hidden(file.relative_to(path)))
    if not found:
        raise UserError(f"no Parquet file at {path}", hint="name a .parquet file or a folder that holds some")
    return tuple(StoredFile(file, partition_of(file.relative_to(path))) for file in found)


def _is_hidden(relative: Path) -> bool:
    return any(part.startswith((".", "_")) for part in relative.parts)


def _footer(path: Path) -> pq.FileMetaData:
    try:
        return pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path}: {error}", hint="leave it out of the roots") from error


def _united(path: Path, schemas: Sequence[pa.Schema]) -> pa.Schema:
    try:
        united = pa.unify_schemas(schemas)
    except pa.ArrowException as error:
        raise UserError(
            f"the files of {path} do not have one schema: {error}", hint="name the files one by one as roots"
        ) from error
    if len(set(united.names)) < len(united.names):
        raise UserError(f"{path} has two columns of the same name", hint="leave it out of the roots")
    return united


def _plain_schema(schema: pa.Schema, files: Sequence[StoredFile]) -> pa.Schema:
    keys = dict.fromkeys(key for file in files for key, _ in file.partition)
    fields = [pa.field(field.name, plain(field.type)) for field in schema if field.name not in keys]
    for key in keys:
        fields.append(pa.field(key, partition_type(dict(file.partition).get(key) for file in files)))
    return pa.schema(fields)
