"""What tasks do with slices of tables: hash rows, and sample, look up, sum or pack the hashes. Plain functions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from r2d2.engine.kernels import Fingerprint, NotComparable, block_of, fingerprint, hash_rows, split, to_bytes
from r2d2.engine.kernels.mixing import Hashes
from r2d2.errors import TableError
from r2d2.model.schema import Token, spell

if TYPE_CHECKING:
    import pyarrow as pa

ReadSlice = Callable[[Mapping[str, Any], Iterable[Token]], Mapping[Token, "pa.ChunkedArray"]]
Piece = Mapping[str, Any]  # a slice of a table and what is asked of it, as plain JSON


@dataclass(frozen=True, slots=True)
class Hashing:
    """How rows become hashes: who reads a slice, the state's key, and how many bits count (tests take fewer)."""

    read: ReadSlice
    key: bytes
    bits: int = 128

    def rows(self, piece: Piece, projections: Sequence[Sequence[Token]]) -> list[Hashes]:
        """The hashes of a slice's rows under each projection; TableError where they cannot be had."""
        tokens = {token for projection in projections for token in projection}
        try:
            columns = self.read(piece["slice"], tokens)
            return hash_rows(columns, projections=projections, key=self.key, bits=self.bits)
        except NotComparable as error:
            raise TableError(f"not comparable: column {spell(error.token)}: {error.reason}") from error


def _tokens(listed: Iterable[Sequence[str]]) -> list[Token]:
    return [tuple(token) for token in listed]


def _failure(piece: Piece, error: TableError) -> str:
    return json.dumps({"table": piece["table"], "failed": str(error.args[0]), "hint": error.hint})


def fingerprint_bundle(bundle: Sequence[Piece], *, hashing: Hashing) -> Iterator[str]:
    """The fingerprint of each table's slices in the bundle."""
    totals: defaultdict[int, Fingerprint] = defaultdict(Fingerprint)
    for piece in bundle:
        try:
            (hashes,) = hashing.rows(piece, [_tokens(piece["tokens"])])
        except TableError as error:
            yield _failure(piece, error)
        else:
            totals[piece["table"]] += fingerprint(hashes)
    for table, total in totals.items():
        yield json.dumps({"table": table, "rows": total.rows, "first": total.first, "second": total.second})


def sample_bundle(bundle: Sequence[Piece], *, hashing: Hashing) -> Iterator[str]:
    """The hashes of the rows at the given places of each slice."""
    for piece in bundle:
        try:
            (hashes,) = hashing.rows(piece, [_tokens(piece["tokens"])])
        except TableError as error:
            yield _failure(piece, error)
        else:
            chosen = hashes[:, piece["places"]]
            yield json.dumps({"table": piece["table"], "rows": _as_text(chosen)})


def look_up_bundle(bundle: Sequence[Piece], *, hashing: Hashing) -> Iterator[str]:
    """Which of the wanted rows stand in each slice: `wanted` lists projections with the hashes looked for."""
    found: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for piece in bundle:
        try:
            hashes = hashing.rows(piece, [_tokens(tokens) for _, tokens, _ in piece["wanted"]])
        except TableError as error:
            yield _failure(piece, error)
            continue
        for rows, (number, _, texts) in zip(hashes, piece["wanted"], strict=True):
            found[piece["table"], number].update(_present(rows, texts))
    for (table, number), texts in found.items():
        yield json.dumps({"table": table, "projection": number, "found": sorted(texts)})


def _present(rows: Hashes, texts: Sequence[str]) -> Iterator[str]:
    """Those of the wanted hashes that are among the rows. A small table of leading bits sifts out nearly all rows."""
    wanted = np.array(sorted(int(text[:16], 16) for text in texts), dtype=np.uint64)
    sieve = np.zeros(1 << 16, dtype=bool)
    sieve[(wanted >> np.uint64(48)).astype(np.intp)] = True
    likely = np.flatnonzero(sieve[(rows[0] >> np.uint64(48)).astype(np.intp)])
    likely = likely[np.isin(rows[0][likely], wanted)]
    return (text for text in set(_as_text(rows[:, likely])) & set(texts))


def _as_text(hashes: Hashes) -> list[str]:
    return [f"{first:016x}{second:016x}" for first, second in zip(hashes[0].tolist(), hashes[1].tolist(), strict=True)]


Block = tuple[int, int, int, bytes]  # projection, hash range, table, packed hashes


def block_bundle(bundle: Sequence[Piece], *, hashing: Hashing) -> Iterator[Block]:
    """The hashes of each slice under each of its projections, sorted and packed by hash range."""
    for piece in bundle:
        try:
            hashes = hashing.rows(piece, [_tokens(tokens) for _, tokens, _ in piece["projections"]])
        except TableError as error:
            yield -1, 0, piece["table"], _failure(piece, error).encode()
            continue
        for (number, _, ranges), rows in zip(piece["projections"], hashes, strict=True):
            for part, block in enumerate(split(block_of(rows), ranges)):
                if block.distinct_rows:
                    yield number, part, piece["table"], to_bytes(block)
