"""Call a function that may kill, hang or bloat its process, and outlive it (HAZARDS 25).

A damaged footer can abort the process that reads it; no `except` helps. So the reading is done in a forked child
that reports item by item: when it dies or falls silent, the item in hand is to blame, and a new child goes on
with the next.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

from r2d2.errors import TableError

Item = TypeVar("Item")

_MORE_MEMORY_BYTES = 4 << 30  # what a child may claim beyond what its parent had
_DONE, _FAILED = b"+", b"-"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Item]):
    """The result for one item as text, or the reason why it failed."""

    item: Item
    result: str = ""
    because: str = ""
    hint: str = ""


def guarded_map(
    function: Callable[[Item], str], items: Sequence[Item], *, timeout_seconds: float, what: str = "its metadata"
) -> Iterator[Outcome[Item]]:
    """`function(item)` for each item, in order. A TableError, a death or a silence is that item's outcome only."""
    start = 0
    while start < len(items):
        for outcome in _run_child(function, items[start:], timeout_seconds, what):
            start += 1
            yield outcome


def _run_child(
    function: Callable[[Item], str], items: Sequence[Item], timeout_seconds: float, what: str
) -> Iterator[Outcome[Item]]:
    """Outcomes up to and including the one that ended the child."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(function, items, sender), daemon=True)
    child.start()
    sender.close()
    try:
        for item in items:
            if not receiver.poll(timeout_seconds):
                yield Outcome(item, because=f"reading {what} took more than {timeout_seconds:g} seconds")
                return
            try:
                answer = receiver.recv_bytes()
            except (EOFError, OSError):  # the latter if it died in the middle of an answer
                child.join(timeout_seconds)
                yield Outcome(item, because=f"reading {what} killed the reader (exit code {child.exitcode})")
                return
            yield _outcome(item, answer)
    finally:
        child.kill()
        child.join()
        receiver.close()


def _work(function: Callable[[Item], str], items: Sequence[Item], sender: Connection) -> None:
    _limit_memory()
    _hush()
    for item in items:
        try:
            sender.send_bytes(_DONE + function(item).encode("utf-8", "surrogatepass"))
        except TableError as error:
            sender.send_bytes(_FAILED + f"{error.args[0]}\0{error.hint}".encode("utf-8", "surrogatepass"))
        except MemoryError:
            sender.send_bytes(_FAILED + b"its metadata asks for more memory than a reader may have\0")


def _outcome(item: Item, answer: bytes) -> Outcome[Item]:
    text = answer[1:].decode("utf-8", "surrogatepass")
    if answer[:1] == _DONE:
        return Outcome(item, result=text)
    because, _, hint = text.partition("\0")
    return Outcome(item, because=because, hint=hint)


def _hush() -> None:
    """Keep the last words of libraries that abort from the user's terminal; a traceback of ours still gets there."""
    faulthandler.disable()
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _limit_memory() -> None:
    """Bound what the child may claim, where the system can do that."""
    try:
        import resource

        with open("/proc/self/statm") as pages:
            now = int(pages.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + _MORE_MEMORY_BYTES, resource.RLIM_INFINITY))
    except (ImportError, OSError, ValueError):
        return  # not Linux: the time limit still holds
