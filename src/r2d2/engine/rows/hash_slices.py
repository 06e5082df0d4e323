"""Tasks on slices of tables: hash rows, sample them, and look them up. Plain functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from r2d2.engine.kernels import NotComparable, hash_rows
from r2d2.engine.kernels.mixing import Hashes, Words
from r2d2.engine.rows.ordered_values import Range, may_hold, ordered_values
from r2d2.engine.run.contract import Given, Task
from r2d2.errors import TableError
from r2d2.model.progress import tick
from r2d2.model.schema import Token, spell
from r2d2.model.work import (
    Failed,
    Found,
    Located,
    LocateWork,
    LookUpWork,
    Sampled,
    SampledRow,
    SampleWork,
    ShippedSlice,
    SliceWork,
)

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[Token, "pa.ChunkedArray"]
ReadSlice = Callable[[ShippedSlice, Iterable[Token]], Columns]
SliceRange = Callable[[ShippedSlice, Token], "Range | None"]
ReadBytes = Callable[[ShippedSlice, int, int], bytes]  # from a place on, so many or what there is
SLICES_PER_TASK = 64  # whose bounds are read from their files' metadata
BYTES_PER_TASK = 48 << 20  # a task reads slice by slice; starting one costs some milliseconds here, 0.1 s on a cluster


@dataclass(frozen=True, slots=True)
class Hashing:
    """How rows become hashes: who reads a slice, the state's key, and how many bits count (tests take fewer).

    `range` tells between which values a column of a slice lies, and `raw` has the bytes of its file, if anybody knows.
    """

    read: ReadSlice
    key: bytes
    bits: int = 128
    range: SliceRange | None = None
    raw: ReadBytes | None = None

    def rows(self, columns: Columns, projections: Sequence[Sequence[Token]], into: Words | None = None) -> list[Hashes]:
        """The hashes of the rows under each projection, written *into* some memory; TableError without any."""
        try:
            return hash_rows(columns, projections=projections, key=self.key, bits=self.bits, into=into)
        except NotComparable as error:
            raise TableError(f"not comparable: column {spell(error.token)}: {error.reason}") from error

    def columns(self, part: ShippedSlice, projections: Iterable[Sequence[Token]]) -> Columns:
        """The columns of a slice that the projections need."""
        columns = self.read(part, {token for projection in projections for token in projection})
        tick(part["bytes"])
        return columns

    @property
    def given(self) -> Given:
        """Key and bits, for another process to hash rows alike; it has a reader of its own."""
        return {"key": self.key.hex(), "bits": self.bits}


def tokens_of(listed: Iterable[Sequence[str]]) -> list[Token]:
    """Tokens that have been through JSON."""
    return [tuple(token) for token in listed]


def failure(table: int, error: TableError) -> Failed:
    """The answer of a task about a table that it could not read."""
    return {"kind": "failed", "table": table, "because": str(error.args[0]), "hint": error.hint}


def bytes_to_read(item: SliceWork) -> int:
    """How heavy a work item about one slice is."""
    return item["slice"]["bytes"] + 1


def sampling(hashing: Hashing) -> Task[SampleWork, Sampled | Failed]:
    """The task that samples rows."""
    return Task("sample", partial(sample_bundle, hashing=hashing), bytes_to_read, BYTES_PER_TASK, hashing.given)


def locating(hashing: Hashing) -> Task[LocateWork, Located | Failed]:
    """The task that finds slices which may hold sampled rows."""
    return Task("locate", partial(locate_bundle, hashing=hashing), lambda item: 1, SLICES_PER_TASK, hashing.given)


def looking_up(hashing: Hashing) -> Task[LookUpWork, Found | Failed]:
    """The task that looks for sampled rows."""
    return Task("look_up", partial(look_up_bundle, hashing=hashing), bytes_to_read, BYTES_PER_TASK, hashing.given)


def sample_bundle(bundle: Sequence[SampleWork], *, hashing: Hashing) -> Iterator[Sampled | Failed]:
    """The rows at the given places of each slice: each as its hash in all columns asked for, and in the first alone."""
    for piece in bundle:
        tokens = tokens_of(piece["tokens"])
        try:
            chosen = rows_at(hashing.columns(piece["slice"], [tokens]), piece["places"])
            whole, first = hashing.rows(chosen, [tokens, tokens[:1]])
        except TableError as error:
            yield failure(piece["table"], error)
        else:
            values = zip(*(ordered_values(chosen[token]) for token in tokens), strict=True)
            rows = list({row[0]: row for row in zip(_as_text(whole), first[0].tolist(), values, strict=True)}.values())
            yield {"kind": "sampled", "table": piece["table"], "rows": rows}


def rows_at(columns: Columns, places: Sequence[int] | NDArray[np.intp]) -> Columns:
    """The rows at some places."""
    return {token: _take(column, np.asarray(places, dtype=np.int64)) for token, column in columns.items()}


def _take(column: pa.ChunkedArray, places: NDArray[np.int64]) -> pa.ChunkedArray:
    """Arrow takes no rows out of string views; Polars, which made them, does."""
    import pyarrow as pa

    if not (pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type)):
        try:
            return column.take(pa.array(places))
        except pa.ArrowNotImplementedError:  # a view further inside
            pass
    import polars as pl

    series = pl.Series(pl.from_arrow(column)).gather(places)
    return pa.chunked_array([series.to_arrow(compat_level=pl.CompatLevel.newest())])


def look_up_bundle(bundle: Sequence[LookUpWork], *, hashing: Hashing) -> Iterator[Found | Failed]:
    """Find the wanted rows that stand in each slice: `wanted` lists projections with the rows looked for.

    The first column of a projection is its most telling one: all rows are sifted by it, and only what is left is
    hashed in the other columns too.
    """
    found: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for piece in bundle:
        try:
            for number, texts in _present(piece, hashing):
                found[piece["table"], number].update(texts)
        except TableError as error:
            yield failure(piece["table"], error)
    for (table, number), texts in found.items():
        yield {"kind": "found", "table": table, "projection": number, "found": sorted(texts)}


def _present(piece: LookUpWork, hashing: Hashing) -> Iterator[tuple[int, set[str]]]:
    """By projection, the wanted rows that are in the slice."""
    wanted = list(_within_range(piece, hashing))
    if not wanted:
        return
    columns = hashing.columns(piece["slice"], [tokens for _, tokens, _ in wanted])
    needles: defaultdict[Token, set[int]] = defaultdict(set)
    for _, tokens, rows in wanted:
        needles[tokens[0]].update(first for _, first, *_ in rows)
    hashed = hashing.rows(columns, [[token] for token in needles])
    likely = {token: _likely(h[0], needles[token]) for token, h in zip(needles, hashed, strict=True)}
    for number, tokens, rows in wanted:
        places, firsts = likely[tokens[0]]
        mine = places[np.isin(firsts, np.array([first for _, first, *_ in rows], dtype=np.uint64))]
        if len(mine):
            (hashes,) = hashing.rows(rows_at({token: columns[token] for token in tokens}, mine), [tokens])
            same_half = np.isin(hashes[0], np.array([int(text[:16], 16) for text, *_ in rows], dtype=np.uint64))
            yield number, _distinct_text(hashes[:, same_half]) & {text for text, *_ in rows}


def _within_range(
    piece: LookUpWork | LocateWork, hashing: Hashing
) -> Iterator[tuple[int, list[Token], list[SampledRow]]]:
    """The projections of a piece with the rows that its slice may hold, by the bounds of all columns."""
    bounds: dict[Token, Range | None] = {}
    for number, listed, rows in piece["wanted"]:
        tokens = tokens_of(listed)
        for token in tokens:
            if hashing.range and token not in bounds:
                bounds[token] = hashing.range(piece["slice"], token)
        likely = [row for row in rows if may_hold([bounds.get(token) for token in tokens], row[2])]
        if likely:
            yield number, tokens, likely


def locate_bundle(bundle: Sequence[LocateWork], *, hashing: Hashing) -> Iterator[Located | Failed]:
    """Find the wanted rows that each slice may hold. No row is read."""
    for piece in bundle:
        try:
            for number, _, rows in _within_range(piece, hashing):
                texts = [text for text, *_ in rows]
                yield {
                    "kind": "located",
                    "table": piece["table"],
                    "place": piece["place"],
                    "projection": number,
                    "rows": texts,
                }
        except TableError as error:
            yield failure(piece["table"], error)


def _likely(hashes: Words, wanted: set[int]) -> tuple[NDArray[np.intp], Words]:
    """Where the wanted hashes stand. A small table of their leading bits sifts out nearly all others at once."""
    needles = np.array(sorted(wanted), dtype=np.uint64)
    sieve = np.zeros(1 << 16, dtype=bool)
    sieve[(needles >> np.uint64(48)).astype(np.intp)] = True
    places = np.flatnonzero(sieve[(hashes >> np.uint64(48)).view(np.int64)])
    places = places[np.isin(hashes[places], needles)]
    return places, hashes[places]


def _as_text(hashes: Hashes) -> list[str]:
    return [f"{first:016x}{second:016x}" for first, second in zip(hashes[0].tolist(), hashes[1].tolist(), strict=True)]


def _distinct_text(hashes: Hashes) -> set[str]:
    distinct = set(zip(hashes[0].tolist(), hashes[1].tolist(), strict=True))
    return {f"{first:016x}{second:016x}" for first, second in distinct}
