"""Memory and processor time of a command and of everything it starts, watched from outside."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Watched:
    """A finished command: its output, seconds, and the peak of the largest process of each kind in megabytes."""

    output: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of all its processes
    peak_mb: dict[str, int] = field(default_factory=dict)


def watch(command: Sequence[str], *, every_seconds: float = 0.2) -> Watched:
    """Run a command to its end; its own peak is `driver`, a JVM's `jvm`, any other process below it is a `worker`."""
    begun, ended_before = time.perf_counter(), _ended_cpu_seconds()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watched = Watched()
    done = threading.Event()
    watcher = threading.Thread(target=_sample, args=(process.pid, watched, done, every_seconds))
    watcher.start()
    watched.output = process.communicate()[0]
    watched.seconds = time.perf_counter() - begun
    done.set()
    watcher.join()
    # The system knows what the command took to its last moment, but not of a JVM that outlived it; samples do.
    watched.cpu_seconds = max(watched.cpu_seconds, _ended_cpu_seconds() - ended_before)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return watched


def _ended_cpu_seconds() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _sample(root: int, watched: Watched, done: threading.Event, every_seconds: float) -> None:
    while not done.wait(every_seconds):
        watched.cpu_seconds = max(watched.cpu_seconds, cpu_seconds(root))
        for kind, megabytes in _tree(root, "VmHWM"):
            watched.peak_mb[kind] = max(watched.peak_mb.get(kind, 0), megabytes)


def memory_mb(root: int) -> dict[str, int]:
    """The memory held now by each kind of process at and below *root*."""
    held: defaultdict[str, int] = defaultdict(int)
    for kind, megabytes in _tree(root, "VmRSS"):
        held[kind] += megabytes
    return dict(held)


def cpu_seconds(root: int) -> float:
    """Processor time that the processes at and below *root*, and those of them that have ended, have taken so far."""
    return sum(map(_cpu_ticks, _below(root))) / os.sysconf("SC_CLK_TCK")


def _cpu_ticks(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
    except OSError:  # it has just ended
        return 0


def _tree(root: int, measure: str) -> list[tuple[str, int]]:
    """Kind and megabytes of each process at and below *root*: held now (`VmRSS`) or at most so far (`VmHWM`)."""
    found = []
    for pid in _below(root):
        status = _status(pid)
        if measure in status:
            kind = "driver" if pid == root else "jvm" if status["Name"] == "java" else "worker"
            found.append((kind, int(status[measure].split()[0]) >> 10))
    return found


def _below(root: int) -> list[int]:
    """*root* and all processes that it started, directly or not."""
    below: defaultdict[int, list[int]] = defaultdict(list)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        status = _status(int(pid))
        if status:
            below[int(status["PPid"])].append(int(pid))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += below[found[-1]]
    return found


def _status(pid: int) -> dict[str, str]:
    try:
        with open(f"/proc/{pid}/status") as file:
            return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    except OSError:  # it has just ended
        return {}
