"""The process that the embedded Spark forks its Python workers from: PySpark's own, made cheap to fork and to reuse.

At the start of every task PySpark makes Python forget what it knows of its path, and Spark puts archives with
thousands of entries on that path: each task read them again, 85 ms of it. PySpark is installed here anyway, so the
archives go. What every worker needs is loaded once, before the first fork (docs/decisions/0011).
"""

from __future__ import annotations

import gc
import importlib
import importlib.machinery
import sys
from collections.abc import Callable

# Not Polars: it starts a thread when it is loaded, and threads do not survive a fork.
NEEDED = (
    "numpy",
    "pyarrow",
    "pandas",
    "r2d2.engine.rows.hash_slices",
    "r2d2.engine.kernels",
    "r2d2.formats.parquet.footer",
)


def without_archives(path: list[str]) -> list[str]:
    """The path without what Spark put there for machines that have no PySpark; as it is if this is one."""
    lean = [entry for entry in path if not entry.endswith((".zip", ".jar"))]
    return lean if importlib.machinery.PathFinder.find_spec("pyspark", lean) else path


def serve() -> None:
    """Fork a worker whenever Spark asks for one, until Spark is gone."""
    sys.path[:] = without_archives(sys.path)
    sys.path_importer_cache.clear()
    from pyspark import daemon

    daemon.worker = until_spark_is_gone(daemon.worker)
    for name in NEEDED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # workers collect garbage after each task: not in here
    serve_workers: Callable[[], None] = daemon.manager
    serve_workers()


def until_spark_is_gone(work: Callable[..., int]) -> Callable[..., int]:
    """PySpark's loop of a worker. When Spark closes the line the worker ends, without a word on stderr."""

    def run(*arguments: object) -> int:
        try:
            return work(*arguments)
        except BrokenPipeError:
            return 1

    return run


if __name__ == "__main__":
    serve()
