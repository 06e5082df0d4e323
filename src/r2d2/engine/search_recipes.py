"""What a task does to find recipes: read a child's row hashes, mark the parent's rows, ask for a predicate, try it.

A bounded number of the parent's rows is held: whole groups of equal rows that the child has, and some rows that it has
not, both chosen by hash. A predicate found on them is tried on all rows; the rows on which it errs join those held, and
the question is put again. What no predicate gives is listed row by row. Plain functions: tests call them without Spark.
"""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.hash_slices import Hashing, Piece
from r2d2.engine.polars_columns import Columns, as_series, can_be_searched, encode, kept_rows
from r2d2.errors import TableError
from r2d2.model import predicate as predicates
from r2d2.model.predicate import And, Between, Compare, IsNull, Not, OneOf, Or, Predicate
from r2d2.model.schema import Token

if TYPE_CHECKING:
    import polars as pl

HELD_ROWS = 20_000  # of the rows inside, and of those outside
CACHED_CELLS = 12_000_000  # a parent of no more values than that is read once
ROUNDS = 5
_OUTSIDE = -1
Words = NDArray[np.uint64]
Groups = NDArray[np.int64]
FindBoxes = Callable[..., Sequence[Sequence[Any]] | None]  # see r2d2.steps.find_predicate
"""Called with codes, group, number, wanted and in_child; gives boxes of conditions on columns by number."""


def search_bundle(bundle: Sequence[Piece], *, hashing: Hashing, find: FindBoxes) -> Iterator[str]:
    """For each child of each parent a predicate, or the list of rows, that rebuilds it."""
    for piece in bundle:
        parent = _Parent(piece["slices"], [tuple(token) for token in piece["tokens"]], hashing)
        for child in piece["children"]:
            try:
                wanted = _Wanted.read(child, hashing)
            except TableError as error:
                yield _failure(child["table"], error)
                continue
            try:
                answer = _search(parent, wanted, find)
            except TableError as error:
                yield _failure(piece["table"], error)
                break
            yield json.dumps({"parent": piece["table"], "child": child["table"]} | answer)


def _failure(table: int, error: TableError) -> str:
    return json.dumps({"table": table, "failed": str(error.args[0]), "hint": error.hint})


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The child's rows: distinct hashes (the first half of each), and how often each occurs."""

    tokens: list[Token]
    hashes: Words
    counts: Groups

    @staticmethod
    def read(child: Mapping[str, Any], hashing: Hashing) -> _Wanted:
        tokens = [tuple(token) for token in child["tokens"]]
        parts = [hashing.rows(hashing.read(part, tokens), [tokens])[0][0] for part in child["slices"]]
        hashes, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *parts]), return_counts=True)
        return _Wanted(tokens, hashes, counts.astype(np.int64))

    def groups(self, hashes: Words) -> Groups:
        """Which of the child's rows each of these equals; -1: none."""
        if not len(self.hashes):
            return np.full(len(hashes), _OUTSIDE, np.int64)
        places = np.searchsorted(self.hashes, hashes)
        places[places == len(self.hashes)] = 0
        return np.where(self.hashes[places] == hashes, places, _OUTSIDE)


class _Parent:
    """The parent's slices, read as often as needed, or once where all of it fits."""

    def __init__(self, slices: Sequence[Mapping[str, Any]], tokens: list[Token], hashing: Hashing) -> None:
        self.tokens = tokens
        self._slices = slices
        self._hashing = hashing
        rows = sum(part["rows"] for part in slices)
        self._keep = rows * len(tokens) <= CACHED_CELLS
        self._cache: dict[int, Columns] = {}

    def parts(self, tokens: Sequence[Token]) -> Iterator[tuple[Mapping[str, Any], Columns]]:
        """Slice by slice, at least these columns."""
        for number, part in enumerate(self._slices):
            if not self._keep:
                yield part, self._hashing.read(part, tokens)
                continue
            if number not in self._cache:
                self._cache[number] = self._hashing.read(part, self.tokens)
            yield part, self._cache[number]

    def hashes(self, columns: Columns, tokens: list[Token]) -> Words:
        """The first half of each row's hash in the child's columns."""
        first: Words = self._hashing.rows(columns, [tokens])[0][0]
        return first


def _search(parent: _Parent, wanted: _Wanted, find: FindBoxes) -> dict[str, Any]:
    """A predicate if there is one, else the rows one by one."""
    held = _Held(parent, wanted)
    for part, columns in parent.parts(parent.tokens):
        held.add(columns, parent.hashes(columns, wanted.tokens), part["rows"])
    predicate = _by_predicate(parent, wanted, held, find, distinct=False)
    if predicate is not None:
        return {"where": predicates.to_json(predicate)}
    if len(wanted.counts) and wanted.counts.max() == 1 and held.has_copies():
        predicate = _by_predicate(parent, wanted, held, find, distinct=True)
        if predicate is not None:
            return {"where": predicates.to_json(predicate), "distinct": True}
    return {"rows": _listed(parent, wanted)}


def _by_predicate(
    parent: _Parent, wanted: _Wanted, held: _Held, find: FindBoxes, *, distinct: bool
) -> Predicate | None:
    for _ in range(ROUNDS):
        question = held.question(distinct=distinct)
        boxes = find(**question.given)
        if boxes is None:
            return None
        predicate = question.predicate(boxes)
        errors = _errors(parent, wanted, predicate, distinct=distinct)
        if errors is None:
            return predicate
        if not held.add_errors(predicate, errors):
            return None
    return None


