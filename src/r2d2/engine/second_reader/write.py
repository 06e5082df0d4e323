"""Write Parquet files with exactly the schema of a deleted table, in tasks, from Spark's rows."""

from __future__ import annotations

import base64
import io
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, NotRequired, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types as is_

from r2d2.engine.second_reader.declared_order import sorting_columns
from r2d2.engine.second_reader.shape import Raw, Shape, Writing, raw_partition, shape_of_file
from r2d2.engine.second_reader.types import INT96, Node, arrow_from_spark, node_of
from r2d2.errors import TableError
from r2d2.model.recipe import Order, order_from_json, order_to_json

ROW_GROUP_ROWS = 1 << 18
ROW_GROUP_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Form:
    """Form of a table's files, as data that a plan can hold."""

    schema: pa.Schema  # with the notes that its footers have
    int96: bool
    partitions: tuple[tuple[str, str], ...]  # with their types
    folders: tuple[str, ...]  # of the partitions, as their names are spelled; ('',) without partitions
    writing: Writing
    order: Order = ()  # declared by its footers

    @property
    def nodes(self) -> tuple[tuple[str, Node], ...]:
        """The columns in the files, with their types."""
        return tuple((field.name, _node(field.type, self.int96)) for field in self.schema)


def form_of(shape: Shape, partition_types: Mapping[str, str], folders: Iterable[str]) -> Form:
    """The form of a table on disk."""
    types = tuple((name, partition_types.get(name, "string")) for name in shape.partitions)
    return Form(shape.schema, shape.has_int96, types, tuple(folders), shape.writing)


class FormJson(TypedDict):
    """A form as it stands in a plan."""

    order: NotRequired[object]
    schema: str
    int96: bool
    partitions: Sequence[Sequence[str]]
    folders: Sequence[str]
    compression: str
    stores_schema: bool
    decimals_as_integers: bool
    times_in_utc: NotRequired[bool]


def form_to_json(form: Form) -> FormJson:
    """Plain JSON values."""
    written: FormJson = {
        "schema": base64.b64encode(form.schema.serialize().to_pybytes()).decode(),
        "int96": form.int96,
        "partitions": [list(pair) for pair in form.partitions],
        "folders": list(form.folders),
        "compression": form.writing.compression,
        "stores_schema": form.writing.stores_schema,
        "decimals_as_integers": form.writing.decimals_as_integers,
        "times_in_utc": form.writing.times_in_utc,
    }
    return {"order": order_to_json(form.order), **written} if form.order else written


def form_from_json(data: FormJson) -> Form:
    """The form that `form_to_json` wrote; TableError for anything else."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(data["schema"], validate=True)))
        times_in_utc = bool(data.get("times_in_utc"))  # missing in older plans
        writing = Writing(data["compression"], data["stores_schema"], data["decimals_as_integers"], times_in_utc)
        partitions = tuple((str(name), str(kind)) for name, kind in data["partitions"])
        order = order_from_json(data.get("order", []))
        form = Form(schema, bool(data["int96"]), partitions, tuple(map(str, data["folders"])), writing, order)
        sorting_columns(order, form.nodes if order else ())  # finds a missing column now rather than at a restore
        return form
    except (KeyError, TypeError, ValueError, pa.ArrowException, OSError) as error:
        raise TableError(f"the recipe's description of the files is malformed ({error})") from error


def refuse_inexact_form(form: Form, shape: Shape) -> None:
    """Refuse a form that cannot be restored: write it without rows, and compare its footer with the child's."""
    if shape.disputes:
        raise TableError(f"it is not exactly restorable: {shape.disputes[0]}")
    try:
        empty = [pa.array([], arrow_from_spark(node)) for _, node in form.nodes]
        content = io.BytesIO()
        with _writer(content, form) as writer:
            writer.write_table(as_written(pa.record_batch(empty, names=form.schema.names), form))
        content.seek(0)
        written = shape_of_file(content)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TableError(f"it is not exactly restorable ({error})") from error
    differs = [name for name, node in shape.nodes if dict(written.nodes).get(name) != node]
    differs += [field.name for field in form.schema if written.schema.field(field.name).nullable != field.nullable]
    if differs:
        raise TableError(f"it is not exactly restorable: column {differs[0]} would come back as another type")
    _refuse_other_footer(written, shape)


