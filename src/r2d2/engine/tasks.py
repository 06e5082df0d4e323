"""Many small pieces of work in a few Spark tasks of about the same size.

A job of this kind is always the same plan, whatever the number of tables: a DataFrame of bundles, one row and one
task each. The task's function is a plain function over text that a test can call without Spark.
"""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from r2d2.engine.apart import apart
from r2d2.engine.beacon import Address, reporting

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Task = Callable[[Any], Iterable[str]]  # from a bundle's pieces to the answers about them
Weight = Callable[[Any], float]


def run_tasks(
    spark: SparkSession,
    pieces: Sequence[Any],
    *,
    task: Task,
    weight: Weight,
    per_task: float,
    report_to: Address | None = None,
) -> list[str]:
    """`task(bundle)` over bundles of about *per_task* weight, at least one for each core; all answers, in any order.

    Pieces must be plain JSON values. What the task ticks is told to *report_to*.
    """

    def run() -> list[str]:
        rows = bundles_of(spark, pieces, weight=weight, per_task=per_task)
        spread = spark.createDataFrame(rows, "bundle int, work string").coalesce(1).repartition(len(rows))
        function = reporting(_over_arrow(task), report_to)
        return [row.answer for row in spread.mapInArrow(function, "answer string").collect()]

    return apart(run) if pieces else []


def bundles_of(spark: SparkSession, pieces: Sequence[Any], *, weight: Weight, per_task: float) -> list[tuple[int, str]]:
    """The pieces in numbered bundles of about *per_task* weight: as many as cores at least, four times that at most."""
    cores = parallelism(spark)
    wanted = sum(map(weight, pieces)) / per_task
    bundles = pack(pieces, weight=weight, bundles=min(len(pieces), round(min(4 * cores, max(cores, wanted)))))
    return [(number, json.dumps(bundle)) for number, bundle in enumerate(bundles)]


def pack(pieces: Sequence[Any], *, weight: Weight, bundles: int) -> list[list[Any]]:
    """At most *bundles* lists of about equal weight: the heaviest piece first, each to the lightest bundle.

    >>> pack([5, 1, 1, 3], weight=float, bundles=2)
    [[5], [3, 1, 1]]
    """
    heap: list[tuple[float, int, list[Any]]] = [(0.0, number, []) for number in range(bundles)]
    for piece in sorted(pieces, key=weight, reverse=True):
        load, number, content = heapq.heappop(heap)
        content.append(piece)
        heapq.heappush(heap, (load + weight(piece), number, content))
    return [content for _, _, content in sorted(heap, key=lambda entry: entry[1]) if content]


def parallelism(spark: SparkSession) -> int:
    """How many tasks the session can run at once, as far as it says."""
    master = spark.conf.get("spark.master", "") or ""
    if master.startswith("local"):
        cores = master.partition("[")[2].rstrip("]").partition(",")[0]
        return (os.cpu_count() or 1) if cores == "*" else int(cores or 1)
    stated = spark.conf.get("spark.default.parallelism", None) or spark.conf.get("spark.sql.shuffle.partitions", "8")
    return int(stated or 8)


def _over_arrow(task: Task) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for work in batch.column("work").to_pylist():
                answers = list(task(json.loads(work)))
                yield pa.record_batch({"answer": pa.array(answers, pa.string())})

    return run
