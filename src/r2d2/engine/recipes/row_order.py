"""Find the sort order of a slice by comparing neighbouring rows, column by column. Plain functions."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.mixing import Hashes
from r2d2.engine.recipes.cast import Columns, as_series
from r2d2.engine.second_reader.declared_order import declared_in
from r2d2.model.recipe import Order, SortKey, order_from_json, order_to_json
from r2d2.model.schema import Token
from r2d2.model.work import PlaceSums, ShippedSlice, SliceOrder

if TYPE_CHECKING:
    import pyarrow as pa

Mask = NDArray[np.bool_]
FIRST_ROWS = 64  # enough to see of most columns that they are not sorted
SURPRISING = 20.0  # an order counts if its probability by chance is below e^-20
MOST_FIRST = 4  # first keys for which further keys are searched
_MANNERS = tuple(product((False, True), repeat=2))  # descending, and whether NULLs are opposite to Spark's default


@dataclass(frozen=True, slots=True)
class Step:
    """Change of a column from each row to the next."""

    same: Mask
    up: Mask
    down: Mask
    from_null: Mask
    to_null: Mask

    def fits(self, key: SortKey, among: Mask | None = None) -> bool:
        """Whether all steps, or those *among* them, follow the key's direction or are ties."""
        fine = self.same | (self.down if key.descending else self.up)
        fine |= self.from_null if key.nulls_first else self.to_null
        return bool(fine.all() if among is None else fine[among].all())


@dataclass(slots=True)
class Steps:
    """The steps of each column, computed on demand."""

    columns: Columns
    _known: dict[Token, Step | None] = field(default_factory=dict)

    def of(self, token: Token) -> Step | None:
        """The steps of a column; None if it is missing or its values have no order."""
        if token not in self._known:
            self._known[token] = _step(self.columns[token]) if token in self.columns else None
        return self._known[token]

    def fit(self, order: Order) -> bool:
        """Whether the rows are sorted in this order."""
        ties: Mask | None = None
        for key in order:
            step = self.of(key.column)
            if step is None or not step.fits(key, ties):
                return False
            ties = step.same if ties is None else ties & step.same
        return True


def _step(column: pa.ChunkedArray) -> Step | None:
    import polars as pl

    series = as_series(column)
    if series is None or series.dtype.is_nested() or series.dtype == pl.Object:
        return None
    before, after = series.slice(0, max(0, len(series) - 1)), series.slice(1)
    try:
        up, down = ((before < after).fill_null(False).to_numpy(), (before > after).fill_null(False).to_numpy())
    except pl.exceptions.PolarsError:  # a type that Polars does not compare
        return None
    was_null, is_null = before.is_null().to_numpy(), after.is_null().to_numpy()
    return Step(~(up | down) & (was_null == is_null), up, down, was_null & ~is_null, ~was_null & is_null)


def look_at_order(columns: Columns, part: ShippedSlice, asked: Sequence[object]) -> SliceOrder:
    """Describe the order of one slice as plain JSON; `asked` are orders to check."""
    steps = Steps(columns)
    declared = [_folded(order) if part["fold"] and order else order for order in declared_in(part["path"])]
    held = [order for order in declared if order and steps.fit(order)]
    constant, found, best = _noticed(steps)
    return {
        "declared": [None if order is None else order_to_json(order) for order in declared],
        "held": [order_to_json(order) for order in held],
        "asked": [order for order in asked if steps.fit(order_from_json(order))],
        "constant": constant,
        "sorted": found,
        "best": order_to_json(best),
    }


def _folded(order: Order) -> Order:
    return tuple(
        SortKey(tuple(part.casefold() for part in key.column), key.descending, key.nulls_first) for key in order
    )


