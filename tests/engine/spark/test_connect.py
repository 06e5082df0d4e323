"""Over Spark Connect: our own session and nobody else's; Ctrl-C ends the job; a lost server is told in words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.engine.spark import connect as reach
from r2d2.engine.spark.cluster import parallelism
from r2d2.engine.spark.jobs import run_job
from r2d2.engine.spark.session import open_session
from r2d2.errors import UserError
from r2d2.settings import Settings
from tests.support.cluster import connect_server

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def theirs(remote: str) -> Iterator[Any]:
    """A session that somebody else has open in this process."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(remote).getOrCreate()
    yield session
    session.stop()


def test_somebody_elses_session_is_neither_taken_nor_stopped(remote: str, theirs: Any, spark: Any) -> None:
    from pyspark.sql.connect.session import SparkSession

    with open_session(Settings(remote=remote)) as ours:
        assert ours is not theirs
        assert ours.range(5).count() == 5
    assert SparkSession.getActiveSession() is theirs
    assert theirs.range(3).count() == 3
    assert spark.range(4).count() == 4  # an embedded one in the same process
    assert ours.is_stopped


def test_a_session_that_is_passed_in_is_used_and_left_open(theirs: Any, tmp_path: Path) -> None:
    write_two_tables(tmp_path / "lake")
    scan = scan_lake(Workspace(Settings(state=str(tmp_path / "state")), spark=theirs), [str(tmp_path / "lake")])
    assert scan.graph is not None and len(scan.graph) == 1
    assert theirs.range(3).count() == 3


def write_two_tables(lake: Path) -> None:
    lake.mkdir()
    pq.write_table(pa.table({"x": list(range(100))}), lake / "all.parquet")
    pq.write_table(pa.table({"x": list(range(50))}), lake / "half.parquet")


def test_the_server_is_asked_how_many_tasks_fit(theirs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)  # this machine's cores are not the server's
    assert parallelism(theirs) == 2


def test_ctrl_c_ends_the_job_and_not_the_session(theirs: Any) -> None:
    def sleep(batches: Any) -> Any:
        time.sleep(600)
        yield from batches

    def job() -> Any:
        threading.Timer(5, os.kill, [os.getpid(), signal.SIGINT]).start()
        return theirs.range(2, numPartitions=2).mapInArrow(sleep, "id long").collect()

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_job(theirs, job)
    finally:
        signal.signal(signal.SIGINT, handler)
    begun = time.monotonic()
    assert theirs.range(10).count() == 10  # both cores were taken
    assert time.monotonic() - begun < 300


def test_ctrl_c_ends_a_scan_with_130(remote: str, lake_of_many_files: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "r2d2.cli.main", "scan", lake_of_many_files, "--remote", remote]
    with open(tmp_path / "err", "wb") as err:
        scan = subprocess.Popen([*command, "--state", tmp_path / "state"], stdout=err, stderr=err)
    try:
        wait_for(lambda: "step 2" in (tmp_path / "err").read_text() or scan.poll() is not None)
        time.sleep(3)
        scan.send_signal(signal.SIGINT)
        assert scan.wait(120) == 130
    finally:
        scan.kill()
        scan.wait()
    lines = (tmp_path / "err").read_text().splitlines()
    assert lines[-1] == "r2d2: interrupted; what was finished stands, and nothing is half done"
    assert all(line.startswith("r2d2: ") for line in lines if line)


@pytest.fixture
def lake_of_many_files(tmp_path: Path) -> Path:
    write_two_tables(tmp_path / "many")
    content = (tmp_path / "many" / "all.parquet").read_bytes()
    (tmp_path / "many" / "table").mkdir()
    for number in range(20_000):
        (tmp_path / "many" / "table" / f"part-{number}.parquet").write_bytes(content)
    return tmp_path / "many"


def wait_for(condition: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_a_server_that_is_not_there_is_told_at_once_and_without_the_token() -> None:
    begun = time.monotonic()
    with (
        pytest.raises(
            UserError, match=r"^cannot use the Spark Connect server sc://127.0.0.1:1: .*refused\nHint: is it"
        ),
        open_session(Settings(remote="sc://127.0.0.1:1/;token=secret")),
    ):
        pass
    assert time.monotonic() - begun < 20


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(reach, "REACH_SECONDS", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UserError, match="no answer in 2 seconds"), open_session(Settings(remote=url)):
            pass


def test_a_server_that_is_lost_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_MOST_RETRIES", 3)
    with connect_server("local[1]") as (url, _):
        opened = open_session(Settings(remote=url))
        session = opened.__enter__()
        assert run_job(session, lambda: session.range(3).count()) == 3
    with pytest.raises(UserError, match=r"connection to the Spark Connect server was lost\nHint: "):
        run_job(session, lambda: session.range(3).count())
    opened.__exit__(None, None, None)