def _errors(parent: _Parent, wanted: _Wanted, predicate: Predicate, *, distinct: bool) -> Groups | None:
    """The groups of which the predicate keeps too few or too many; None if it errs nowhere, outside neither."""
    tokens = sorted({*wanted.tokens, *(leaf.column for leaf in predicates.leaves(predicate))})
    picked = np.zeros(len(wanted.hashes), np.int64)
    outside = False
    for part, columns in parent.parts(tokens):
        kept = kept_rows(columns, predicate, part["rows"])
        groups = wanted.groups(parent.hashes(columns, wanted.tokens)[kept])
        picked += np.bincount(groups[groups >= 0], minlength=len(picked))
        outside = outside or bool((groups == _OUTSIDE).any())
    wrong = np.flatnonzero((picked == 0) if distinct else (picked != wanted.counts))
    return wrong if outside or len(wrong) else None


class _Held:
    """The rows of the parent that are held, as Polars frames, with their groups and hashes."""

    def __init__(self, parent: _Parent, wanted: _Wanted) -> None:
        self._parent = parent
        self._wanted = wanted
        self._columns: list[Token] | None = None
        self._inside: list[pl.DataFrame] = []
        self._outside: list[pl.DataFrame] = []
        self._limits = {True: 2**64, False: 2**64}  # rows with a larger hash are not held
        self._added = np.zeros(len(wanted.hashes), np.bool_)  # groups that are held because a predicate erred there

    def add(self, columns: Columns, hashes: Words, rows: int) -> None:
        """Hold what the limits allow of one slice."""
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
        """Hold rows outside that the predicate keeps, and all rows of groups of which it keeps too few or too many.

        False if none of them is new: then the same question would get the same answer.
        """
        new = groups[~self._added[groups] & (self._wanted.hashes[groups] > np.uint64(self._limits[True] - 1))]
        bad = np.zeros(len(self._wanted.hashes) + 1, np.bool_)  # the last one stands for rows outside
        bad[new[: HELD_ROWS // 4]] = True
        self._added |= bad[:-1]
        room = HELD_ROWS // 2
        for part, columns in self._parent.parts(self._parent.tokens):
            hashes = self._parent.hashes(columns, self._wanted.tokens)
            found = self._wanted.groups(hashes)
            kept = kept_rows(columns, predicate, part["rows"])
            wrong = np.flatnonzero(kept & (found == _OUTSIDE))[:room]
            room -= len(wrong)
            mask = bad[found]
            mask[wrong] = True
            if mask.any():
                frame = self._frame(columns, hashes, found, mask)
                self._inside.append(frame.filter(frame["group"] >= 0))
                self._outside.append(frame.filter(frame["group"] < 0))
        return bool(bad.any()) or room < HELD_ROWS // 2

    def has_copies(self) -> bool:
        """Whether the parent has more of some row than the child."""
        frame = self._whole()
        groups = frame["group"].filter(frame["group"] >= 0).to_numpy()
        found, counts = np.unique(groups, return_counts=True)
        return bool((counts > self._wanted.counts[found]).any())

    def question(self, *, distinct: bool) -> _Question:
        """The rows with their values numbered, as the search takes them."""
        frame = self._whole()
        groups = frame["group"].to_numpy()
        there = np.unique(groups[groups >= 0])
        group = np.where(groups >= 0, np.searchsorted(there, groups), _OUTSIDE)
        wanted = self._wanted.counts[there]
        if distinct:
            wanted = np.bincount(group[group >= 0], minlength=len(there))
        question = _Question()
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
        """All rows held, each once, in the columns that have one type throughout."""
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
    """Hashes as random numbers to sum: rows were chosen by the hash itself, so it is no longer evenly spread."""
    numbers = hashes * np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(29)
    return numbers * np.uint64(0xBF58476D1CE4E5B9)


@dataclass
class _Question:
    """What is asked of the search, and how its answer is read."""

    given: dict[str, Any] = field(default_factory=dict)
    columns: list[tuple[Token, Callable[[int], Any]]] = field(default_factory=list)

    def predicate(self, boxes: Sequence[Sequence[Any]]) -> Predicate:
        """The boxes in terms of columns and constants."""
        parts = [_all([self._condition(condition) for condition in box]) for box in boxes]
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _condition(self, condition: Any) -> Predicate:
        token, decode = self.columns[condition.column]
        found = self._without_null(token, decode, condition)
        if found is None:
            return IsNull(token)
        return Or((IsNull(token), found)) if condition.null else found

    def _without_null(self, token: Token, decode: Callable[[int], Any], condition: Any) -> Predicate | None:
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


def _listed(parent: _Parent, wanted: _Wanted) -> list[list[Any]]:
    """By file the rows that the child has, the first of equal ones, each as often as the child has it."""
    from pyroaring import BitMap

    missing = wanted.counts.copy()
    files: dict[str, Any] = {}
    for part, columns in parent.parts(wanted.tokens):
        groups = wanted.groups(parent.hashes(columns, wanted.tokens))
        places = np.flatnonzero(groups >= 0)
        order = places[np.argsort(groups[places], kind="stable")]
        ordered = groups[order]
        nth = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
        taken = order[nth < missing[ordered]]
        missing -= np.minimum(missing, np.bincount(ordered, minlength=len(missing)))
        bitmap = files.setdefault(part["path"], BitMap())  # |= changes it in its place
        bitmap |= BitMap(array("I", (taken + part["first"]).astype(np.uint32).tobytes()))
    return [
        [path, len(bitmap), base64.b64encode(_compact(bitmap)).decode()] for path, bitmap in files.items() if bitmap
    ]


def _compact(bitmap: Any) -> bytes:
    bitmap.run_optimize()
    return bytes(bitmap.serialize())
