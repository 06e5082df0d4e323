"""Call Spark in background threads, so that Ctrl-C only ends the waiting for them.

Py4J does not tolerate interrupts: the message breaks off, tracebacks are printed, and Spark's own handler then calls
the JVM in the middle of that call. Off the main thread Spark installs no handler, and Python delivers the interrupt
to the main thread only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def begin(call: Callable[[], T]) -> Future[T]:
    """Start a call in a daemon thread."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def apart(call: Callable[[], T]) -> T:
    """Run a call in a background thread and wait for its result."""
    return begin(call).result()
