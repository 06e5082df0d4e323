"""DuckDB on the tables of a scanned lake: an EXCEPT for each edge, and one pass over every byte (*the limit*)."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from r2d2.app.lake import Lake
from r2d2.lake.table_profile import partition_type
from r2d2.model.table import Table

CORES = os.cpu_count() or 1
COUNT = "SELECT count(*) FROM ({missing})"  # of all missing rows: the truth
EXISTS = "{missing} LIMIT 1"  # as a user asks
_TYPES = {"int64": "BIGINT", "date": "DATE", "string": "VARCHAR"}
Pair = tuple[str, str]


def hash_everything(lake: Lake) -> float:
    """Seconds to read every table once and hash each of its rows in all columns, table after table."""
    sources, columns = _sources(lake), _columns(lake)
    with _connection() as connection:
        started = time.perf_counter()
        for name, source in sources.items():
            connection.execute(f"SELECT sum(hash({columns[name]})) FROM {source}").fetchall()
        return time.perf_counter() - started


def ask_each(lake: Lake, pairs: Iterable[Pair], question: str) -> tuple[dict[Pair, float], set[Pair]]:
    """Seconds of each pair, and the pairs where no row of the child is missing from the parent."""
    seconds: dict[Pair, float] = {}
    contained: set[Pair] = set()
    sources, columns = _sources(lake), _columns(lake)
    with _connection() as connection:
        for parent, child in pairs:
            started = time.perf_counter()
            query = question.format(missing=_missing(columns[child], sources[child], sources[parent]))
            if connection.execute(query).fetchone() in (None, (0,)):
                contained.add((parent, child))
            seconds[parent, child] = time.perf_counter() - started
    return seconds, contained


def _missing(columns: str, child: str, parent: str) -> str:
    return f"SELECT {columns} FROM {child} EXCEPT SELECT {columns} FROM {parent}"


@contextmanager
def _connection() -> Iterator[Any]:
    """A new DuckDB with a thread for each core, which spills to a folder of its own."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="r2d2-duckdb-") as spill, duckdb.connect() as connection:
        connection.execute(f"SET threads={CORES}")
        connection.execute(f"SET temp_directory='{spill}'")
        yield connection


def _columns(lake: Lake) -> dict[str, str]:
    return {p.table: ", ".join(_quoted(c.token) for c in p.schema.columns) for p in lake.scan.profiles}


def _sources(lake: Lake) -> dict[str, str]:
    return {table.name: _source(table) for table in lake.scan.tables}


def _source(table: Table) -> str:
    """A table as DuckDB reads it, its partition columns typed as ours."""
    files = ", ".join("'" + file.path.replace("'", "''") + "'" for file in table.files)
    keys = [key for key, _ in table.files[0].partition]
    if not keys:
        return f"read_parquet([{files}], hive_partitioning=false, union_by_name=true)"
    types = ", ".join(f"{_quoted((key,))}: {_TYPES[_partition_type(table, key)]}" for key in keys)
    return f"read_parquet([{files}], hive_partitioning=true, union_by_name=true, hive_types={{{types}}})"


def _partition_type(table: Table, key: str) -> str:
    values = [value for file in table.files for k, value in file.partition if k == key]
    return str(partition_type(values, infer=True))


def _quoted(token: Sequence[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in token)
