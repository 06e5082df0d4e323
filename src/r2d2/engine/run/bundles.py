"""Many small pieces of work packed into a few bundles of about the same weight."""

from __future__ import annotations

import heapq
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Piece = TypeVar("Piece")

LEAST_PER_CORE, MOST_PER_CORE = 8, 32  # tasks of a job


def bundles_of(
    pieces: Sequence[Piece], *, cores: int, weight: Callable[[Piece], float], per_task: float
) -> list[bytes]:
    """The pieces in bundles of about *per_task* weight: some for each core, so that no core waits long."""
    wanted = sum(map(weight, pieces)) / per_task
    number = round(min(MOST_PER_CORE * cores, max(LEAST_PER_CORE * cores, wanted)))
    bundles = pack(pieces, weight=weight, bundles=min(len(pieces), number))
    return [zlib.compress(json.dumps(bundle).encode(), 1) for bundle in bundles]


def unpack_bundle(bundle: bytes) -> list[Any]:
    """The pieces of a bundle, as they come out of JSON."""
    pieces: list[Any] = json.loads(zlib.decompress(bundle))
    return pieces


def pack(pieces: Sequence[Piece], *, weight: Callable[[Piece], float], bundles: int) -> list[list[Piece]]:
    """At most *bundles* lists of about equal weight: the heaviest piece first, each to the lightest bundle.

    >>> pack([5, 1, 1, 3], weight=float, bundles=2)
    [[5], [3, 1, 1]]
    """
    heap: list[tuple[float, int, list[Piece]]] = [(0.0, number, []) for number in range(bundles)]
    for piece in sorted(pieces, key=weight, reverse=True):
        load, number, content = heapq.heappop(heap)
        content.append(piece)
        heapq.heappush(heap, (load + weight(piece), number, content))
    return [content for _, _, content in sorted(heap, key=lambda entry: entry[1]) if content]
