"""Hashers of the Arrow types without nested values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from r2d2.engine.kernels.arrow_values import Live, bits, values
from r2d2.engine.kernels.decimals import canonical_decimal
from r2d2.engine.kernels.keys import Chain, ColumnKeys, Kind, hash_word
from r2d2.engine.kernels.mixing import Hashes, mix_pair
from r2d2.engine.kernels.numeric import (
    Canonical,
    Wide,
    canonical_float,
    canonical_signed,
    canonical_unsigned,
)
from r2d2.engine.kernels.temporal import canonical_date, canonical_moment, canonical_time
from r2d2.engine.kernels.text import hash_bytes

HashBlock = Callable[[pa.Array, Live, ColumnKeys, Hashes], None]
Applies = Callable[[pa.DataType], bool]


class Hasher(NamedTuple):
    """Hash function of one type. NULL rows may get any hash: NULL's own replaces it."""

    hash_block: HashBlock
    in_blocks: bool = True  # False: some work is per array (a dictionary), so an array is not split


def either(*predicates: Applies) -> Applies:
    """A predicate that holds if one of these does."""
    return lambda kind: any(predicate(kind) for predicate in predicates)


def _fixed(canonical: Callable[[pa.Array, Live], Canonical]) -> Hasher:
    """Hasher of types of one word, or of a few for wide numbers."""

    def hash_block(array: pa.Array, live: Live, keys: ColumnKeys, out: Hashes) -> None:
        words, kinds, wide = canonical(array, live)
        hash_word(words, kinds, keys=keys, out=out)
        for part in wide:
            out[:, part.rows] = _hash_wide(part, keys)

    return Hasher(hash_block)


def _hash_wide(part: Wide, keys: ColumnKeys) -> Hashes:
    total, halves = np.zeros((2, 2, len(part.rows)), np.uint64)
    secrets = keys.positions(Chain.WIDE_DECIMAL, len(part.words))
    for words, first, second in zip(part.words, *secrets, strict=False):
        mix_pair(words, first, second, halves)
        total += halves
    return total


def _null(kind: pa.DataType) -> Hasher:
    return Hasher(lambda array, live, keys, out: None)


def _boolean(kind: pa.DataType) -> Hasher:
    return _fixed(lambda array, live: Canonical(bits(array, 1).astype(np.uint64), Kind.BOOLEAN))


def _signed(kind: pa.DataType) -> Hasher:
    return _fixed(lambda array, live: canonical_signed(values(array, f"<i{kind.bit_width // 8}")))


def _unsigned(kind: pa.DataType) -> Hasher:
    return _fixed(lambda array, live: canonical_unsigned(values(array, f"<u{kind.bit_width // 8}")))


def _float(kind: pa.DataType) -> Hasher:
    return _fixed(lambda array, live: canonical_float(values(array, f"<f{kind.bit_width // 8}")))


def _decimal(kind: pa.DataType) -> Hasher:
    limbs = kind.bit_width // 64

    def canonical(array: pa.Array, live: Live) -> Canonical:
        if limbs:
            return canonical_decimal(values(array, "<u8", limbs).reshape(-1, limbs), kind.scale, live)
        unscaled = values(array, "<i4").astype(np.int64).view(np.uint64)
        return canonical_decimal(unscaled[:, None], kind.scale, live)

    return _fixed(canonical)


def _date(kind: pa.DataType) -> Hasher:
    in_milliseconds = pa.types.is_date64(kind)

    def canonical(array: pa.Array, live: Live) -> Canonical:
        dates = values(array, "<i8" if in_milliseconds else "<i4")
        dates = dates if live is None else np.where(live, dates, 0)
        return canonical_date(dates, in_milliseconds=in_milliseconds)

    return _fixed(canonical)


def _time(kind: pa.DataType) -> Hasher:
    return _fixed(lambda array, live: canonical_time(values(array, f"<i{kind.bit_width // 8}"), kind.unit))


def _timestamp(kind: pa.DataType) -> Hasher:
    meaning = Kind.INSTANT if kind.tz else Kind.LOCAL
    return _fixed(lambda array, live: canonical_moment(values(array, "<i8"), kind.unit, meaning))


def _duration(kind: pa.DataType) -> Hasher:
    return _fixed(lambda array, live: canonical_moment(values(array, "<i8"), kind.unit, Kind.DURATION))


def _string(kind: pa.DataType) -> Hasher:
    return Hasher(partial(hash_bytes, Chain.STRING))


def _binary(kind: pa.DataType) -> Hasher:
    return Hasher(partial(hash_bytes, Chain.BINARY))


_is = pa.types
LEAF_TYPES: tuple[tuple[Applies, Callable[[pa.DataType], Hasher]], ...] = (
    (_is.is_null, _null),
    (_is.is_boolean, _boolean),
    (_is.is_signed_integer, _signed),
    (_is.is_unsigned_integer, _unsigned),
    (_is.is_floating, _float),
    (_is.is_decimal, _decimal),
    (_is.is_date, _date),
    (_is.is_time, _time),
    (_is.is_timestamp, _timestamp),
    (_is.is_duration, _duration),
    (either(_is.is_string, _is.is_large_string, _is.is_string_view), _string),
    (either(_is.is_binary, _is.is_large_binary, _is.is_binary_view, _is.is_fixed_size_binary), _binary),
)
