"""Report finished pieces from deep inside a task to a listener, if one is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("listener", default=None)


def tick(size: int) -> None:
    """Report one more finished piece of this size."""
    listener = _listener.get()
    if listener is not None:
        listener(size)


@contextmanager
def listening(listener: Callable[[int], None]) -> Iterator[None]:
    """Call *listener* for every piece that is finished inside the block."""
    _listener.set(listener)
    try:
        yield
    finally:
        _listener.set(None)
