"""Tasks as Spark jobs.

A job is always the same plan, whatever the number of tables: a DataFrame of bundles, one row and one task each. The
task's function is a plain function over text that a test can call without Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from r2d2.engine.run.bundles import bundles_of, unpack_bundle
from r2d2.engine.run.contract import Answer, Exchange, Exchanged, ReaderDied, Task, Work
from r2d2.engine.run.shuffle import shuffle
from r2d2.engine.run.spread import one_task_each
from r2d2.engine.run.udp_progress import Address, listen, reporting
from r2d2.engine.spark.cluster import parallelism
from r2d2.engine.spark.failures import worker_died
from r2d2.engine.spark.jobs import run_job
from r2d2.engine.spark.ship_code import ship
from r2d2.model.progress import News, Progress, silent

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Piece = TypeVar("Piece")


class SparkExecutor:
    """Runs tasks on the workers of a session, which is asked for when there is work."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session

    def run(self, task: Task[Work, Answer], items: Sequence[Work], progress: Progress = silent) -> list[Answer]:
        """The answers of one job."""
        if not items:
            return []
        with self._job(progress) as (spark, address):
            answers = run_tasks(
                spark,
                items,
                task=_in_text(task.run),
                weight=task.weight,
                per_task=task.per_task,
                report_to=address,
            )
        return [json.loads(answer) for answer in answers]

    def exchange(
        self, exchange: Exchange[Work, Answer], items: Sequence[Work], progress: Progress = silent
    ) -> Exchanged[Answer]:
        """One job: blocks meet in the shuffle."""
        if not items:
            return Exchanged((), ())
        with self._job(progress) as (spark, address):
            counts, notes = run_job(spark, lambda: shuffle(spark, exchange, items, report_to=address))
        return Exchanged(counts, [json.loads(note) for note in notes])

    @contextmanager
    def _job(self, progress: Progress) -> Iterator[tuple[SparkSession, Address | None]]:
        """The session and where its tasks tell how far they are; a killed worker becomes `ReaderDied`."""
        progress(News(unit="bytes"))
        spark = self._session()
        with listen(spark, progress) as address:
            try:
                yield spark, address
            except Exception as error:
                if not worker_died(error):
                    raise
                raise ReaderDied(error) from error


def run_tasks(
    spark: SparkSession,
    pieces: Sequence[Piece],
    *,
    task: Callable[[Sequence[Piece]], Iterable[str]],
    weight: Callable[[Piece], float],
    per_task: float,
    report_to: Address | None = None,
) -> list[str]:
    """`task(bundle)` over bundles of about *per_task* weight, at least one for each core; all answers, in any order.

    Pieces must be plain JSON values. The ticks of tasks are sent to *report_to*.
    """

    def run() -> list[str]:
        bundles = bundles_of(pieces, cores=parallelism(spark), weight=weight, per_task=per_task)
        function = ship(spark, reporting(_over_arrow(task), report_to))
        answers = one_task_each(spark, bundles, "work").mapInArrow(function, "answer string")
        return [row.answer for row in answers.collect()]

    return run_job(spark, run) if pieces else []


def _in_text(task: Callable[[Sequence[Work]], Iterable[Answer]]) -> Callable[[Sequence[Work]], Iterable[str]]:
    def run(bundle: Sequence[Work]) -> Iterable[str]:
        return map(json.dumps, task(bundle))

    return run


def _over_arrow(
    task: Callable[[Sequence[Piece]], Iterable[str]],
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for bundle in batch.column("work"):
                answers = list(task(unpack_bundle(bundle.as_py())))
                yield pa.record_batch({"answer": pa.array(answers, pa.string())})

    return run
