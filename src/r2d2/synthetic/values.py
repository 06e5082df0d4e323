"""Plausible values: names, places, money, timestamps. Words are drawn skewed: the first is the most frequent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

COUNTRIES = ("DE", "US", "FR", "GB", "IN", "JP", "BR", "PL", "SE", "CA", "AU", "MX")
CITIES = (
    "Berlin",
    "Paris",
    "London",
    "Pune",
    "Osaka",
    "Recife",
    "Łódź",
    "Malmö",
    "Toronto",
    "São Paulo",
    "Köln",
)
STATES = ("delivered", "shipped", "open", "returned", "cancelled")
SEGMENTS = ("consumer", "small business", "enterprise", "public")
COUPONS = ("WELCOME10", "SPRING", "FREESHIP", "BLACKFRIDAY")
EVENT_KINDS = ("view", "click", "search", "add_to_cart", "checkout", "error")
PAGES = ("/", "/search", "/cart", "/checkout", "/help", "/account", *(f"/item/{n}" for n in range(1, 40)))
SYSTEMS = ("Android", "Windows", "iOS", "macOS", "Linux")
BROWSERS = ("Chrome", "Safari", "Firefox", "Edge")
CATEGORIES = ("books", "garden", "kitchen", "toys", "office", "sports")
ADJECTIVES = ("small", "red", "folding", "wooden", "silent", "heavy", "solar", "soft", "blue", "smart")
THINGS = (
    "lamp",
    "chair",
    "kettle",
    "notebook",
    "tent",
    "puzzle",
    "rake",
    "bottle",
    "desk",
    "speaker",
    "ball",
)
TAGS = ("new", "sale", "eco", "gift", "bestseller", "fragile", "bulk")
SITES = ("hamburg", "lyon", "austin", "chennai", "gdansk")
FIRST_NAMES = (
    "Ana",
    "Ben",
    "Chitra",
    "Dana",
    "Emil",
    "Fatima",
    "Goro",
    "Hanna",
    "Igor",
    "José",
    "Kim",
    "Lea",
    "Mo",
)
LAST_NAMES = (
    "Smith",
    "Müller",
    "Rossi",
    "Sato",
    "Kaur",
    "Novak",
    "Silva",
    "Dubois",
    "Berg",
    "Okafor",
    "Lee",
    "Ruiz",
)

FIRST_DAY, DAYS = 18_993, 1_461  # 2022-01-01, four years
SECONDS_PER_DAY = 86_400

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Draw:
    """Generator of columns for one block of rows: *size* rows, the first of them row number *first*."""

    random: np.random.Generator
    first: int
    size: int
    of: int  # rows of the biggest root, the number of keys to refer to

    def ids(self, start: int = 1, kind: pa.DataType | None = None) -> pa.Array:
        """Row numbers, counted from *start*."""
        return pa.array(start + self.first + np.arange(self.size)).cast(kind or pa.int64())

    def keys(
        self,
        *,
        share: float,
        first: int = 1,
        nulls: float = 0.0,
        kind: pa.DataType | None = None,
    ) -> pa.Array:
        """Ids of another root that has *share* of the biggest root's rows; low ids are the most frequent."""
        there = max(1, round(self.of * share))
        drawn = first + (there * self.random.random(self.size) ** 3).astype(np.int64)
        return self._array(drawn, pa.int64(), nulls).cast(kind or pa.int64())

    def integers(self, low: int, high: int, kind: pa.DataType, nulls: float = 0.0) -> pa.Array:
        """Whole numbers from low to high - 1."""
        return self._array(self.random.integers(low, high, self.size), pa.int64(), nulls).cast(kind)

    def normals(self, mean: float, spread: float, kind: pa.DataType, nulls: float = 0.0) -> pa.Array:
        """Measurements with three decimals; never -0.0."""
        drawn = np.round(self.random.normal(mean, spread, self.size), 3) + 0.0
        return self._array(drawn, pa.float64(), nulls).cast(kind, safe=False)

    def money(self, low: float, high: float, kind: pa.DataType) -> pa.Array:
        """Amounts with cents, small ones more often."""
        cents = (100 * (low + (high - low) * self.random.random(self.size) ** 2)).astype(np.int64)
        return pc.multiply(pa.array(cents).cast(pa.decimal128(19, 0)), _CENT).cast(kind)

    def words(self, words: tuple[str, ...], nulls: float = 0.0) -> pa.Array:
        """Words of the list, by Zipf's law."""
        return pa.array(words).take(self._array(zipf(self.random, len(words), self.size), pa.int64(), nulls))

    def codes(self, low: int, high: int, *, digits: int) -> pa.Array:
        """Digits kept as text, with leading zeros."""
        drawn = pa.array(self.random.integers(low, high, self.size)).cast(pa.string())
        return pc.utf8_lpad(drawn, width=digits, padding="0")

    def hexes(self, digits: int) -> pa.Array:
        """Random identifiers."""
        text = self.random.bytes((self.size * digits + 1) // 2).hex()
        return pa.array([text[i * digits : (i + 1) * digits] for i in range(self.size)], pa.string())

    def joined(self, *columns: pa.Array, separator: str) -> pa.Array:
        """Columns of words, joined row by row."""
        return pc.binary_join_element_wise(*columns, separator)

    def emails(self, first_names: pa.Array, last_names: pa.Array, nulls: float) -> pa.Array:
        """An address per row, with its row number in it."""
        who = pc.utf8_lower(self.joined(first_names, last_names, separator="."))
        number = self.ids().cast(pa.string())
        return self._nulled(pc.binary_join_element_wise(who, number, "@example.com", ""), nulls)

    def flags(self, share: float, nulls: float = 0.0) -> pa.Array:
        """True in about *share* of the rows."""
        return self._array(self.random.random(self.size) < share, pa.bool_(), nulls)

    def days(self, since: int = 0, span: int = DAYS) -> Ints:
        """Days since 1970, later ones more often."""
        drawn: Ints = FIRST_DAY + since + (span * self.random.random(self.size) ** 0.7).astype(np.int64)
        return drawn

    def dates(self, days: Ints, nulls: float = 0.0) -> pa.Array:
        """The days as dates."""
        return self._array(days.astype(np.int32), pa.int32(), nulls).cast(pa.date32())

    def years(self, days: Ints) -> pa.Array:
        """The years of the days."""
        return pc.year(self.dates(days)).cast(pa.int16())

    def moments(self, kind: pa.DataType) -> pa.Array:
        """Timestamps, roughly in order of the rows, as events arrive."""
        span = DAYS * SECONDS_PER_DAY
        arrived = (self.first + np.arange(self.size)) * span // max(1, self.of)
        within_the_hour = self.random.integers(0, 3_600_000, self.size)
        milliseconds = (FIRST_DAY * SECONDS_PER_DAY + arrived) * 1000 + within_the_hour
        in_milliseconds = pa.array(milliseconds, pa.timestamp("ms", kind.tz))
        return in_milliseconds.cast(kind)

    def lists(self, words: tuple[str, ...], *, longest: int, nulls: float) -> pa.Array:
        """Lists of words, some empty, some NULL."""
        lengths = self.random.integers(0, longest + 1, self.size)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        items = pa.array(words).take(pa.array(zipf(self.random, len(words), int(lengths.sum()))))
        return self._nulled(pa.ListArray.from_arrays(offsets, items), nulls)

    def structs(self, *, nulls: float = 0.0, **fields: pa.Array) -> pa.Array:
        """The fields as one column."""
        return self._nulled(pa.StructArray.from_arrays(list(fields.values()), list(fields)), nulls)

    def _array(self, drawn: npt.NDArray[np.generic], kind: pa.DataType, nulls: float) -> pa.Array:
        return self._nulled(pa.array(drawn, kind), nulls)

    def _nulled(self, array: pa.Array, nulls: float) -> pa.Array:
        if not nulls:
            return array
        gone = pa.array(self.random.random(len(array)) < nulls)
        return pc.if_else(gone, pa.scalar(None, array.type), array)


def zipf(random: np.random.Generator, choices: int, size: int, skew: float = 1.2) -> Ints:
    """Draw *size* numbers from 0 … choices - 1; the probability of rank r falls as 1 / (r + 1) ** skew."""
    drawn: Ints = random.choice(choices, size=size, p=zipf_weights(choices, skew))
    return drawn


def zipf_weights(choices: int, skew: float) -> npt.NDArray[np.float64]:
    """The probability of each rank; they add up to one."""
    weights = 1.0 / np.arange(1, choices + 1) ** skew
    normalised: npt.NDArray[np.float64] = weights / weights.sum()
    return normalised


_CENT = pa.scalar("0.01").cast(pa.decimal128(3, 2))
