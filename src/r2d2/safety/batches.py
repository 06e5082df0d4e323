"""Small tables are handled some hundred at a time, since reading one of them alone costs as much as reading many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from r2d2.safety.plan import Entry

T = TypeVar("T")

MOST_TABLES = 500
MOST_BYTES = 256 << 20  # of children and their parents; a table larger than this is a batch of its own


def batches(
    items: Iterable[T],
    *,
    entry_of: Callable[[T], Entry],
    most_tables: int = MOST_TABLES,
    most_bytes: int = MOST_BYTES,
) -> Iterator[tuple[T, ...]]:
    """The items in their order, cut where a batch would have too many tables or bytes. A parent counts once."""
    batch: list[T] = []
    size, parents = 0, set[str]()
    for item in items:
        entry = entry_of(item)
        more = _bytes_beside(entry, parents)
        if batch and (len(batch) == most_tables or size + more > most_bytes):
            yield tuple(batch)
            batch, parents = [], set()
            size, more = 0, _bytes_beside(entry, parents)
        batch.append(item)
        parents.update(parent.location for parent in entry.parents)
        size += more
    if batch:
        yield tuple(batch)


def _bytes_beside(entry: Entry, parents: set[str]) -> int:
    """Bytes of a child and of those of its parents that are not in the batch yet."""
    new = (parent.size_bytes for parent in entry.parents if parent.location not in parents)
    return entry.child.size_bytes + sum(new)


def shares(entries: Sequence[Entry]) -> list[float]:
    """What part of a batch's work each table is, by the bytes that are read and written for it."""
    sizes = [entry.child.size_bytes + entry.parent_bytes for entry in entries]
    return [size / sum(sizes) for size in sizes]
