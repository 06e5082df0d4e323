"""Edges as NumPy arrays: select, order and look them up."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from r2d2.model.graph import Edges

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NO_EDGES = Edges.of(array("I"), array("I"))


def keys(edges: Edges, tables: int) -> Ints:
    """Each edge as one number."""
    return ints(edges.parents) * tables + ints(edges.children)


def among(wanted: Ints, ascending: Ints) -> Flags:
    """Flags of the *wanted* numbers that are among the *ascending* ones."""
    if not len(ascending):
        return np.zeros(len(wanted), dtype=bool)
    places = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    found: Flags = ascending[places] == wanted
    return found


def take(edges: Edges, places: Iterable[int]) -> Edges:
    """The edges at some places, in that order."""
    chosen = places if isinstance(places, np.ndarray) else np.fromiter(places, dtype=np.intp)
    return Edges(*(array(column.typecode, np.asarray(column)[chosen].tobytes()) for column in edges.columns))


def order(edges: Edges) -> Ints:
    """The places of the edges by parent and child."""
    return np.lexsort((ints(edges.children), ints(edges.parents)))


def ordered(edges: Edges) -> Edges:
    """The same edges by parent and child."""
    return take(edges, order(edges))


def ints(column: array[int]) -> Ints:
    """A column as 64-bit integers."""
    return np.asarray(column).astype(np.int64)


def as_array(code: str, column: Ints) -> array[int]:
    """Integers as a column."""
    kinds: dict[str, npt.DTypeLike] = {"I": np.uint32, "B": np.uint8}
    return array(code, column.astype(kinds[code]).tobytes())
