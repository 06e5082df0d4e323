"""Enable Spark's code generation for large work only: for a few rows, compiling a plan takes longer than running it.

A session of our own has it off, since it mostly moves blocks that Python made. The second reader lets Spark itself
process every row: ten times faster with generated code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OURS = "spark.r2d2.ours"  # set in sessions that we started
WORTH_BYTES = 4 << 20  # of Parquet; from this size on compiling pays

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
    """Enable code generation inside the block if that pays. A borrowed session stays as it is."""
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
