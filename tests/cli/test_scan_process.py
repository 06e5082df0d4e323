"""`r2d2 scan` as a process of its own: what comes out of it, and what Ctrl-C leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from r2d2.pipeline import SCAN
from tests.cli.conftest import Command, write
from tests.lake.killer import write_killer
from tests.state.scans import everything_in, plain_scan, save
from tests.support.cluster import processes_of as processes

R2D2 = Path(sys.executable).parent / "r2d2"
SMALL = ("--master", "local[2]", "--driver-memory", "1g")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]


def wait_for(condition: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@contextmanager
def running(folder: Path, *arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a session of its own, its output in files; nothing of it is left afterwards."""
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        process = subprocess.Popen([R2D2, *map(str, arguments)], stdout=out, stderr=err, start_new_session=True)
    try:
        yield process
    finally:
        for number in processes(process.pid):
            os.kill(number, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def big_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of so many files that reading them takes a while."""
    lake = tmp_path_factory.mktemp("big")
    content = write(lake / "one" / "part-0.parquet", id=[1, 2, 3]).read_bytes()
    (lake / "two").mkdir()
    for number in range(3000):
        (lake / "one" / f"part-{number}.parquet").write_bytes(content)
        (lake / "two" / f"part-{number}.parquet").write_bytes(content)
    return lake


@pytest.mark.parametrize("moment", ["while Spark starts", "in the middle of a job"])
def test_ctrl_c_ends_it_with_130_and_leaves_the_state_as_it_was(
    moment: str, big_lake: Path, tmp_path: Path, r2d2: Command
) -> None:
    state = tmp_path / "state"
    save(state, plain_scan())
    (state / "lock").touch()
    before = everything_in(state)
    sign = "org.apache.spark.deploy.SparkSubmit" if moment == "while Spark starts" else "pyspark.worker"
    with running(tmp_path, "scan", big_lake, "--state", state, *SMALL) as process:
        wait_for(lambda: process.poll() is not None or any(sign in line for line in processes(process.pid).values()))
        if moment == "in the middle of a job":
            second = r2d2("scan", big_lake, "--state", state)
            assert second.code == 2 and "another r2d2 is writing" in second.err
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the whole group
        assert process.wait(60) == 130
        wait_for(lambda: not processes(process.pid), 30)  # no Java, no workers
    lines = (tmp_path / "err").read_text().split("\n")
    assert [line for line in lines if line and not line.startswith("r2d2: ")] == []
    assert "r2d2: interrupted; what was finished stands, and nothing is half done" in lines
    assert (tmp_path / "out").read_text() == ""
    assert everything_in(state) == before


def test_a_whole_scan_prints_its_result_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "lake" / "sales" / "part-0.parquet", id=[1, 2, 3], name=["a", "b", None])
    write(tmp_path / "lake" / "copy.parquet", id=[3, 1], name=[None, "a"])
    (tmp_path / "lake" / "cut.parquet").write_bytes(b"PAR1cut")
    write_killer(tmp_path / "lake" / "killer.parquet")
    with running(tmp_path, "scan", tmp_path / "lake", "--state", tmp_path / "state", *SMALL) as process:
        assert process.wait(120) == 1
        wait_for(lambda: not processes(process.pid), 30)
    err = (tmp_path / "err").read_text().splitlines()
    assert all(line.startswith("r2d2: step ") for line in err)
    said = dict.fromkeys(line.partition(",")[0] for line in err)  # a slow step says again that it goes on
    assert list(said) == [f"r2d2: step {number}" for number in range(1, len(SCAN) + 1)]
    out = (tmp_path / "out").read_text()
    assert out.startswith("2 tables, 5 rows")
    for named in ("cut.parquet", "killer.parquet", "r2d2 edges"):
        assert named in out
    edges = subprocess.run([R2D2, "edges", "--state", tmp_path / "state", "--json"], capture_output=True, check=True)
    assert [(row["parent"], row["child"], row["verdict"]) for row in json.loads(edges.stdout)] == [
        ("sales", "copy.parquet", "PROVEN")
    ]
