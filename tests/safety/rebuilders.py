"""Rebuilders that read every row and compare by value: one for Parquet on disk, one for lines of text in memory."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from r2d2.errors import R2D2Error, TableError
from r2d2.model.rebuild import Compare, Comparison, Content, Placed, Rebuild, Verify

Rows = tuple[tuple[str, ...], "Counter[tuple[Any, ...]]"]  # schema and bag


def encode_lines(schema: tuple[str, ...], rows: list[tuple[Any, ...]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in [list(schema), *map(list, rows)])


def decode_lines(content: bytes) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    schema, *rows = (json.loads(line) for line in content.splitlines())
    return tuple(schema), [tuple(row) for row in rows]


def encode_parquet(schema: tuple[str, ...], rows: list[tuple[Any, ...]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.schema([(name, pa.int64() if name in ("id", "n") else pa.string()) for name in schema])
    columns = [pa.array([row[index] for row in rows], field.type) for index, field in enumerate(names)]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=names), out)
    return out.getvalue()


def decode_parquet(content: bytes) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(io.BytesIO(content)).read()
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True)) if table.num_rows else []
    return tuple(table.schema.names), rows


class Rebuilder:
    """`layers` are the file systems in memory, by their root; without them, paths are real ones."""

    def __init__(self, *layers: Any, parquet: bool = False) -> None:
        self.layers = {layer.root: layer for layer in layers}
        self.encode, self.decode = (encode_parquet, decode_parquet) if parquet else (encode_lines, decode_lines)
        self.rebuilt = 0

    def verify_many(self, asked: Sequence[Verify]) -> list[Comparison | R2D2Error]:
        return [_tried(self.verify, recipe=one.recipe, parents=one.parents, child=one.child) for one in asked]

    def rebuild_many(self, asked: Sequence[Rebuild]) -> list[tuple[str, ...] | R2D2Error]:
        return [
            _tried(self.rebuild, recipe=one.recipe, parents=one.parents, into=one.into, one_file=one.one_file)
            for one in asked
        ]

    def compare_many(self, asked: Sequence[Compare]) -> list[Comparison | R2D2Error]:
        return [_tried(self.compare, rebuilt=one.rebuilt, child=one.child) for one in asked]

    def measure_many(self, tables: Sequence[Placed]) -> list[Content | R2D2Error]:
        return [_tried(self.measure, table) for table in tables]

    def verify(self, *, recipe: Mapping[str, Any], parents: Sequence[Placed], child: Placed) -> Comparison:
        made, there = run(recipe, self.rows_of(parents)), self.rows(child)
        return Comparison("" if made == there else "rows or columns differ", content_of(there))

    def rebuild(
        self, *, recipe: Mapping[str, Any], parents: Sequence[Placed], into: str, one_file: bool
    ) -> tuple[str, ...]:
        schema, bag = run(recipe, self.rows_of(parents))
        rows = sorted(bag.elements(), key=repr)
        self.rebuilt += 1
        if one_file:
            parts = {"only.rows": rows}
        else:
            half = len(rows) // 2
            parts = {"part-0.rows": rows[:half], "deep/er/part-1.rows": rows[half:]}
        for name, some in parts.items():
            self.write(f"{into}/{name}", self.encode(schema, some))
        return tuple(parts)

    def compare(self, *, rebuilt: Placed, child: Placed) -> Comparison:
        made, there = self.rows(rebuilt), self.rows(child)
        return Comparison("" if made == there else "rows or columns differ", content_of(made))

    def measure(self, table: Placed) -> Content:
        return content_of(self.rows(table))

    def rows_of(self, tables: Sequence[Placed]) -> Rows:
        """All rows of some tables of one schema."""
        schemas, bags = zip(*map(self.rows, tables), strict=True)
        assert len(set(schemas)) == 1
        return schemas[0], sum(bags, Counter())

    def rows(self, table: Placed) -> Rows:
        schema: tuple[str, ...] = ()
        bag: Counter[tuple[Any, ...]] = Counter()
        for name in table.files:
            try:
                schema, rows = self.decode(self.read(f"{table.path}/{name}" if name else table.path))
            except (OSError, ValueError) as error:
                raise TableError(f"cannot read {table.path}: {error}") from error
            bag.update(rows)
        return schema, bag

    def read(self, path: str) -> bytes:
        for root, layer in self.layers.items():
            if path.startswith(root + "/"):
                return b"".join(layer.chunks(path.removeprefix(root + "/")))
        with open(path, "rb") as file:
            return file.read()

    def write(self, path: str, content: bytes) -> None:
        for root, layer in self.layers.items():
            if path.startswith(root + "/"):
                layer.put(path.removeprefix(root + "/"), content)
                return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            file.write(content)


def _tried(ask: Callable[..., Any], *given: Any, **named: Any) -> Any:
    try:
        return ask(*given, **named)
    except R2D2Error as error:
        return error


def run(recipe: Mapping[str, Any], parent: Rows) -> Rows:
    """A recipe of these tests: some columns of the rows whose id leaves a rest."""
    schema, bag = parent
    indexes = [schema.index(name) for name in recipe["columns"]]
    made: Counter[tuple[Any, ...]] = Counter()
    for row, copies in bag.items():
        if row[schema.index("id")] % recipe["modulus"] == recipe["rest"]:
            made[tuple(row[index] for index in indexes)] += copies
    return tuple(recipe["columns"]), made


def content_of(rows: Rows) -> Content:
    schema, bag = rows
    text = repr((schema, sorted(bag.items(), key=repr)))
    return Content(bag.total(), len(bag), hashlib.sha256(text.encode()).hexdigest())