def _refuse_other_footer(written: Shape, shape: Shape) -> None:
    """Refuse differences in types and notes that Arrow's schema does not show and other readers use."""
    came_back = dict(written.stored)
    for name, stored in shape.stored:
        for there, here in zip(stored, came_back[name], strict=True):
            if there != here:
                raise TableError(
                    f"it is not exactly restorable: column {name} is {there} in its files and would come back as {here}"
                )
    if (notes := shape.schema.metadata or {}) != (written.schema.metadata or {}):
        names = ", ".join(key.decode(errors="replace") for key in notes)
        raise TableError(f"it is not exactly restorable: its footers' notes ({names}) would come back changed")


def as_written(batch: pa.RecordBatch, form: Form) -> pa.Table:
    """Spark's rows in the types of the table; an error if a value would change."""
    columns = [_cast(column, field.type) for column, field in zip(batch.columns, form.schema, strict=True)]
    return pa.Table.from_arrays(columns, schema=form.schema)


def write_batches(batches: Iterable[pa.RecordBatch], *, into: str, form: FormJson, part: int) -> Iterator[str]:
    """Task: write the batches below *into*, one file for each run of rows of a folder; yields the files' paths.

    The last column of each batch is the folder's number in the form.
    """
    how = form_from_json(form)
    open_file: _File | None = None
    for batch in batches:
        for folder, rows in _runs(batch):
            if open_file is not None and open_file.folder != folder:
                yield open_file.close()
                open_file = None
            if open_file is None:
                open_file = _File(into, how, folder, part)
            open_file.write(rows)
    if open_file is not None:
        yield open_file.close()


