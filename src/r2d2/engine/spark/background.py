"""Calls to Spark in threads of their own, so that Ctrl-C ends the waiting for them and nothing else.

Py4J does not bear to be interrupted: the message breaks off, tracebacks are printed, and Spark's own handler then
calls the JVM in the middle of that call. Off the main thread Spark installs no handler, and Python lets the
interrupt reach the main thread only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def begin(call: Callable[[], T]) -> Future[T]:
    """Start a call in a thread of its own, which does not keep the program from ending."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def apart(call: Callable[[], T]) -> T:
    """Make a call in a thread of its own and wait for what it returns."""
    return begin(call).result()
