"""Hash an Arrow column into two 64-bit halves per value: equal values, and only they, get equal hashes.

docs/row-identity.md defines "equal"; the canonical forms are in numeric.py, temporal.py, text.py and nested.py. NULL
is one separate value in every column, whatever the column's type. Types that are not listed are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from r2d2.engine.kernels.arrow_values import Live, live_rows
from r2d2.engine.kernels.keys import ColumnKeys, Kind, NotComparable, Token, column_keys, hash_word
from r2d2.engine.kernels.leaf_types import LEAF_TYPES, Applies, Hasher, either
from r2d2.engine.kernels.mixing import BLOCK_ROWS, Hashes
from r2d2.engine.kernels.nested import hash_list, hash_map, hash_struct

_AS_STORED = ("arrow.uuid", "arrow.json")  # extension types whose stored value is the value


def hash_column(column: pa.Array | pa.ChunkedArray, *, token: Token, key: bytes) -> Hashes:
    """The hashes of a column's values, shape (2, rows). Structs are refused: hash each field under its own token.

    >>> narrow, double = pa.array([1, None], pa.int8()), pa.array([1.0, None], pa.float64())
    >>> hashes = [hash_column(column, token=("a",), key=bytes(16)) for column in (narrow, double)]
    >>> bool((hashes[0] == hashes[1]).all())
    True
    """
    if pa.types.is_struct(column.type):
        raise ValueError(f"column {token} is a struct: hash its fields one by one")
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    try:
        hasher_of(column.type)  # refuses the type, even without rows
        hashes = [hash_array(chunk, column_keys(token, key)) for chunk in chunks]
    except NotComparable as error:
        raise NotComparable(error.reason, token=token) from error
    if len(hashes) == 1:
        return hashes[0]
    return np.concatenate([np.empty((2, 0), np.uint64), *hashes], axis=1)


def hash_into(array: pa.Array, *, token: Token, key: bytes, out: Hashes) -> None:
    """Write the hashes of a block of a column's values into *out*, shape (2, rows)."""
    try:
        _hash_block(hasher_of(array.type), array, column_keys(token, key), out)
    except NotComparable as error:
        raise NotComparable(error.reason, token=token) from error


def hashed_in_blocks(kind: pa.DataType, *, token: Token) -> bool:
    """Whether a column may be hashed in blocks at no extra cost (a dictionary would be hashed with each)."""
    try:
        return hasher_of(kind).in_blocks
    except NotComparable as error:
        raise NotComparable(error.reason, token=token) from error


def hash_array(array: pa.Array, keys: ColumnKeys) -> Hashes:
    """The hashes of one array under the secrets of its column, or of its level in a nested one."""
    hasher = hasher_of(array.type)
    out = np.empty((2, len(array)), np.uint64)
    step = BLOCK_ROWS if hasher.in_blocks else max(len(array), 1)
    for begin in range(0, len(array), step):
        _hash_block(hasher, array.slice(begin, step), keys, out[:, begin : begin + step])
    return out


def _hash_block(hasher: Hasher, block: pa.Array, keys: ColumnKeys, out: Hashes) -> None:
    live = live_rows(block)
    hasher.hash_block(block, live, keys, out)
    if live is not None:
        np.copyto(out, _null_hash(keys), where=~live)


@lru_cache(maxsize=4096)
def hasher_of(kind: pa.DataType) -> Hasher:
    """The hasher of a type; raises NotComparable without one."""
    for applies, hasher in (*CARRIERS, *LEAF_TYPES, *NESTED_TYPES):
        if applies(kind):
            return hasher(kind)
    raise NotComparable(f"values of type {kind} have no defined equality")


def _null_hash(keys: ColumnKeys) -> Hashes:
    out = np.empty((2, 1), np.uint64)
    hash_word(np.zeros(1, np.uint64), Kind.NULL, keys=keys, out=out)
    return out


def _list(kind: pa.DataType) -> Hasher:
    inner = hasher_of(kind.value_type)
    return Hasher(lambda array, live, keys, out: hash_list(array, keys, hash_array, out), inner.in_blocks)


def _map(kind: pa.DataType) -> Hasher:
    in_blocks = hasher_of(kind.key_type).in_blocks and hasher_of(kind.item_type).in_blocks
    return Hasher(lambda array, live, keys, out: hash_map(array, keys, hash_array, out), in_blocks)


def _struct(kind: pa.DataType) -> Hasher:
    names = [field.name for field in kind]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise NotComparable(f"a struct has two fields named {twice[0]}")
    fields = [hasher_of(field.type) for field in kind]  # check all: any may be refused
    in_blocks = all(field.in_blocks for field in fields)
    return Hasher(lambda array, live, keys, out: hash_struct(array, keys, hash_array, out), in_blocks)


def _dictionary(kind: pa.DataType) -> Hasher:
    hasher_of(kind.value_type)
    return Hasher(_hash_dictionary, in_blocks=False)


def _hash_dictionary(array: pa.DictionaryArray, live: Live, keys: ColumnKeys, out: Hashes) -> None:
    if array.null_count == len(array):
        return
    indices = array.indices if live is None else array.indices.fill_null(0)
    np.take(hash_array(array.dictionary, keys), indices.to_numpy(), axis=1, out=out)


def _run_ends(kind: pa.DataType) -> Hasher:
    hasher_of(kind.value_type)
    return Hasher(_hash_run_ends, in_blocks=False)


def _hash_run_ends(array: pa.Array, live: Live, keys: ColumnKeys, out: Hashes) -> None:
    out[:] = hash_array(pc.run_end_decode(array), keys)


def _extension(kind: pa.DataType) -> Hasher:
    if kind.extension_name not in _AS_STORED:
        raise NotComparable(f"values of the extension type {kind.extension_name} have no defined equality")
    stored = hasher_of(kind.storage_type)
    return Hasher(lambda array, live, keys, out: stored.hash_block(array.storage, live, keys, out), stored.in_blocks)


_is = pa.types
Types = tuple[tuple[Applies, Callable[[pa.DataType], Hasher]], ...]
CARRIERS: Types = (  # hashed as their values
    (lambda kind: isinstance(kind, pa.BaseExtensionType), _extension),
    (_is.is_dictionary, _dictionary),
    (_is.is_run_end_encoded, _run_ends),
)
NESTED_TYPES: Types = (
    (either(_is.is_list, _is.is_large_list, _is.is_fixed_size_list), _list),
    (either(_is.is_list_view, _is.is_large_list_view), _list),
    (_is.is_map, _map),
    (_is.is_struct, _struct),
)
