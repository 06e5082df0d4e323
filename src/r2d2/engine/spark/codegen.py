"""Large work is compiled, small work is not: compiling a plan takes Spark longer than running it on a few rows.

A session that we started does not compile, since it mostly moves blocks that others have made. The second reader has
Spark itself work on every row: ten times faster if it compiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = "spark.r2d2.ours"  # set in sessions that we started
WORTH_BYTES = 4 << 20  # of Parquet, from where on compiling pays

UNCOMPILED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",  # without compiled code its bookkeeping costs more
}
_COMPILED = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.subexpressionElimination.enabled": "true",
}


@contextmanager
def compiled_if_large(spark: SparkSession, size_bytes: int) -> Iterator[None]:
    """Within, plans are compiled if that pays. Somebody else's session stays as it is."""
    if size_bytes < WORTH_BYTES or spark.conf.get(OURS, "") != "true":
        yield
        return
    for name, value in _COMPILED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in UNCOMPILED.items():
            spark.conf.set(name, value)
