"""The comparison of tables row by row: packed blocks of hashes, which meet by projection and hash range.

A task hashes slices and sends, per projection and hash range, one block of hashes; those of one projection
and range meet in one group, where every edge over that projection is counted. The edges are blocks too, sent to the
groups that count them. Ranges are cut so fine that a group fits a worker whatever the size of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from r2d2.engine.rows.asked_edges import NO_EDGES, AskedEdges, Pair, unpack_counts
from r2d2.engine.rows.count_group import count_group
from r2d2.engine.rows.hash_slices import BYTES_PER_TASK, Hashing, bytes_to_read
from r2d2.engine.rows.pack_slices import HASH_BYTES, block_bundle
from r2d2.engine.rows.table_content import about_rows
from r2d2.engine.run.contract import Exchange, Packed
from r2d2.model.containment import Missing
from r2d2.model.work import Failed, HashWork, SummedTable


def comparing(hashing: Hashing, edges: AskedEdges = NO_EDGES) -> Exchange[HashWork, SummedTable | Failed]:
    """The exchange in which rows are compared. Its notes are fingerprints and failures."""
    return Exchange(
        "hash",
        pack=partial(block_bundle, hashing=hashing),
        count=count_group,
        weight=bytes_read_and_made,
        per_task=BYTES_PER_TASK,
        given=hashing.given,
        sent=list(edges.blocks()),
    )


def bytes_read_and_made(item: HashWork) -> int:
    """How heavy it is to hash a slice: making a byte of a hash takes about as long as reading a byte of a file."""
    return bytes_to_read(item) + HASH_BYTES * about_rows(item["slice"]) * len(item["projections"])


def summed(edges: AskedEdges, counts: Sequence[Packed]) -> Iterator[tuple[Pair, Missing]]:
    """Each edge with its missing rows and copies, over all hash ranges."""
    rows, copies = np.zeros(len(edges), np.int64), np.zeros(len(edges), np.int64)
    for group in counts:
        for first, more_rows, more_copies in unpack_counts(group):
            rows[first : first + len(more_rows)] += more_rows
            copies[first : first + len(more_copies)] += more_copies
    pairs = zip(edges.parents.tolist(), edges.children.tolist(), strict=True)
    yield from zip(pairs, map(Missing, rows.tolist(), copies.tolist()), strict=True)
