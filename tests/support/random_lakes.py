"""Small lakes of nasty tables: every type, NULL, NaN, ±0.0, text where writers cut, copies, one cell off, tiny files."""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.random_tables import PLAIN_WRITERS, SPARK_LACKS, VALUES, random_value

# Types whose values may be stored in another one without changing: a copy need not have the same types.
WIDER = {
    pa.int8(): [pa.int16(), pa.int64(), pa.float32()],
    pa.int32(): [pa.int64(), pa.float64(), pa.decimal128(20, 2)],
    pa.uint16(): [pa.int32(), pa.uint64()],
    pa.float32(): [pa.float64()],
    pa.decimal128(9, 2): [pa.decimal128(20, 5)],
    pa.string(): [pa.large_string()],
    pa.binary(): [pa.large_binary()],
    pa.timestamp("us"): [pa.timestamp("ns")],
    pa.timestamp("us", "UTC"): [pa.timestamp("ns", "UTC")],
}
MORE_VALUES: dict[pa.DataType, list[Any]] = VALUES | {
    pa.map_(pa.string(), pa.int64()): [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [], [("a", None)]],
    pa.list_(pa.list_(pa.string())): [[], [[]], [["a"], None], [["a", None]]],
    pa.time64("us"): [0, 1, 86_399_999_999],
    pa.duration("us"): [0, -1, 10**12],
    pa.null(): [None],
}


def write_lake(folder: Path, seed: int) -> None:
    """Three to six tables, some made of rows of others, under column names that no other seed uses."""
    rng = random.Random(seed)
    made: list[pa.Table] = []
    for number in range(rng.randint(3, 6)):
        table = _derived(rng, rng.choice(made)) if made and rng.random() < 0.75 else _root(rng, seed)
        made.append(table)
        _write(rng, table, folder / f"lake{seed}" / f"t{number}")
    if rng.random() < 0.3:
        original = rng.choice(sorted((folder / f"lake{seed}").iterdir()))
        shutil.copytree(original, folder / f"lake{seed}" / "copied")


def rewrite_with_spark(spark: Any, lakes: Path, seed: int, tables: int = 2) -> None:
    """Let Spark write some of the tables again; a few only, since each takes a job."""
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")  # the truth reads INT96 otherwise
    able = [folder for folder in sorted(lakes.glob("lake*/t*")) if _spark_writes(folder)]
    for folder in random.Random(seed).sample(able, min(tables, len(able))):
        parts = sorted(folder.glob("*.parquet"))
        whole = pa.concat_tables([pq.ParquetFile(part).read() for part in parts], promote_options="permissive")
        session.createDataFrame(whole).coalesce(1).write.parquet(str(folder / "_spark"))
        for part in parts:
            part.unlink()
        for number, written in enumerate(sorted((folder / "_spark").glob("*.parquet"))):
            written.rename(folder / f"part-{number}.parquet")
        shutil.rmtree(folder / "_spark")


def _spark_writes(folder: Path) -> bool:
    """Whether Spark has all the types of a table's files."""
    kinds = {field.type for part in folder.glob("*.parquet") for field in pq.ParquetFile(part).schema_arrow}
    return all(kind in VALUES and kind not in SPARK_LACKS for kind in kinds)


def _root(rng: random.Random, seed: int) -> pa.Table:
    types = rng.sample(list(MORE_VALUES), rng.randint(1, 4))
    rows = rng.choice([0, 1, 3, 12])
    columns = {}
    for number, kind in enumerate(types):
        values = [None if rng.random() < 0.2 else random_value(rng, kind, MORE_VALUES[kind]) for _ in range(rows)]
        columns[f"c{number}.{seed}"] = pa.array(values, kind)
    return pa.table(columns)


def _derived(rng: random.Random, table: pa.Table) -> pa.Table:
    for step in rng.sample([_rows, _projection, _shuffle, _one_cell_off, _wider, _repeat], rng.randint(1, 3)):
        table = step(rng, table)
    return table


def _rows(rng: random.Random, table: pa.Table) -> pa.Table:
    return table.take(pa.array([n for n in range(table.num_rows) if rng.random() < 0.6], pa.int64()))


def _projection(rng: random.Random, table: pa.Table) -> pa.Table:
    names = rng.sample(table.column_names, rng.randint(1, table.num_columns))
    return table.select(names)


def _shuffle(rng: random.Random, table: pa.Table) -> pa.Table:
    return table.take(pa.array(rng.sample(range(table.num_rows), table.num_rows), pa.int64()))


def _repeat(rng: random.Random, table: pa.Table) -> pa.Table:
    places = [rng.randrange(table.num_rows) for _ in range(table.num_rows + 1)] if table.num_rows else []
    return table.take(pa.array(places, pa.int64()))


def _one_cell_off(rng: random.Random, table: pa.Table) -> pa.Table:
    if not table.num_rows:
        return table
    place = rng.randrange(table.num_columns)
    column = table.column(place)
    values = column.to_pylist()
    pool = next((values for kind, values in MORE_VALUES.items() if kind == column.type), [None])
    values[rng.randrange(len(values))] = random_value(rng, column.type, [None, *pool])
    return table.set_column(place, table.schema.field(place).name, pa.array(values, column.type))


def _wider(rng: random.Random, table: pa.Table) -> pa.Table:
    place = rng.randrange(table.num_columns)
    kinds = WIDER.get(table.column(place).type)
    if not kinds:
        return table
    column = table.column(place).cast(rng.choice(kinds), safe=False)
    return table.set_column(place, table.schema.field(place).name, column)


def _write(rng: random.Random, table: pa.Table, folder: Path) -> None:
    """One to three part files, each by a writer that can."""
    folder.mkdir(parents=True)
    cuts = sorted(rng.randint(0, table.num_rows) for _ in range(rng.randint(0, 2)))
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, table.num_rows], strict=True)):
        path = folder / f"part-{number}.parquet"
        writers: Sequence[Any] = PLAIN_WRITERS[:2] if only_arrow_writes(table) else PLAIN_WRITERS
        rng.choice(writers)(table.slice(first, last - first), path)
        if not path.exists():
            pq.write_table(table.slice(first, last - first), path)


def only_arrow_writes(table: pa.Table) -> bool:
    """Types that the other writers change or refuse."""
    odd = (pa.types.is_map, pa.types.is_null, pa.types.is_time, pa.types.is_duration, pa.types.is_struct)
    return any(check(field.type) for field in table.schema for check in odd)
