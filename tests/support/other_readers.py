"""Files as readers see them that have nothing to do with the product, each in a process that may die of it."""

from __future__ import annotations

import base64
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from r2d2.lake.guarded import guarded_map
from r2d2.synthetic.oracle.truth_rows import rows_of

SECONDS = 20.0  # for one file
Seen = tuple[tuple[Any, ...], list[tuple[Any, ...]], str]  # columns, rows, and the types as this reader has them


def read_by_pyarrow(path: str) -> Seen:
    """Every leaf and every row, value by value. Behind NULs stand the columns that are wanted, if not all are."""
    path, *columns = path.split("\0")
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read(columns=columns or None, use_threads=False)
        if table.num_rows != file.metadata.num_rows:
            raise ValueError(f"{table.num_rows} rows instead of {file.metadata.num_rows}")  # without a word of its own
        return _seen(table)


def contradicts_itself(path: str) -> bool:
    """Whether two leaves of one column disagree, to pyarrow, about where the struct, list or map is that they make up."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        leaves = [file.schema.column(number).path for number in range(len(file.schema))]
        shapes: dict[str, list[Any]] = {}
        for leaf in leaves:
            (column,) = file.read(columns=[leaf], use_threads=False).columns
            is_list = pa.types.is_list(column.type) or pa.types.is_map(column.type)
            lengths = pc.list_value_length(column).to_pylist() if is_list else []
            shapes.setdefault(leaf.partition(".")[0], []).append((column.is_valid().to_pylist(), lengths))
    return any(shape != first for first, *others in shapes.values() for shape in others)


def read_by_duckdb(path: str) -> Seen:
    """The same by another reader."""
    query = "SELECT * FROM read_parquet($path, hive_partitioning = false)"
    return _seen(_duckdb().sql(query, params={"path": path}).to_arrow_table())


def read_by_polars(path: str) -> Seen:
    """And by a third."""
    import polars as pl

    return _seen(pl.read_parquet(path, glob=False, hive_partitioning=False, use_pyarrow=False).to_arrow())


@cache
def _duckdb() -> Any:
    import duckdb

    return duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False, "threads": 1}
    )


def _seen(table: pa.Table) -> Seen:
    found = rows_of(table)
    return (
        found.columns,
        list(found.rows),
        table.schema.to_string(show_field_metadata=False, show_schema_metadata=False),
    )


READERS = {
    "pyarrow": read_by_pyarrow,
    "duckdb": read_by_duckdb,
    "polars": read_by_polars,
    "itself": contradicts_itself,
}


def read_all(paths: Sequence[str], reader: str) -> dict[str, Any]:
    """By path: columns and rows (Seen), or why there are none. In a fresh process: forks of one with threads may hang."""
    command = [sys.executable, "-m", "tests.support.other_readers", reader]
    done = subprocess.run(command, input="\n".join(paths), stdout=subprocess.PIPE, text=True, check=True)
    answers = (pickle.loads(base64.b64decode(line)) for line in done.stdout.splitlines())
    return dict(zip(paths, answers, strict=True))


def _packed(reader: str, path: str) -> str:
    from polars.exceptions import PanicException

    try:
        return base64.b64encode(pickle.dumps(READERS[reader](path))).decode()
    except (Exception, PanicException) as error:  # whatever it is: this reader cannot read it
        return base64.b64encode(pickle.dumps(f"{type(error).__name__}: {error}")).decode()


def _main() -> None:
    paths = sys.stdin.read().split("\n")
    for outcome in guarded_map(partial(_packed, sys.argv[1]), paths, timeout_seconds=SECONDS, what="it"):
        print(outcome.result or base64.b64encode(pickle.dumps(outcome.because)).decode())


def missing_copies(*, parent: Seen, child: Seen) -> int | None:
    """How many rows of the child the parent lacks, copies counted; None if it lacks a column."""
    columns, rows, _ = parent
    if not set(child[0]) <= set(columns):
        return None
    places = [columns.index(column) for column in child[0]]
    held = Counter(tuple(row[place] for place in places) for row in rows)
    return (Counter(child[1]) - held).total()


if __name__ == "__main__":
    _main()
