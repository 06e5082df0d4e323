"""Hash lists, maps, and structs inside them, from the hashes of their elements.

A list is its length and its elements, each at its position; a map is its length and its entries in any
order; a struct inside a list or map is its fields by name. A NULL list, an empty one and one of a single
NULL are three values. Inside a list, a NULL struct and a struct of NULLs are two (at the top, where
structs are flattened, one).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import values
from r2d2.engine.kernels.keys import Chain, ColumnKeys, Kind, hash_word
from r2d2.engine.kernels.mixing import Hashes, mix

HashArray = Callable[[pa.Array, ColumnKeys], Hashes]


def hash_list(array: pa.Array, keys: ColumnKeys, hash_array: HashArray, out: Hashes) -> None:
    """Hash list, large_list, fixed_size_list and the list views."""
    inside, bounds = _list_parts(array)
    elements = hash_array(inside, keys.inside(b"e"))
    lengths = np.diff(bounds)
    positions = np.arange(len(inside)) - np.repeat(bounds[:-1], lengths)
    secrets = keys.positions(Chain.LIST, int(lengths.max(initial=0)))
    for half, secret in zip(elements, secrets, strict=True):
        half ^= secret.take(positions)
        mix(half)
    _finish(_sum_each(elements, bounds), lengths, Kind.LIST, keys, out)


def hash_map(array: pa.Array, keys: ColumnKeys, hash_array: HashArray, out: Hashes) -> None:
    """Hash a map: entries count with multiplicity, in any order."""
    bounds = values(array, "<i4", extra=1).astype(np.int64)
    begin, count = int(bounds[0]), int(bounds[-1] - bounds[0])
    entries = hash_array(array.keys.slice(begin, count), keys.inside(b"k"))
    entries += hash_array(array.items.slice(begin, count), keys.inside(b"v"))
    _seal(entries, Kind.STRUCT, keys)  # ties each key to its value before entries are summed
    _finish(_sum_each(entries, bounds - begin), np.diff(bounds), Kind.MAP, keys, out)


def hash_struct(array: pa.StructArray, keys: ColumnKeys, hash_array: HashArray, out: Hashes) -> None:
    """Hash a struct below the top level."""
    out[:] = 0
    for field, column in zip(array.type, array.flatten(), strict=True):
        out += hash_array(column, keys.inside(b"f", field.name))
    _seal(out, Kind.STRUCT, keys)


def _list_parts(array: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The elements of all rows one after another, and the bounds between the rows."""
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        inside = array.values.slice(array.offset * size, len(array) * size)
        return inside, np.arange(len(array) + 1, dtype=np.int64) * size
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):  # pyarrow 26 casts them wrongly
        lengths = array.sizes.to_numpy() * array.is_valid().to_numpy(zero_copy_only=False)
        return array.flatten(), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    bounds = values(array, "<i4" if pa.types.is_list(kind) else "<i8", extra=1).astype(np.int64)
    begin = int(bounds[0])
    return array.values.slice(begin, int(bounds[-1]) - begin), bounds - begin


def _sum_each(halves: Hashes, bounds: NDArray[np.int64]) -> Hashes:
    """Sums between the bounds, as differences of running sums: wrapping cancels out."""
    running = np.zeros((2, halves.shape[1] + 1), np.uint64)
    np.cumsum(halves, axis=1, out=running[:, 1:])
    return running.take(bounds[1:], axis=1) - running.take(bounds[:-1], axis=1)


def _finish(sums: Hashes, lengths: NDArray[np.int64], kind: Kind, keys: ColumnKeys, out: Hashes) -> None:
    hash_word(lengths.view(np.uint64), Kind.LENGTH, keys=keys, out=out)
    out += sums
    _seal(out, kind, keys)


def _seal(halves: Hashes, kind: Kind, keys: ColumnKeys) -> None:
    """Mix a finished sum, so that its parts do not add up with those of an enclosing sum."""
    for half, secret in zip(halves, (keys.first[kind], keys.second[kind]), strict=True):
        half ^= secret
        mix(half)
