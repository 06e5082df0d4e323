"""What tasks do with slices whose rows are compared: hash them, sort the hashes and pack them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from r2d2.engine.kernels import Fingerprint, block_of, fingerprint, split, to_bytes
from r2d2.engine.rows.hash_slices import Hashing, Piece, failure, tokens_of
from r2d2.errors import TableError

Block = tuple[int, int, int, bytes]  # projection, hash range, table, packed hashes
NOTE = -1  # the projection of blocks that are not hashes but a note in JSON


def block_bundle(bundle: Sequence[Piece], *, hashing: Hashing) -> Iterator[Block]:
    """The hashes of each slice under each of its projections, sorted and packed by hash range.

    With `whole`, the columns of a table, its fingerprint comes as a note. So does a failure.
    """
    totals: defaultdict[int, Fingerprint] = defaultdict(Fingerprint)
    for piece in bundle:
        table, asked, whole = piece["table"], piece["projections"], piece["whole"]
        wanted = [tokens_of(tokens) for _, tokens, _ in asked] + ([tokens_of(whole)] if whole else [])
        try:
            rows = hashing.rows(hashing.columns(piece, wanted), wanted)
        except TableError as error:
            yield _note(table, failure(piece, error))
            continue
        if whole:
            totals[table] += fingerprint(rows[len(asked)])
        for hashes, (number, _, ranges) in zip(rows, asked, strict=False):
            for part, some in enumerate(split(block_of(hashes), ranges)):
                if some.distinct_rows:
                    yield number, part, table, to_bytes(some)
    for table, total in totals.items():
        note = {"table": table, "rows": total.rows, "first": total.first, "second": total.second}
        yield _note(table, json.dumps(note))


def _note(table: int, text: str) -> Block:
    return NOTE, 0, table, text.encode()
