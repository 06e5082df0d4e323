"""What Spark says at length becomes one sentence with a hint; what we do not know keeps its traceback."""

from __future__ import annotations

import re

import pytest

from r2d2.engine.spark.failures import in_words

STAGE = "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3 in stage 1.0 (TID 7) (10.0.0.7 executor 2): "


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (STAGE + 'java.io.IOException: Cannot run program "/opt/py/bin/python": error=2', "no Python at /opt/py/bin/python"),
        (STAGE + "Traceback…\nModuleNotFoundError: No module named 'polars'\n", "has no package polars"),
        (STAGE + "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10", r"which runs 3\.\d+"),
        (STAGE + "ExecutorLostFailure (executor 2 exited caused by one of the running tasks)", "were lost again and again"),
        (STAGE + "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "Python on a worker was killed"),
        ("Job 3 cancelled because SparkContext was shut down", "has ended the application"),
        ("<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE", "Connect server was lost"),
        ("[INVALID_HANDLE.SESSION_NOT_FOUND] The handle … is invalid. Session not found.", "Connect server was lost"),
        (STAGE + "java.io.IOException: No space left on device\n\tat java.base/x", "disk for Spark's temporary files is full: /"),
        (STAGE + "java.lang.OutOfMemoryError: Java heap space\n\tat x", r"Java process ran out of memory \(Java heap space\)"),
        (STAGE + "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory", r"not enough memory for Spark's Java process"),
        (STAGE + "MemoryError\n", "wanted more memory than there is"),
        (STAGE + "pyarrow.lib.ArrowMemoryError: malloc of size 99 failed", "wanted more memory than there is"),
        ("EOFException occurred while reading the port number from r2d2.engine.spark.worker_daemon's stdout.", "Python on a worker was killed"),
        ("Py4JNetworkError: Answer from Java side is empty", "Java process ended"),
        ("Py4JNetworkError: Error while sending or receiving", "Java process ended"),
        ("Total size of serialized results of 9 tasks is bigger than spark.driver.maxResultSize (1024.0 MiB)", "larger than"),
    ],
)  # fmt: skip
def test_what_spark_says_at_length_becomes_one_sentence_with_a_hint(text: str, says: str) -> None:
    told = in_words(RuntimeError(text))
    assert told is not None and told.exit_code == 2 and told.hint
    assert re.search(says, told.args[0]) and "\n" not in told.args[0]


@pytest.mark.parametrize("text", ["ValueError: no", "ModuleNotFoundError: No module named 'r2d2.lake.new'", ""])
def test_a_bug_stays_a_bug(text: str) -> None:
    assert in_words(RuntimeError(STAGE + text)) is None


def test_a_call_without_an_answer_says_that_java_has_ended_and_one_that_java_refused_does_not() -> None:
    from py4j.protocol import Py4JError

    told = in_words(Py4JError("An error occurred while calling o79.read"))
    assert told is not None and "Java process ended" in told.args[0]
    refused = "An error occurred while calling o79.read. Trace:\npy4j.Py4JException: Method read([]) does not exist\n"
    assert in_words(Py4JError(refused)) is None
