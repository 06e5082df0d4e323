"""A real Spark cluster on loopback, from the pip package: one master, some workers of one core each."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from r2d2.engine.java import java_home


@dataclass
class Cluster:
    """Where the master listens, and the workers' processes, so that a test can kill one."""

    url: str
    workers: list[subprocess.Popen[bytes]]


@contextmanager
def spark_cluster(workers: int, *, memory: str = "2g") -> Iterator[Cluster]:
    """A cluster of *workers* workers, ready to take work; stopped at the end."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="r2d2-cluster-") as scratch:
        master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
        started = [_start([*master, "--webui-port", str(free_port())], scratch, "master")]
        try:
            _wait_for(port)
            for number in range(workers):
                options = ["--cores", "1", "--memory", memory, "--host", "127.0.0.1", "--webui-port", str(free_port())]
                worker = ["org.apache.spark.deploy.worker.Worker", *options, "--work-dir", f"{scratch}/w{number}", url]
                started.append(_start(worker, scratch, f"worker{number}"))
            _wait_for_workers(Path(scratch) / "master.log", workers)
            yield Cluster(url, started[1:])
        finally:
            for process in started:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)
                process.wait()


def _start(arguments: Sequence[str], scratch: str, name: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
    }
    with open(f"{scratch}/{name}.log", "wb") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", *arguments], env=environment, stdout=log, stderr=log, start_new_session=True
        )


def _wait_for(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens on port {port} after {seconds} s")


def _wait_for_workers(log: Path, workers: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while log.read_text(errors="replace").count("Registering worker") < workers:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{workers} workers did not register in {seconds} s")
        time.sleep(0.2)


def free_port() -> int:
    """A port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
