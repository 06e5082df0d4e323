"""Edge by edge on Spark: the paper's content-level pruning as printed, made null-safe, and exceptAll."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from r2d2.app.lake import Lake
from r2d2.engine.spark.session import open_session
from r2d2.settings import load_settings

Pair = tuple[str, str]
ROWS, COLUMNS = 10, 4  # the paper's t and s


def clp_per_edge(lake: Lake, pairs: Sequence[Pair]) -> float:
    """Mean seconds per edge: a WHERE sample of the child, left-anti joined with the parent (Algorithm 3)."""
    from pyspark.sql import functions as f

    def check(spark: Any, parent: Pair, child: Pair) -> None:
        held, wanted = _read(spark, lake, parent), _read(spark, lake, child)
        columns = wanted.columns[:COLUMNS]
        sample = wanted.select(*map(_name, columns)).limit(ROWS).alias("c")
        condition = None
        for column in columns:
            same = f.col(f"c.{_name(column)}").eqNullSafe(f.col(f"p.{_name(column)}"))
            condition = same if condition is None else condition & same
        sample.join(held.alias("p"), condition, "left_anti").count()

    return _mean_seconds(pairs, check)


def except_all(lake: Lake, pairs: Sequence[Pair]) -> float:
    """Mean seconds per edge of Spark's own bag difference."""

    def check(spark: Any, parent: Pair, child: Pair) -> None:
        wanted = _read(spark, lake, child)
        columns = [_name(column) for column in wanted.columns]
        wanted.select(*columns).exceptAll(_read(spark, lake, parent).select(*columns)).count()

    return _mean_seconds(pairs, check)


def _mean_seconds(pairs: Sequence[Pair], check: Any) -> float:
    with open_session(load_settings({}, environment={})) as spark:
        check(spark, *pairs[0])  # the first pays for what the session still has to load
        started = time.perf_counter()
        for pair in pairs:
            check(spark, *pair)
        return (time.perf_counter() - started) / len(pairs)


def _read(spark: Any, lake: Lake, name: Any) -> Any:
    table = lake.scan.tables[lake.scan.number_of[name]]
    paths = [file.path for file in table.files]
    return spark.read.option("basePath", _base(table)).parquet(*paths)


def _base(table: Any) -> str:
    return table.location if table.location != table.files[0].path else str(Path(table.location).parent)


def _name(column: str) -> str:
    return f"`{column.replace('`', '``')}`"
