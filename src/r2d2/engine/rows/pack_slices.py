"""What tasks do with slices whose rows are compared: their hashes sorted and packed, as they are kept or anew."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from r2d2.engine.kernels import Fingerprint, HashBlock, Hashes, block_of, fingerprint, split, to_bytes
from r2d2.engine.rows.cache import Pack, bytes_of, is_that_file, load_block
from r2d2.engine.rows.hash_slices import Hashing, Piece, failure, tokens_of
from r2d2.errors import TableError
from r2d2.model.schema import Token
from r2d2.model.ticks import tick

Block = tuple[int, int, int, bytes]  # projection, hash range, table, packed hashes
NOTE = -1  # the projection of blocks that are not hashes but a note in JSON


def block_bundle(bundle: Sequence[Piece], *, hashing: Hashing) -> Iterator[Block]:
    """The hashes of each slice under each of its projections, sorted and packed by hash range.

    With `whole`, the columns of a table, its fingerprint comes as a note. So does a failure, the place of hashes that
    the piece says to keep, and the names of what should have been kept and is not.
    """
    totals: defaultdict[int, Fingerprint] = defaultdict(Fingerprint)
    with Pack(hashing.keep_in, hashing.key) as pack:
        for piece in bundle:
            table, asked, whole = piece["table"], piece["projections"], piece["whole"]
            keep = dict(piece.get("keep", ()))
            wanted = [tokens_of(tokens) for _, tokens, _ in asked] + ([tokens_of(whole)] if whole else [])
            try:
                rows, lost = _rows(piece, wanted, hashing)
            except TableError as error:
                yield _note(table, failure(piece, error))
                continue
            if lost:
                yield _note(table, json.dumps({"lost": lost, "bytes": piece["slice"]["bytes"]}))
            if whole:
                totals[table] += _fingerprint(rows[len(asked)])
            for position, (number, _, ranges) in enumerate(asked):
                block = _block(rows[position])
                for part, some in enumerate(split(block, ranges)):
                    if some.distinct_rows:
                        yield number, part, table, to_bytes(some)
                if position in keep and is_that_file(piece["slice"]):
                    place = pack.write(keep[position], to_bytes(block))
                    if place is not None:
                        yield _note(table, json.dumps({"kept": place}))
    for table, total in totals.items():
        note = {"table": table, "rows": total.rows, "first": total.first, "second": total.second}
        yield _note(table, json.dumps(note))


def _note(table: int, text: str) -> Block:
    return NOTE, 0, table, text.encode()


def _rows(
    piece: Piece, wanted: Sequence[Sequence[Token]], hashing: Hashing
) -> tuple[list[HashBlock | Hashes], list[str]]:
    """The rows of a slice under each projection, as they were kept or else read and hashed; and what was lost."""
    part, places = piece["slice"], piece.get("stored") or [None] * len(wanted)
    usable = any(places) and is_that_file(part)  # if it cannot even be opened, that has to come out
    kept = [load_block(place, part["rows"]) if usable else None for place in places]
    missing = [projection for projection, block in zip(wanted, kept, strict=True) if block is None]
    if not missing:
        tick(bytes_of(piece))
    hashed = iter(hashing.rows(hashing.columns(piece, missing), missing) if missing else ())
    rows = [next(hashed) if block is None else block for block in kept]
    return rows, [place[0] for place, block in zip(places, kept, strict=True) if place and block is None]


def _fingerprint(rows: HashBlock | Hashes) -> Fingerprint:
    return fingerprint(rows.hashes, rows.counts) if isinstance(rows, HashBlock) else fingerprint(rows)


def _block(rows: HashBlock | Hashes) -> HashBlock:
    return rows if isinstance(rows, HashBlock) else block_of(rows)
