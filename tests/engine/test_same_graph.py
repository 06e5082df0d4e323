"""The same lake gives the same graph from an embedded Spark, a cluster that loses a worker, Connect and spark-submit.

Neither the cluster nor the Connect server has r2d2 installed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark
import pytest

from r2d2.app.lake import open_state
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.engine.spark.java import suitable_java
from r2d2.report.edges import EdgeRow, dropped_edges, standing_edges
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from r2d2.synthetic import generate_lake, lake_truth
from tests.support.cluster import Cluster, end_session, processes_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]

KEY = "5a" * 32  # the same rows are sampled in every run, so that the evidence can be compared word by word
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_lake(tmp_path_factory.mktemp("same"), tables=36, rows=6_000, seed=12).path


@pytest.fixture(scope="module")
def expected(spark: Any, lake: Path) -> list[EdgeRow]:
    """What the embedded Spark finds, held against a count of every row."""
    state = new_state(lake.parent / "local")
    found = edges_of(scan_lake(Workspace(Settings(state=str(state)), spark=spark), [str(lake)]))
    truth = {(edge.parent, edge.child): edge for edge in lake_truth(lake, all_pairs=True)}
    contained = {pair for pair, edge in truth.items() if edge.contained}
    assert {(row.parent, row.child) for row in found if row.verdict == "PROVEN"} == contained
    assert len(contained) > 30
    for row in found:
        if row.missing_rows is not None:
            edge = truth[row.parent, row.child]
            assert (row.missing_rows, row.bag) == (edge.missing_rows, edge.bag)
    return found


def new_state(folder: Path) -> Path:
    with StateStore(folder).locked():
        (folder / "key").write_text(KEY)
    return folder


def edges_of(scan: Any) -> list[EdgeRow]:
    assert not scan.problems, scan.problems
    rows = [replace(row, since="") for row in (*standing_edges(scan), *dropped_edges(scan))]
    return sorted(rows, key=lambda row: (row.parent, row.child))


def test_over_spark_connect(remote: str, lake: Path, expected: list[EdgeRow], tmp_path: Path) -> None:
    scan = scan_lake(Workspace(Settings(state=str(new_state(tmp_path / "state")), remote=remote)), [str(lake)])
    assert edges_of(scan) == expected


def test_under_spark_submit(
    cluster: Cluster, bare_python: str, lake: Path, expected: list[EdgeRow], tmp_path: Path
) -> None:
    job = tmp_path / "job.py"
    job.write_text("from r2d2.cli.main import main\n\nmain()\n")
    state = new_state(tmp_path / "state")
    submitted = [SUBMIT, "--master", cluster.url, "--driver-memory", "1g", job, "scan", lake, "--state", state]
    with suitable_java():
        done = subprocess.run(submitted, env=driver_environment(bare_python), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert edges_of(open_state(state).scan) == expected
    assert "Connected to Spark cluster" in done.stderr


def driver_environment(workers_python: str) -> dict[str, str]:
    here = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_DRIVER_PYTHON": sys.executable}
    return dict(os.environ) | here | {"PYSPARK_PYTHON": workers_python}


def test_on_a_cluster_that_loses_a_worker_in_the_middle_of_the_comparison(
    cluster: Cluster, bare_python: str, lake: Path, expected: list[EdgeRow], tmp_path: Path
) -> None:
    state = new_state(tmp_path / "state")
    command = [sys.executable, "-m", "r2d2.cli.main", "scan", lake, "--state", state, "--master", cluster.url]
    victim, folder = cluster.workers[0], cluster.folders[0]
    with open(tmp_path / "err", "wb") as err:
        scan = subprocess.Popen(command, env=driver_environment(bare_python), stdout=err, stderr=err)
    try:
        wait_for(lambda: "comparing every row" in (tmp_path / "err").read_text() or scan.poll() is not None)
        spent = python_seconds(victim.pid)
        wait_for(lambda: python_seconds(victim.pid) > spent + 0.02 or scan.poll() is not None)  # it is at work again
        assert scan.poll() is None, (tmp_path / "err").read_text()
        end_session(victim)
        assert tasks_in_hand(folder), "a task ran on the worker when it was killed"
        assert scan.wait(300) == 0, (tmp_path / "err").read_text()
    finally:
        scan.kill()
        scan.wait()
    assert edges_of(open_state(state).scan) == expected


def test_a_cluster_that_has_lost_all_its_workers_is_told_in_words(
    cluster: Cluster, bare_python: str, lake: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "r2d2.cli.main", "scan", lake, "--state", tmp_path / "state", "--quiet"]
    options = ["--master", cluster.url, "--worker-timeout", "5"]
    with open(tmp_path / "err", "wb") as err:
        scan = subprocess.Popen([*command, *options], env=driver_environment(bare_python), stdout=err, stderr=err)
    try:
        alive = [worker for worker in cluster.workers if processes_of(worker.pid)]
        wait_for(lambda: any(executors_of(worker.pid) for worker in alive) or scan.poll() is not None)
        for worker in alive:
            end_session(worker)
        assert scan.wait(300) == 2, (tmp_path / "err").read_text()
    finally:
        scan.kill()
        scan.wait()
    lines = (tmp_path / "err").read_text().splitlines()
    assert lines[0] == "r2d2: no worker of the cluster has answered for 5 seconds"
    assert lines[1].startswith("Hint: ") and len(lines) == 2


def executors_of(worker: int) -> list[int]:
    return [n for n, line in processes_of(worker).items() if "CoarseGrainedExecutorBackend" in line]


def wait_for(condition: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def python_seconds(worker: int) -> float:
    """Processor time that the Python processes of a worker have used."""
    ticks = 0
    for number, line in processes_of(worker).items():
        if "pyspark.daemon" in line:
            try:
                fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def tasks_in_hand(folder: Path) -> set[str]:
    """The tasks that the last executor of a worker had begun and not finished, by its own log."""
    log = max(folder.glob("app-*/*/stderr"), key=lambda path: path.stat().st_mtime).read_text()
    begun, finished = (
        set(re.findall(rf"{word} task \S+ in stage \S+ \(TID (\d+)\)", log)) for word in ("Running", "Finished")
    )
    return begun - finished