def writing_task(
    forms: Sequence[FormJson], into: Sequence[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Task: write the rows of many tables, each as one file in its own folder; yields table and path of each.

    Rows come as the table's number, the number of the column that holds them, and these columns, g0, g1 …; rows of a
    table are adjacent.
    """
    stored = [json.dumps(form) for form in forms]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        pairs, paths = [], []
        for pair, path in _write_tables(batches, stored, list(into)):
            pairs.append(pair)
            paths.append(path)
        yield pa.record_batch({"pair": pa.array(pairs, pa.int32()), "path": pa.array(paths, pa.string())})

    return run


def _write_tables(
    batches: Iterable[pa.RecordBatch], forms: Sequence[str], into: Sequence[str]
) -> Iterator[tuple[int, str]]:
    open_file: _File | None = None
    now = -1
    for batch in batches:
        for pair, rows in _runs(batch, first=True):
            if pair != now or open_file is None:
                if open_file is not None:
                    yield now, open_file.close()
                now, open_file = pair, _File(into[pair], form_from_json(json.loads(forms[pair])), 0, 0)
            open_file.write(_unpacked(rows))
    if open_file is not None:
        yield now, open_file.close()


def _unpacked(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The fields of the struct column that holds these rows."""
    held = rows.column(f"g{rows.column('part')[0].as_py()}")
    return pa.record_batch(held.flatten(), names=[field.name for field in held.type])


def write_empty(into: str, form: Form) -> str:
    """Write a file without rows into the first folder, for an empty table."""
    return _File(into, form, 0, 0).close()


def folder_numbers(form: Form) -> dict[Raw, int]:
    """The number of each partition's folder; TableError if two folders have the same partition."""
    numbers = {raw_partition(folder): number for number, folder in enumerate(form.folders)}
    if len(numbers) < len(form.folders):
        raise TableError("two of its folders stand for the same partition")
    return numbers


class _File:
    """One file as it is written, row group by row group."""

    def __init__(self, into: str, form: Form, folder: int, part: int) -> None:
        if folder < 0:
            raise TableError("the recipe makes rows of a partition that the table does not have")
        self.folder = folder
        self._form = form
        self._path = os.path.join(form.folders[folder], f"part-{part:05d}-{uuid.uuid4()}.parquet")
        os.makedirs(os.path.dirname(os.path.join(into, self._path)), exist_ok=True)
        self._writer = _writer(os.path.join(into, self._path), form)
        self._pending: list[pa.Table] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Add some rows."""
        self._pending.append(as_written(batch, self._form))
        rows, size = (sum(values) for values in zip(*((t.num_rows, t.nbytes) for t in self._pending), strict=True))
        if rows >= ROW_GROUP_ROWS or size >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> str:
        """Finish the file; return its path below the table."""
        self._flush()
        self._writer.close()
        return self._path

    def _flush(self) -> None:
        if self._pending:
            self._writer.write_table(pa.concat_tables(self._pending), row_group_size=ROW_GROUP_ROWS)
            self._pending = []


def _writer(where: str | IO[bytes], form: Form) -> pq.ParquetWriter:
    in_utc = {"write_time_adjusted_to_utc": True} if form.writing.times_in_utc else {}  # not every pyarrow has it
    writer = pq.ParquetWriter(
        where,
        form.schema,
        version="2.6",
        compression="none" if form.writing.compression == "UNCOMPRESSED" else form.writing.compression,
        use_deprecated_int96_timestamps=form.int96,
        use_compliant_nested_type=False,  # the fields of lists keep their names
        store_schema=form.writing.stores_schema,
        store_decimal_as_integer=form.writing.decimals_as_integers,
        write_page_checksum=True,  # HAZARDS 13
        sorting_columns=sorting_columns(form.order, form.nodes) if form.order else None,
        **in_utc,
    )
    if form.schema.metadata and not form.writing.stores_schema:  # pyarrow writes both or neither
        writer.add_key_value_metadata(form.schema.metadata)
    return writer


def _runs(batch: pa.RecordBatch, *, first: bool = False) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Runs of rows of one folder, without the column of its number, which is the last, or the *first*."""
    places = list(range(batch.num_columns))
    which = places.pop(0 if first else -1)
    folders, data = batch.column(which).to_pylist(), batch.select(places)
    begin = 0
    for place in range(1, len(folders) + 1):
        if place == len(folders) or folders[place] != folders[begin]:
            yield folders[begin], data.slice(begin, place - begin)
            begin = place


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array in another type with the same values; Arrow raises an error if a value would change."""
    if column.type == kind:
        return column
    if isinstance(kind, pa.ExtensionType):
        return pa.ExtensionArray.from_storage(kind, _cast(column, kind.storage_type))
    if is_.is_dictionary(kind):
        return _cast(column, kind.value_type).dictionary_encode().cast(kind)
    if is_.is_null(kind):
        if column.null_count < len(column):
            raise TableError("a column that had only NULL has values now")
        return pa.nulls(len(column))
    if is_.is_struct(kind):
        parts = [_cast(part, field.type) for part, field in zip(_fields(column), kind, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=column.is_null())
    if is_.is_timestamp(kind) and is_.is_timestamp(column.type):
        moments = column.cast(pa.int64()).cast(pa.timestamp("us")).cast(pa.timestamp(kind.unit))
        return moments.cast(pa.int64()).cast(kind)  # the zone is only a note: no value changes
    return column.cast(kind)


def _fields(column: pa.StructArray) -> list[pa.Array]:
    return [column.field(number) for number in range(column.type.num_fields)]


class _AnyColumn:
    """Placeholder for a file's column when only Arrow's type is known."""

    def __init__(self, physical_type: str) -> None:
        self.physical_type = physical_type


def _node(kind: pa.DataType, int96: bool) -> Node:
    def leaves() -> Iterator[_AnyColumn]:
        while True:
            yield _AnyColumn("")

    node = node_of(kind, leaves())
    return INT96 if int96 and is_.is_timestamp(kind) else node
