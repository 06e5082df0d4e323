"""Workers of the embedded Spark: forked from a lean process, cheap to use again, and silent when Spark goes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from r2d2.engine.spark.worker_daemon import NEEDED, PATIENT, POLARS_OWN, patient, until_spark_is_gone, without_archives


def test_archives_leave_the_path_only_if_pyspark_is_installed_beside_them() -> None:
    archives = ["/spark/python/lib/pyspark.zip", "/spark/jars/spark-core.jar"]
    assert without_archives([*archives, *sys.path]) == [p for p in sys.path if not p.endswith((".zip", ".jar"))]
    assert without_archives([*archives, "/nothing/here"]) == [*archives, "/nothing/here"]


def test_freed_memory_is_kept_unless_a_person_says_otherwise() -> None:
    assert patient("") == patient(POLARS_OWN) == PATIENT
    asked = "dirty_decay_ms:0"
    assert patient(asked) == patient(f"{POLARS_OWN},{asked}") == f"{PATIENT},{asked}"


def test_a_worker_whose_line_is_closed_ends_as_one_that_failed() -> None:
    def broken(*_: Any) -> int:
        raise BrokenPipeError

    assert until_spark_is_gone(broken)("socket", True) == 1
    assert until_spark_is_gone(lambda *_: 0)("socket", True) == 0
    with pytest.raises(ZeroDivisionError):
        until_spark_is_gone(lambda *_: 1 // 0)("socket", True)


@pytest.mark.spark
def test_workers_find_everything_loaded_have_no_archive_to_read_and_miss_no_thread_of_before_the_fork(
    spark: Any,
) -> None:
    def look(batches: Iterable[Any]) -> Iterator[Any]:
        import glob
        import json
        import os
        import sys

        import pyarrow as pa

        def threads_of(process: int) -> Iterator[str]:
            for thread in glob.glob(f"/proc/{process}/task/*/comm"):
                with open(thread) as file:
                    yield file.read().strip()

        for _ in batches:
            seen = {
                "loaded": sorted(name for name in ("numpy", "pandas", "pyarrow") if name in sys.modules),
                "archives": [p for p in (*sys.path, *sys.path_importer_cache) if p.endswith((".zip", ".jar"))],
                "threads": sorted(set(threads_of(os.getppid()))),
                "allocator": os.environ.get("_RJEM_MALLOC_CONF", ""),
            }
            yield pa.record_batch({"seen": pa.array([json.dumps(seen)], pa.string())})

    rows = spark.range(4).repartition(4).mapInArrow(look, "seen string").collect()
    assert "polars" not in NEEDED
    for seen in (json.loads(row.seen) for row in rows):
        assert PATIENT in seen.pop("allocator")
        # numpy's and the allocators' own threads know what a fork is
        assert set(seen.pop("threads")) <= {"python", "python3", "jemalloc_bg_thd"}
        assert seen == {"loaded": ["numpy", "pandas", "pyarrow"], "archives": []}


@pytest.mark.spark
def test_spark_says_nothing_on_stderr_when_its_workers_end() -> None:
    script = (
        "from r2d2.engine.spark.session import open_session\n"
        "from r2d2.settings import load_settings\n"
        "with open_session(load_settings({'master': 'local[2]', 'driver_memory': '1g', 'class_archive': False})) as s:\n"
        "    print(s.range(64).repartition(16).mapInArrow(lambda b: b, 'id long').count())\n"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
        assert done.stdout.split() == ["64"] and "Traceback" not in done.stderr