def _noticed(steps: Steps) -> tuple[list[tuple[list[str], int]], list[tuple[object, float]], Order]:
    """Constant columns, keys by which the rows are sorted with the surprise of each, and the best such order."""
    firsts: list[tuple[float, SortKey]] = []
    constant = []
    for token in _likely(steps.columns):
        step = steps.of(token)
        if step is not None and step.same.all():
            constant.append((list(token), _tag(steps.columns[token])))
        elif step is not None:
            surprise = _surprise(None, step.same)
            firsts += [(surprise, key) for key in _keys(token) if step.fits(key)]
    telling = sorted((first for first in firsts if first[0] > SURPRISING), key=lambda first: -first[0])[:MOST_FIRST]
    rest = {key: _rest(steps, key) for _, key in telling}
    best = (telling[0][1], *rest[telling[0][1]]) if telling else ()
    found: list[tuple[object, float]] = [
        (order_to_json((key, *rest.get(key, ()))), surprise) for surprise, key in firsts
    ]
    return constant, found, best


def _tag(column: pa.ChunkedArray) -> int:
    """A checksum of the only value of a column, to compare it with other slices."""
    return zlib.crc32(repr(column[0].as_py() if len(column) else None).encode())


def _likely(columns: Columns) -> list[Token]:
    """The columns whose first rows go only up or only down."""
    return [token for token in sorted(columns) if not _goes_both_ways(columns[token].slice(0, FIRST_ROWS))]


def _goes_both_ways(column: pa.ChunkedArray) -> bool:
    """Whether values rise and fall. In plain Python: for a few rows Polars takes longer to start than to compare."""
    try:
        pairs = list(pairwise(value for value in column.to_pylist() if value is not None))
        return any(one < other for one, other in pairs) and any(one > other for one, other in pairs)
    except (TypeError, ValueError, OverflowError):  # values that Python does not have or compare
        return False


def _keys(token: Token) -> list[SortKey]:
    return [SortKey(token, descending, descending == odd) for descending, odd in _MANNERS]


def _rest(steps: Steps, first: SortKey) -> Order:
    """Further keys: those by which rows that are equal in the earlier keys are sorted."""
    keys = [first]
    step = steps.of(first.column)
    assert step is not None
    ties = step.same
    while ties.any():
        best: tuple[float, SortKey, Mask] | None = None
        for token in sorted(steps.columns.keys() - {key.column for key in keys}):
            step = steps.of(token)
            key = next((key for key in _keys(token) if step is not None and step.fits(key, ties)), None)
            if step is None or key is None:
                continue
            surprise = _surprise(ties, ties & step.same)
            if surprise > max(SURPRISING, best[0] if best else 0.0):
                best = surprise, key, ties & step.same
        if best is None:
            break
        keys.append(best[1])
        ties = best[2]
    return tuple(keys[1:])


def _surprise(before: Mask | None, after: Mask) -> float:
    """Minus the logarithm of the probability that shuffled rows are sorted, given the ties before and after."""
    rows = len(after) + 1
    return (math.lgamma(rows + 1) if before is None else _arrangements(before)) - _arrangements(after)


def _arrangements(ties: Mask) -> float:
    """Logarithm of the number of ways to arrange tied rows."""
    ends = np.concatenate([[-1], np.flatnonzero(~ties), [len(ties)]])
    sizes, counts = np.unique(np.diff(ends), return_counts=True)
    return float(
        sum(count * math.lgamma(size + 1) for size, count in zip(sizes.tolist(), counts.tolist(), strict=True))
    )


def place_sums(hashes: Hashes) -> tuple[int, int, int]:
    """Rows, the sum of their hashes, and that sum weighted by place (mod 2^64); `sequence_sum` combines slices."""
    first = hashes[0]
    weighted = first * np.arange(len(first), dtype=np.uint64)
    return len(first), int(first.sum(dtype=np.uint64)), int(weighted.sum(dtype=np.uint64))


def sequence_sum(parts: Iterable[PlaceSums]) -> int:
    """One number for all rows in order of files and places: equal for equal sequences; parts are path, place, sums.

    >>> whole = place_sums(np.array([[5, 7, 9], [0, 0, 0]], dtype=np.uint64))
    >>> head, tail = (place_sums(np.array([half, half], dtype=np.uint64)) for half in ([5], [7, 9]))
    >>> sequence_sum([("b", 0, *tail), ("a", 0, *head)]) == sequence_sum([("a", 0, *whole)])
    True
    """
    total = before = 0
    for _, _, rows, plain, weighted in sorted((*part,) for part in parts):
        total += weighted + before * plain
        before += rows
    return total % 2**64
