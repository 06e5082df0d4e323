"""Cut tables into batches: reading one small table alone costs as much as reading hundreds together."""

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
    """Yield the items in order, in batches of limited tables and bytes. A parent counts once per batch."""
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
    """Each table's share of a batch's work, by the bytes of child and parents."""
    sizes = [entry.child.size_bytes + entry.parent_bytes for entry in entries]
    return [size / sum(sizes) for size in sizes]
