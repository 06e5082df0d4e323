"""Sample of a parent's rows for the search of a predicate, with values as ordered codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels.arrow_values import Numbers
from r2d2.engine.recipes.cast import Columns, Decoder, as_series, can_be_searched, encode, kept_rows
from r2d2.engine.recipes.labelled_rows import OUTSIDE, Groups, Parent, Wanted, Words
from r2d2.engine.rows.table_content import known_rows
from r2d2.model.predicate import And, Between, Compare, IsNull, Not, OneOf, Or, Predicate
from r2d2.model.schema import Token

if TYPE_CHECKING:
    import polars as pl


class Condition(Protocol):
    """A condition on the codes of one column; see r2d2.steps.predicates.boxes."""

    @property
    def column(self) -> int:
        """The number of the column."""

    @property
    def low(self) -> int | None:
        """The least code, if there is a bound."""

    @property
    def high(self) -> int | None:
        """The greatest code, if there is a bound."""

    @property
    def codes(self) -> tuple[int, ...] | None:
        """The codes, if they are listed."""

    @property
    def null(self) -> bool:
        """Whether NULL is kept, too."""


HELD_ROWS = 20_000  # sampled rows inside, and as many outside


class Held:
    """The sampled rows of the parent, as Polars frames, with their groups and hashes."""

    def __init__(self, parent: Parent, wanted: Wanted) -> None:
        self._parent = parent
        self._wanted = wanted
        self._columns: list[Token] | None = None
        self._inside: list[pl.DataFrame] = []
        self._outside: list[pl.DataFrame] = []
        self._limits = {True: 2**64, False: 2**64}  # rows with a larger hash are left out
        self._added = np.zeros(len(wanted.hashes), np.bool_)  # groups added because a predicate erred on them

    def add(self, columns: Columns, hashes: Words, rows: int) -> None:
        """Add the rows of one slice within the limits."""
        import polars as pl

        if not rows:
            return
        groups = self._wanted.groups(hashes)
        for inside, store in ((True, self._inside), (False, self._outside)):
            mask = ((groups >= 0) == inside) & (hashes <= np.uint64(self._limits[inside] - 1))
            if mask.any():
                store.append(self._frame(columns, hashes, groups, mask))
                while sum(frame.height for frame in store) > 2 * HELD_ROWS and self._limits[inside] > 1:
                    self._limits[inside] //= 2
                    limit = pl.lit(self._limits[inside] - 1, dtype=pl.UInt64)
                    store[:] = [frame.filter(pl.col("hash") <= limit) for frame in store]

    def _frame(self, columns: Columns, hashes: Words, groups: Groups, mask: NDArray[np.bool_]) -> pl.DataFrame:
        import polars as pl

        series = {"hash": pl.Series(hashes[mask]), "group": pl.Series(groups[mask])}
        for number, token in enumerate(self._parent.tokens):
            values = as_series(columns[token])
            if values is not None and can_be_searched(values):
                series[f"c{number}"] = values.filter(pl.Series(mask))
        return pl.DataFrame(series)

    def add_errors(self, predicate: Predicate, groups: Groups) -> bool:
        """Add rows outside that the predicate keeps, and all rows of groups of which it keeps too few or too many.

        False if none of them is new: then the same question would get the same answer.
        """
        new = groups[~self._added[groups] & (self._wanted.hashes[groups] > np.uint64(self._limits[True] - 1))]
        bad = np.zeros(len(self._wanted.hashes) + 1, np.bool_)  # the last element is for rows outside
        bad[new[: HELD_ROWS // 4]] = True
        self._added |= bad[:-1]
        room = HELD_ROWS // 2
        for part, columns in self._parent.parts(self._parent.tokens):
            hashes = self._parent.hashes(columns, self._wanted.tokens)
            found = self._wanted.groups(hashes)
            kept = kept_rows(columns, predicate, known_rows(part))
            wrong = np.flatnonzero(kept & (found == OUTSIDE))[:room]
            room -= len(wrong)
            mask = bad[found]
            mask[wrong] = True
            if mask.any():
                frame = self._frame(columns, hashes, found, mask)
                self._inside.append(frame.filter(frame["group"] >= 0))
                self._outside.append(frame.filter(frame["group"] < 0))
        return bool(bad.any()) or room < HELD_ROWS // 2

    def has_copies(self) -> bool:
        """Whether the parent has more copies of some row than the child."""
        frame = self._whole()
        groups = frame["group"].filter(frame["group"] >= 0).to_numpy()
        found, counts = np.unique(groups, return_counts=True)
        return bool((counts > self._wanted.counts[found]).any())

    def question(self, *, distinct: bool) -> Question:
        """The sample with values as codes, as input of the search."""
        frame = self._whole()
        groups = frame["group"].to_numpy()
        there = np.unique(groups[groups >= 0])
        group = np.where(groups >= 0, np.searchsorted(there, groups), OUTSIDE)
        wanted = self._wanted.counts[there]
        if distinct:
            wanted = np.bincount(group[group >= 0], minlength=len(there))
        question = Question()
        codes = []
        for number, token in enumerate(self._parent.tokens):
            encoded = encode(frame[f"c{number}"]) if f"c{number}" in frame.columns else None
            if encoded is not None:
                codes.append(encoded[0])
                question.columns.append((token, encoded[1]))
        question.given = {
            "codes": np.array(codes, np.int64).reshape(len(codes), len(group)),
            "group": group,
            "number": _scrambled(frame["hash"].to_numpy()),
            "wanted": wanted,
            "in_child": np.array([token in self._wanted.tokens for token, _ in question.columns], np.bool_),
        }
        return question

    def _whole(self) -> pl.DataFrame:
        """All sampled rows, in the columns that have the same type in all slices."""
        import polars as pl

        inside = [frame for frame in self._inside if frame.height]
        outside = [frame for frame in self._outside if frame.height]
        frames = [*inside, *outside]
        if not frames:
            return pl.DataFrame(schema={"hash": pl.UInt64, "group": pl.Int64})
        names = [
            name
            for name in frames[0].columns
            if all(name in frame.columns and frame.schema[name] == frames[0].schema[name] for frame in frames)
        ]
        return pl.concat([frame.select(names) for frame in frames])


def _scrambled(hashes: Words) -> Words:
    """Turn hashes into random numbers: rows were chosen by their hash, so it is no longer uniform."""
    numbers = hashes * np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(29)
    return numbers * np.uint64(0xBF58476D1CE4E5B9)


@dataclass
class Question:
    """Input of the search, and the decoding of its answer."""

    given: dict[str, Numbers] = field(default_factory=dict)
    columns: list[tuple[Token, Decoder]] = field(default_factory=list)

    def predicate(self, boxes: Sequence[Sequence[Condition]]) -> Predicate:
        """The predicate of some boxes, with columns and constants."""
        parts = [_all([self._condition(condition) for condition in box]) for box in boxes]
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _condition(self, condition: Condition) -> Predicate:
        token, decode = self.columns[condition.column]
        found = self._without_null(token, decode, condition)
        if found is None:
            return IsNull(token)
        return Or((IsNull(token), found)) if condition.null else found

    def _without_null(self, token: Token, decode: Decoder, condition: Condition) -> Predicate | None:
        low, high = condition.low, condition.high
        if condition.codes is not None:
            literals = tuple(decode(code) for code in condition.codes)
            if len(literals) == 1:
                return Compare(token, "=", literals[0])
            return OneOf(token, literals) if literals else None
        if low is not None and high is not None:
            return Compare(token, "=", decode(low)) if low == high else Between(token, decode(low), decode(high))
        if low is not None:
            return Compare(token, ">=", decode(low))
        return Not(IsNull(token)) if high is None else Compare(token, "<=", decode(high))


def _all(parts: Sequence[Predicate]) -> Predicate:
    return parts[0] if len(parts) == 1 else And(tuple(parts))
