"""Tasks on slices whose rows are compared: hash them, sort the hashes and pack them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from r2d2.engine.kernels import Fingerprint, block_of, fingerprint, split, to_bytes
from r2d2.engine.rows.hash_slices import Hashing, failure, tokens_of
from r2d2.engine.run.contract import NOTE, Block
from r2d2.errors import TableError
from r2d2.model.work import Failed, HashWork, SummedTable


def block_bundle(bundle: Sequence[HashWork], *, hashing: Hashing) -> Iterator[Block]:
    """The hashes of each slice under each of its projections, sorted and packed by hash range.

    With `whole`, the columns of a table, its fingerprint comes as a note. So does a failure.
    """
    totals: defaultdict[int, Fingerprint] = defaultdict(Fingerprint)
    for piece in bundle:
        table, asked, whole = piece["table"], piece["projections"], piece["whole"]
        wanted = [tokens_of(tokens) for _, tokens, _ in asked] + ([tokens_of(whole)] if whole else [])
        try:
            rows = hashing.rows(hashing.columns(piece["slice"], wanted), wanted)
        except TableError as error:
            yield _note(failure(table, error))
            continue
        if whole:
            totals[table] += fingerprint(rows[len(asked)])
        for hashes, (number, _, ranges) in zip(rows, asked, strict=False):
            for part, some in enumerate(split(block_of(hashes), ranges)):
                if some.distinct_rows:
                    yield number, part, table, to_bytes(some)
    for table, total in totals.items():
        yield _note(
            {"kind": "fingerprint", "table": table, "rows": total.rows, "first": total.first, "second": total.second}
        )


def _note(note: SummedTable | Failed) -> Block:
    return NOTE, 0, note["table"], json.dumps(note).encode()
