"""The hash spreads, and structure in the data does not show in it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2d2.engine.kernels import hash_column, hash_rows, text
from r2d2.engine.kernels.decimals import canonical_decimal, canonical_number
from r2d2.synthetic.oracle.truth_rows import flatten
from tests.engine.kernels.oracle import KEY


def flipped_share(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The share of flipped bits, for each of the two halves."""
    return np.unpackbits((one ^ other).view(np.uint8), axis=1).mean(axis=1)


@pytest.mark.parametrize("bit", range(0, 64, 3))
def test_one_flipped_bit_of_a_number_flips_half_of_the_hash(bit: int) -> None:
    numbers = np.random.default_rng(bit).integers(-(2**63), 2**63, 2_000, dtype=np.int64)
    one, other = (
        hash_column(pa.array(some), token=("a",), key=KEY)
        for some in (numbers, numbers ^ np.int64(-(2**63) if bit == 63 else 1 << bit))
    )
    assert np.abs(flipped_share(one, other) - 0.5).max() < 0.01


@pytest.mark.parametrize("place", [0, 3, 4, 11, 12, 19, 20, 39])
def test_one_changed_byte_of_a_string_flips_half_of_the_hash(place: int) -> None:
    texts = np.random.default_rng(place).integers(0, 256, (2_000, 40), np.uint8)
    changed = texts.copy()
    changed[:, place] ^= 1
    one, other = (
        hash_column(pa.array([bytes(row) for row in some]), token=("a",), key=KEY) for some in (texts, changed)
    )
    assert np.abs(flipped_share(one, other) - 0.5).max() < 0.01


@pytest.mark.slow
def test_a_grid_of_small_numbers_has_no_collision_in_either_half() -> None:
    """A million rows of two columns whose values repeat a thousand times each: sums of few distinct terms."""
    a, b = np.divmod(np.arange(1_000_000), 1_000)
    hashes = hash_rows(flatten(pa.table({"a": a, "b": b})), projections=[[("a",), ("b",)]], key=KEY)[0]
    assert [len(np.unique(half)) for half in hashes] == [1_000_000, 1_000_000]


def test_hash_ranges_are_of_equal_size() -> None:
    hashes = hash_rows(flatten(pa.table({"n": range(256_000)})), projections=[[("n",)]], key=KEY)[0]
    for half in hashes:
        sizes = np.bincount((half >> np.uint64(56)).astype(np.int64), minlength=256)
        assert ((sizes - 1_000) ** 2 / 1_000).sum() < 400  # chi-square with 255 degrees of freedom


def test_strings_that_defeat_polynomial_hashes_of_any_key_are_told_apart() -> None:
    """Thue–Morse words collide modulo 2^64 under every multiplier; and words that swap places under weak sums."""
    letters = np.array([bin(n).count("1") % 2 for n in range(4_096)])
    one, other = (
        b"".join((b"A" * 8, b"B" * 8)[n] for n in letters),
        b"".join((b"A" * 8, b"B" * 8)[1 - n] for n in letters),
    )
    pairs = [one, other, b"....AAAAAAAABBBBBBBB", b"....BBBBBBBBAAAAAAAA"]
    first, second = hash_column(pa.array(pairs), token=("a",), key=KEY)
    assert len(set(first.tolist())) == len(set(second.tolist())) == 4


@given(st.lists(st.none() | st.binary(max_size=150), max_size=40))
def test_each_way_through_a_block_of_strings_gives_the_same(values: list[bytes | None]) -> None:
    """Across rows, along a row, and cut in two."""
    array = pa.array(values, pa.binary())
    plain = hash_column(array, token=("a",), key=KEY)
    for name, value in [
        ("_WORDS_PER_ROW", 0),
        ("_WORDS_PER_ROW", 1_000),
        ("_MOST_WORDS", 4),
        ("_BLOCK_BYTES", 40),
    ]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text, name, value)
            assert (hash_column(array, token=("a",), key=KEY) == plain).all(), name


def telling_decimals(scale: int, width: int) -> Iterator[int]:
    """Unscaled values around what decides: trailing zeros, powers of 5 and 2, 53 and 63 bits, the sign."""
    random = Random(scale)
    bases = [1, 2, 3, 10, 2**53 - 1, 2**53 + 1, 2**54 + 2, 2**55 + 1, 2**55 + 2, 2**63 - 1, 2**63, 2**64 + 1]
    bases += [random.getrandbits(random.randint(1, 64 * width - 1)) for _ in range(20)]
    powers = {0, 1, 5, 16, 31, 36, abs(scale) // 2, max(scale - 1, 0), abs(scale)}
    for base, power, shift in product(bases, powers, (0, 1, 11, 63)):
        for size in (base * 5**power << shift, base * 10**power << shift):
            if size < 2 ** (64 * width - 1):
                yield size
                yield -size


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("scale", [-3, 0, 1, 2, 3, 9, 18, 27, 28, 37, 38, 55, 56, 76, 77, 90])
def test_decimals_by_the_block_are_decimals_one_by_one(scale: int, width: int) -> None:
    unscaled = list(telling_decimals(scale, width))
    content = b"".join(value.to_bytes(8 * width, "little", signed=True) for value in unscaled)
    words, kinds, wide = canonical_decimal(np.frombuffer(content, np.uint64).reshape(-1, width), scale, None)
    found: list[tuple[int | None, list[int]]] = [
        (int(kind), [int(word)]) for kind, word in zip(np.broadcast_to(kinds, words.shape), words, strict=True)
    ]
    for part in wide:
        for place, row in enumerate(part.rows):
            found[row] = (None, part.words[:, place].tolist())
    assert found == [canonical_number(value, scale) for value in unscaled]


@pytest.mark.parametrize("scale", [-3, 0, 2, 18, 38, 76, 77])
def test_the_form_of_a_number_is_its_own(scale: int) -> None:
    """One form for each value, whatever scale it comes with, and one value for each form."""
    forms: dict[object, set[Fraction]] = {}
    for more in (0, 3):
        for unscaled in telling_decimals(scale, 2):
            kind, payload = canonical_number(unscaled * 10**more, scale + more)
            forms.setdefault((kind, *payload), set()).add(Fraction(unscaled) / Fraction(10) ** scale)
    assert all(len(numbers) == 1 for numbers in forms.values())
    assert len(forms) == len(set().union(*forms.values()))
