"""How code deep inside a task says that it has done a piece, to whoever wants to know; usually nobody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("listener", default=None)


def tick(size: int) -> None:
    """One more piece of this size is done."""
    listener = _listener.get()
    if listener is not None:
        listener(size)


@contextmanager
def listening(listener: Callable[[int], None]) -> Iterator[None]:
    """*listener* is told of every piece that is done meanwhile."""
    _listener.set(listener)
    try:
        yield
    finally:
        _listener.set(None)
