"""How far running tasks are: each tells the driver by a small datagram now and then.

Spark itself tells of tasks that ended only, and there are few of them: all end at about the same time. Datagrams cost
a task nothing and cannot fail it: where they do not arrive, as behind a firewall, nothing is known before the end.
They carry two counts and a secret, so that nobody else's are taken for ours.
"""

from __future__ import annotations

import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from r2d2.model.progress import News, Progress, silent, summing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SECONDS_BETWEEN = 0.2
_MESSAGE = struct.Struct("<16sIIQ")  # secret, number of the bundle, pieces and bytes of it that are done
Batches = Iterable["pa.RecordBatch"]
TaskFunction = Callable[[Batches], Batches]


@dataclass(frozen=True, slots=True)
class Address:
    """Where the driver listens, and the secret that a message must carry."""

    host: str
    port: int
    secret: bytes


@contextmanager
def listen(spark: SparkSession, progress: Progress) -> Iterator[Address | None]:
    """Tell *progress* what the tasks of a job have done so far; the address is for them. None: nobody asked."""
    if progress is silent:
        yield None
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ears:
        try:
            ears.bind((_own_address(spark), 0))
        except OSError:  # a name that is not this machine's, as behind a proxy: no progress, then
            yield None
            return
        host, port = ears.getsockname()
        address = Address(host, port, secrets.token_bytes(16))
        ended = threading.Event()
        thread = threading.Thread(target=_hear, args=(ears, address.secret, progress, ended), daemon=True)
        thread.start()
        try:
            yield address
        finally:
            ended.set()
            ears.sendto(b"", (host, port))  # wakes the thread, which then sees that it is over
            thread.join()


def _hear(ears: socket.socket, secret: bytes, progress: Progress, ended: threading.Event) -> None:
    """Counts are those of a bundle so far: what is lost, comes late or comes twice does no harm."""
    bundles: dict[int, tuple[int, int]] = {}
    while not ended.is_set():
        message = ears.recv(_MESSAGE.size + 1)
        if len(message) != _MESSAGE.size:
            continue
        sent, number, pieces, size = _MESSAGE.unpack(message)
        if compare_digest(sent, secret):
            bundles[number] = max(bundles.get(number, (0, 0)), (pieces, size))
            pieces, size = map(sum, zip(*bundles.values(), strict=True))
            progress(News(done=size, unit="bytes", pieces=pieces))


def _own_address(spark: SparkSession) -> str:
    """The address of this machine that Spark's workers can reach."""
    if not type(spark).__module__.startswith("pyspark.sql.connect"):
        local = (spark.conf.get("spark.master", "") or "").startswith("local")
        return "127.0.0.1" if local else spark.conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
    session: Any = spark
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((session.client.host, 9))  # sends nothing: it only says which of our addresses leads there
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def reporting(function: TaskFunction, address: Address | None) -> TaskFunction:
    """The function of a task, such that it tells how far it is. Its batches must have a column `bundle`."""
    if address is None:
        return function

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        with _Sender(address) as sender, closing(sender.numbered(batches)) as numbered:
            yield from function(numbered)

    return run


class _Sender:
    """Counts what a task has done, and sends the counts now and then and at the end of each bundle."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._bundle = 0
        self._done = News()
        self._last = time.monotonic()

    def __enter__(self) -> _Sender:
        return self

    def __exit__(self, *error: object) -> None:
        self._send()
        self._socket.close()

    def numbered(self, batches: Batches) -> Generator[pa.RecordBatch, None, None]:
        """The batches bundle by bundle: a task that Spark repeats may get others together."""
        for batch in batches:
            for place, number in enumerate(batch.column("bundle").to_pylist()):
                self._send()
                self._bundle, self._done = number, News()
                with summing(self._note):
                    yield batch.slice(place, 1)

    def _note(self, done: News) -> None:
        self._done = done
        if time.monotonic() - self._last > SECONDS_BETWEEN:
            self._send()

    def _send(self) -> None:
        self._last = time.monotonic()
        if self._done.pieces:
            message = _MESSAGE.pack(self._address.secret, self._bundle, self._done.pieces, self._done.done)
            try:
                self._socket.sendto(message, (self._address.host, self._address.port))
            except OSError:
                return  # a task has better things to do than to be heard
