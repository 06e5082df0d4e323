"""One Spark job: waited for with patience, broken off when the user does, and its failure put into words."""

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

PATIENCE = "spark.r2d2.workerTimeout"  # a setting of sessions that we start on a cluster
_BEAT_SECONDS = 30.0  # how often a long job makes us ask whether there are workers at all
_INTERRUPT_SECONDS = 10.0


def run_job(spark: SparkSession, call: Callable[[], T]) -> T:
    """What *call*, which starts a job, returns. Ctrl-C ends the waiting, and at a Connect server the job.

    An embedded Spark of ours is stopped then, and in a classic session of the caller's Spark itself cancels the job.
    """
    tag = f"r2d2-{uuid.uuid4()}"
    job = begin(lambda: _tagged(spark, tag, call))
    try:
        return _patiently(spark, job)
    except KeyboardInterrupt:
        if is_connect(spark):
            wait([begin(lambda: spark.interruptTag(tag))], _INTERRUPT_SECONDS)  # what fails here is on its way out
        raise
    except Exception as error:
        told = in_words(error)
        if told is None:
            raise
        raise told from error


def _tagged(spark: SparkSession, tag: str, call: Callable[[], T]) -> T:
    """Call it under a tag by which it can be interrupted; tags belong to the thread that sets them."""
    if not is_connect(spark):
        return call()
    spark.addTag(tag)
    try:
        return call()
    finally:
        spark.removeTag(tag)


def _patiently(spark: SparkSession, job: Future[T]) -> T:
    """The job's result. On a cluster of our own choice Spark waits for ever if all workers are lost; we do not."""
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
