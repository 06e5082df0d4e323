"""Another user of the same machine, during a scan: no port answers, and no file of ours can be read (HAZARDS 42, 44)."""

from __future__ import annotations

import encodings.idna  # noqa: F401 (nobody may be unable to import it later)
import multiprocessing
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from r2d2.state.store import StateStore
from tests.cli.conftest import write
from tests.cli.test_scan_process import wait_for
from tests.support.cluster import processes_of

NOBODY = 65534
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}  # as /proc/net has 127.0.0.1
SCAN = """
import os, sys
os.umask(0)
from r2d2.engine.spark import private
if sys.argv.pop(1) == "unguarded":
    private.AUTHENTICATED.clear()
from r2d2.cli.main import main
main(sys.argv[1:])
"""
RPC_REQUEST, RPC_RESPONSE, STREAM_REQUEST = 3, 4, 6
REFUSALS = (b"Unknown challenge message", b"Unauthenticated call", b"Authentication error", b"Unknown command received")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else"),
]


def as_nobody(call: Callable[[], Any]) -> Any:
    """What a function returns when the user `nobody` calls it, as `setpriv --reuid 65534 --clear-groups` would."""

    def work(sender: Any) -> None:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        sender.send(call())

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(sender,))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        child.join()


@contextmanager
def scanning(folder: Path, how: str) -> Iterator[list[int]]:
    """The processes of a scan that stands still in the middle: its driver is halted, Spark and the workers are not."""
    lake = folder / "lake"
    content = write(lake / "one" / "part-0.parquet", id=[1, 2, 3]).read_bytes()
    (lake / "two").mkdir()
    for number in range(2000):
        (lake / "one" / f"part-{number}.parquet").write_bytes(content)
        (lake / "two" / f"part-{number}.parquet").write_bytes(content)
    for name in ("tmp", "cache"):
        (folder / name).mkdir()
        (folder / name).chmod(0o777)
    places = {"TMPDIR": str(folder / "tmp"), "XDG_CACHE_HOME": str(folder / "cache")}
    options = ["scan", str(lake), "--state", str(folder / "state"), "--master", "local[2]", "--driver-memory", "1g"]
    with open(folder / "err", "w") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", SCAN, how, *options],
            env=os.environ | places,
            stdout=subprocess.DEVNULL,
            stderr=err,
            start_new_session=True,
        )
    try:
        wait_for(
            lambda: process.poll() is not None or any("worker_daemon" in c for c in processes_of(process.pid).values())
        )
        wait_for(lambda: process.poll() is not None or "comparing" in (folder / "err").read_text(), 120)
        assert process.poll() is None, (folder / "err").read_text()
        os.kill(process.pid, signal.SIGSTOP)
        yield list(processes_of(process.pid))
    finally:
        for number in processes_of(process.pid):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.wait()


def sockets_of(processes: list[int]) -> set[str]:
    """The numbers of the sockets that some processes have open."""
    found: set[str] = set()
    for process in processes:
        with suppress(FileNotFoundError):
            for name in os.listdir(f"/proc/{process}/fd"):
                with suppress(FileNotFoundError):
                    found.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{process}/fd/{name}")))
    return found


def listening(kind: str, processes: list[int]) -> list[tuple[str, int]]:
    """Address and port of each socket of some processes that waits for others; `st` is 0A for TCP, 07 for UDP."""
    ours, found = sockets_of(processes), []
    for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
        fields = line.split()
        address, _, port = fields[1].rpartition(":")
        if fields[9] in ours and fields[3] == ("0A" if kind.startswith("tcp") else "07"):
            found.append((address, int(port, 16)))
    return found


def unix_sockets(processes: list[int]) -> list[str]:
    """The names of the Unix sockets of some processes."""
    ours = sockets_of(processes)
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return [fields[7] for fields in lines if len(fields) > 7 and fields[6] in ours]


def framed(kind: int, head: bytes, body: bytes = b"") -> bytes:
    """A message of Spark's own protocol."""
    return struct.pack(">QB", 9 + len(head) + len(body), kind) + head + body


def text(value: str) -> bytes:
    return struct.pack(">I", len(value)) + value.encode()


def questions() -> list[bytes]:
    """Requests for forty broadcast blocks, for a file of Spark's, for a class by Py4J, and for a page."""
    blocks = b""
    for number in range(40):
        body = b"\0" + text("app") + text("driver") + struct.pack(">I", 1) + text(f"broadcast_{number}_piece0")
        blocks += framed(RPC_REQUEST, struct.pack(">QI", number, len(body)), body)
    stream = framed(STREAM_REQUEST, text("/files/none"))
    return [blocks, stream, b"r\nu\njava.lang.System\nrj\ne\n", b"GET / HTTP/1.0\r\n\r\n"]


def answers(port: int) -> list[bytes]:
    """What a port says to each question, message by message."""
    found = []
    for question in questions():
        said = b""
        with socket.socket() as line, suppress(TimeoutError, ConnectionError):
            line.settimeout(0.5)
            line.connect(("127.0.0.1", port))
            line.sendall(question)
            while piece := line.recv(1 << 16):
                said += piece
        found += list(messages(said))
    return found


def messages(said: bytes) -> Iterator[bytes]:
    """The messages of Spark's protocol in some bytes; what is none comes whole."""
    while said:
        (length,) = struct.unpack(">Q", said[:8].rjust(8, b"\xff"))
        yield said[:length]
        said = said[length:]


def granted(port: int) -> list[bytes]:
    """The answers that say anything but that the one who asks is not let in."""
    return [answer for answer in answers(port) if not any(refusal in answer for refusal in REFUSALS)]


def readable(paths: list[Path]) -> list[Path]:
    """The files and folders that can be read."""
    found = []
    for path in paths:
        with suppress(OSError):
            if path.is_dir():
                os.listdir(path)
            else:
                path.read_bytes()
            found.append(path)
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can look into; pytest's own is closed."""
    with tempfile.TemporaryDirectory(prefix="r2d2-open-", ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_nobody_else_gets_an_answer_from_a_port_or_reads_a_file_during_a_scan(folder: Path) -> None:
    with scanning(folder, "guarded") as processes:
        ports = listening("tcp", processes) + listening("tcp6", processes)
        assert ports and {address for address, _ in ports} <= LOOPBACK
        assert {address for address, _ in listening("udp", processes)} <= LOOPBACK
        assert as_nobody(lambda: {port: granted(port) for _, port in ports}) == {port: [] for _, port in ports}
        assert all(name.startswith(str(folder / "tmp")) for name in unix_sockets(processes))
        ours = [path for name in ("state", "tmp", "cache") for path in (folder / name).rglob("*")]
        ours += [folder / "state", *Path("/tmp").glob(f"hsperfdata_*/{processes[0]}")]
        assert len(ours) > 10
        assert as_nobody(lambda: readable(ours)) == []
        assert as_nobody(lambda: readable([folder])) == [folder]  # nothing above keeps them out
        key = StateStore(folder / "state").key().hex()
        lines = as_nobody(lambda: [Path(f"/proc/{number}/cmdline").read_bytes() for number in processes])
        assert not [line for line in lines if key.encode() in line or b"secret" in line]


def test_without_authentication_the_ports_of_spark_answer_anybody(folder: Path) -> None:
    """That the questions above are the right ones."""
    with scanning(folder, "unguarded") as processes:
        ports = [port for _, port in listening("tcp", processes) + listening("tcp6", processes)]
        said = as_nobody(lambda: [answer for port in ports for answer in granted(port)])
        assert any(answer[8] == RPC_RESPONSE for answer in said)  # a broadcast block, ready to be fetched
