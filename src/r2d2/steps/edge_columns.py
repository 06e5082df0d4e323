"""Edges as columns of numbers: put together, brought into order, and as arrays to reckon with."""

from __future__ import annotations

from array import array

import numpy as np
import numpy.typing as npt

from r2d2.model.graph import Edges
from r2d2.steps.prune_by_content import pick

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NO_EDGES = Edges.of(array("I"), array("I"))


def keys(edges: Edges, tables: int) -> Ints:
    """Each edge as one number."""
    return ints(edges.parents) * tables + ints(edges.children)


def among(wanted: Ints, ascending: Ints) -> Flags:
    """Which of some numbers are among many that are in order."""
    if not len(ascending):
        return np.zeros(len(wanted), dtype=bool)
    places = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    found: Flags = ascending[places] == wanted
    return found


def concatenated(one: Edges, other: Edges) -> Edges:
    """The edges of both."""
    return Edges(
        one.parents + other.parents,
        one.children + other.children,
        one.check + other.check,
        one.missing_rows + other.missing_rows,
        one.missing_copies + other.missing_copies,
        one.via + other.via,
    )


def order(edges: Edges) -> Ints:
    """The places of the edges by parent and child."""
    return np.lexsort((ints(edges.children), ints(edges.parents)))


def ordered(edges: Edges) -> Edges:
    """The same by parent and child."""
    return pick(edges, order(edges))


def ints(column: array[int]) -> Ints:
    """A column to reckon with."""
    return np.asarray(column).astype(np.int64)


def as_array(code: str, column: Ints) -> array[int]:
    """A column to keep."""
    kinds: dict[str, npt.DTypeLike] = {"I": np.uint32, "B": np.uint8}
    return array(code, column.astype(kinds[code]).tobytes())
