"""Many small pieces of work in a few Spark tasks of about the same size.

A job of this kind is always the same plan, whatever the number of tables: a DataFrame of bundles, one row and one
task each. The task's function is a plain function over text that a test can call without Spark.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from r2d2.engine.run.udp_progress import Address, reporting
from r2d2.engine.spark.cluster import parallelism
from r2d2.engine.spark.jobs import run_job
from r2d2.engine.spark.ship_code import ship

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Task = Callable[[Any], Iterable[str]]  # from a bundle's pieces to the answers about them
Weight = Callable[[Any], float]

LEAST_PER_CORE, MOST_PER_CORE = 8, 32  # tasks of a job


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
        rows = bundles_of(pieces, cores=parallelism(spark), weight=weight, per_task=per_task)
        spread = spark.createDataFrame(rows, "bundle int, work string").coalesce(1).repartition(len(rows))
        function = ship(spark, reporting(_over_arrow(task), report_to))
        return [row.answer for row in spread.mapInArrow(function, "answer string").collect()]

    return run_job(spark, run) if pieces else []


def bundles_of(pieces: Sequence[Any], *, cores: int, weight: Weight, per_task: float) -> list[tuple[int, str]]:
    """The pieces in numbered bundles of about *per_task* weight: some for each core, so that no core waits long."""
    wanted = sum(map(weight, pieces)) / per_task
    number = round(min(MOST_PER_CORE * cores, max(LEAST_PER_CORE * cores, wanted)))
    bundles = pack(pieces, weight=weight, bundles=min(len(pieces), number))
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


def _over_arrow(task: Task) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for work in batch.column("work").to_pylist():
                answers = list(task(json.loads(work)))
                yield pa.record_batch({"answer": pa.array(answers, pa.string())})

    return run
