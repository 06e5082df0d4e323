"""PySpark's worker daemon, from which the embedded Spark forks Python workers, made cheap to fork and to reuse.

At the start of every task PySpark clears Python's import caches, and Spark puts archives with thousands of entries on
the path: reading them again cost 85 ms a task. PySpark is installed here anyway, so the archives are removed from the
path. Modules that every worker needs are loaded once, before the first fork (docs/decisions/0011).
"""

from __future__ import annotations

import gc
import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable

from r2d2.model.loops import load_loops

# Not Polars: it starts a thread when it is loaded, and threads do not survive a fork.
NEEDED = (
    "numpy",
    "pyarrow",
    "pandas",
    "r2d2.engine.rows.hash_slices",
    "r2d2.engine.kernels",
    "r2d2.formats.parquet.footer",
    "r2d2.formats.parquet.page_guard",
)


# By default Polars gives freed memory back to the system at once and takes it again for the next slice: page faults
# were a large part of a worker's time (docs/decisions/0021).
ALLOCATOR = "_RJEM_MALLOC_CONF"
PATIENT = "dirty_decay_ms:60000,muzzy_decay_ms:60000"
POLARS_OWN = "dirty_decay_ms:500,muzzy_decay_ms:1000"  # in the environment of a program that has loaded Polars


def patient(there: str) -> str:
    """The allocator's settings with ours; what a person has set comes last, and so wins."""
    return ",".join(filter(None, (PATIENT, there.removeprefix(POLARS_OWN).strip(","))))


def without_archives(path: list[str]) -> list[str]:
    """The path without the archives that Spark adds for machines without PySpark; unchanged on such a machine."""
    lean = [entry for entry in path if not entry.endswith((".zip", ".jar"))]
    return lean if importlib.machinery.PathFinder.find_spec("pyspark", lean) else path


def serve() -> None:
    """Fork a worker whenever Spark asks for one, until Spark is gone."""
    sys.path[:] = without_archives(sys.path)
    sys.path_importer_cache.clear()
    os.environ[ALLOCATOR] = patient(os.environ.get(ALLOCATOR, ""))  # read when a worker loads Polars
    from pyspark import daemon

    daemon.worker = until_spark_is_gone(daemon.worker)
    for name in NEEDED:
        importlib.import_module(name)
    load_loops()
    gc.collect()
    gc.freeze()  # workers collect garbage after each task; these objects are exempt
    serve_workers: Callable[[], None] = daemon.manager
    serve_workers()


def until_spark_is_gone(work: Callable[..., int]) -> Callable[..., int]:
    """Wrap PySpark's worker loop so that the worker ends silently when Spark closes the connection.

    PySpark collects garbage after each task. What a task has loaded stays, so it need not be looked at every time.
    """

    def run(*arguments: object) -> int:
        try:
            code = work(*arguments)
        except BrokenPipeError:
            return 1
        gc.collect()
        gc.freeze()
        return code

    return run


if __name__ == "__main__":
    serve()
