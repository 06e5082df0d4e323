"""Facts about the cluster behind a session: whether its workers run on this machine, and how many tasks fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from r2d2.engine.spark.failures import java_in_words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 1024  # the last part of a range is never empty, however many parts there are


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is a Spark Connect client's."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def columns_for(spark: SparkSession) -> Iterator[None]:
    """Make PySpark's functions build Columns for this session inside the block, by an environment variable."""
    name = "SPARK_CONNECT_MODE_ENABLED"
    before = os.environ.pop(name, None)
    if is_connect(spark):
        os.environ[name] = "1"
    try:
        with java_in_words():
            yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def works_here(spark: SparkSession) -> bool:
    """Whether the workers run on this machine, with this process's Python and its packages."""
    master = _stated(spark, "spark.master")
    return not is_connect(spark) and (master == "local" or master.startswith("local["))


def parallelism(spark: SparkSession) -> int:
    """Number of tasks that the session can run at once, as far as known; on a cluster a tiny job finds it out."""
    return slots_now(spark) if works_here(spark) else max(slots_now(spark), _slots_promised(spark))


def _local_cores(master: str) -> int:
    """Cores of `local`, `local[N]`, `local[N,F]` and `local[*]`."""
    cores = master.partition("[")[2].rstrip("]").partition(",")[0]
    return (os.cpu_count() or 1) if cores == "*" else int(cores or 1)


def slots_now(spark: SparkSession) -> int:
    """The cores of the present workers: by default Spark cuts a range, or rows of the driver, into that many parts."""
    if works_here(spark):
        return _local_cores(_stated(spark, "spark.master"))
    return _parts_of(spark, spark.range(_ROWS))


def _parts_of(spark: SparkSession, numbers: DataFrame) -> int:
    if is_connect(spark):
        from pyspark.sql.connect.functions import spark_partition_id
    else:
        from pyspark.sql.functions import spark_partition_id
    return 1 + max(int(row.part) for row in numbers.select(spark_partition_id().alias("part")).collect())


def _slots_promised(spark: SparkSession) -> int:
    """The cores that the settings request: workers may start late, or only when there is work."""
    executors = _number(spark, "spark.executor.instances", 0)
    if _stated(spark, "spark.dynamicAllocation.enabled") == "true":
        as_many_as_it_takes = _number(spark, "spark.sql.shuffle.partitions", 200)
        executors = max(executors, _number(spark, "spark.dynamicAllocation.maxExecutors", as_many_as_it_takes))
    cores = executors * _number(spark, "spark.executor.cores", 1)
    most = _number(spark, "spark.cores.max", cores)
    return min(cores, most) or most


def _number(spark: SparkSession, name: str, default: int) -> int:
    stated = _stated(spark, name)
    return int(stated) if stated.isdigit() else default


def _stated(spark: SparkSession, name: str) -> str:
    """A setting of the session; '' if it is missing or not readable."""
    from pyspark.errors import PySparkException

    try:
        return spark.conf.get(name, "") or ""
    except PySparkException:
        return ""
