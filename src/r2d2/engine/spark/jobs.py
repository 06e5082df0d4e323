"""Run one Spark job: wait with a time-out, stop on Ctrl-C, and translate its failure."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import TYPE_CHECKING, Any, TypeVar

from r2d2.engine.spark.background import apart, begin
from r2d2.engine.spark.cluster import is_connect, parallelism
from r2d2.engine.spark.failures import in_words
from r2d2.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

PATIENCE = "spark.r2d2.workerTimeout"  # a setting of sessions that R2D2 starts on a cluster
_BEAT_SECONDS = 30.0  # interval at which the presence of workers is checked during a long job
_INTERRUPT_SECONDS = 10.0


def run_job(spark: SparkSession, call: Callable[[], T]) -> T:
    """Result of *call*, which starts a job. Ctrl-C ends the waiting, and on a Connect server also the job.

    An embedded Spark of our own is stopped then; in the caller's classic session Spark itself cancels the job.
    """
    tag = f"r2d2-{uuid.uuid4()}"
    job = begin(lambda: _tagged(spark, tag, call))
    try:
        return _patiently(spark, job)
    except KeyboardInterrupt:
        if is_connect(spark):
            wait([begin(lambda: spark.interruptTag(tag))], _INTERRUPT_SECONDS)  # the run ends: failures do not matter
        raise
    except Exception as error:
        told = in_words(error)
        if told is None:
            raise
        raise told from error


def _tagged(spark: SparkSession, tag: str, call: Callable[[], T]) -> T:
    """Run a call under a tag by which it can be interrupted; tags belong to the thread that sets them."""
    if not is_connect(spark):
        return call()
    spark.addTag(tag)
    try:
        return call()
    finally:
        spark.removeTag(tag)


def _patiently(spark: SparkSession, job: Future[T]) -> T:
    """The job's result. If all workers are lost, Spark waits for ever; after a time-out this raises UserError."""
    limit = 0.0 if is_connect(spark) else apart(lambda: float(spark.conf.get(PATIENCE, "0") or 0))
    while limit:
        wait([job], min(_BEAT_SECONDS, limit))
        if job.done():
            break
        sign_of_life: Future[Any] = begin(lambda: parallelism(spark))
        either: list[Future[Any]] = [job, sign_of_life]
        wait(either, limit, return_when=FIRST_COMPLETED)
        if not job.done() and not sign_of_life.done():
            raise UserError(
                f"no worker of the cluster has answered for {limit:g} seconds",
                hint="are its workers alive, and have they free cores and memory? --worker-timeout sets the time",
            )
    return job.result()
