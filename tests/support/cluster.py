"""A real Spark cluster or Connect server on loopback, from the pip package."""

from __future__ import annotations

import ctypes
import os
import signal
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

from r2d2.engine.spark.java import as_home, find_java


@dataclass
class Cluster:
    """Where the master listens, the workers' processes, so that a test can kill one, and the folders they work in."""

    url: str
    workers: list[subprocess.Popen[bytes]]
    folders: list[Path]


@contextmanager
def spark_cluster(workers: int, *, memory: str = "2g", python: str = sys.executable) -> Iterator[Cluster]:
    """A cluster of *workers* workers that run *python*, ready to take work; stopped at the end."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="r2d2-cluster-") as scratch:
        master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
        started = [_start([*master, "--webui-port", str(free_port())], scratch, "master", python)]
        try:
            _wait_for(port)
            for number in range(workers):
                options = ["--cores", "1", "--memory", memory, "--host", "127.0.0.1", "--webui-port", str(free_port())]
                worker = ["org.apache.spark.deploy.worker.Worker", *options, "--work-dir", f"{scratch}/w{number}", url]
                started.append(_start(worker, scratch, f"worker{number}", python))
            _wait_for_workers(Path(scratch) / "master.log", workers)
            yield Cluster(url, started[1:], [Path(scratch) / f"w{number}" for number in range(workers)])
        finally:
            for process in started:
                end_session(process)


@contextmanager
def connect_server(master: str, *, python: str = sys.executable) -> Iterator[tuple[str, Path]]:
    """The address of a Spark Connect server that works on *master* with *python*, and its log; stopped at the end."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    with tempfile.TemporaryDirectory(prefix="r2d2-connect-") as scratch:
        submit = ["org.apache.spark.deploy.SparkSubmit", "--master", master, "--driver-memory", "1g"]
        for name, value in (settings | {"spark.local.dir": scratch, "spark.sql.warehouse.dir": scratch}).items():
            submit += ["--conf", f"{name}={value}"]
        service = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        server = _start([*submit, *service], scratch, "server", python)
        try:
            _wait_for(port)
            yield f"sc://127.0.0.1:{port}", Path(scratch) / "server.log"
        finally:
            end_session(server)


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill everything that a process has started, as when its machine loses power."""
    while alive := processes_of(process.pid):
        for number in alive:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.05)
    process.wait()


def processes_of(session: int) -> dict[int, str]:
    """The processes of a session that live, with their command lines."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state, _, _, number, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(number) == session and state != "Z":
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it has just ended
    return found


def _start(arguments: Sequence[str], scratch: str, name: str, python: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": str(as_home(find_java())),
        "PYSPARK_PYTHON": python,
    }
    with open(f"{scratch}/{name}.log", "wb") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", *arguments],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )


def _die_with_parent() -> None:
    """Whoever started a cluster may be killed before it can stop it (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


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
