"""The comparison of tables row by row: packed blocks of hashes, which meet by projection and hash range.

A task hashes slices and sends, per projection and hash range, one block of hashes; those of one projection
and range meet in one group, where every edge over that projection is counted. The edges are blocks too, sent to the
groups that count them. Ranges are cut so fine that a group fits a worker whatever the size of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from r2d2.engine.rows.asked_edges import NO_EDGES, AskedEdges, Ints, unpack_counts
from r2d2.engine.rows.count_group import count_group
from r2d2.engine.rows.hash_slices import BYTES_PER_TASK, Hashing, bytes_to_read
from r2d2.engine.rows.pack_slices import HASH_BYTES, block_bundle
from r2d2.engine.rows.table_content import about_rows
from r2d2.engine.run.contract import Exchange
from r2d2.model.work import Failed, HashWork


def comparing(hashing: Hashing, edges: AskedEdges = NO_EDGES) -> Exchange[HashWork, Failed]:
    """The exchange in which rows are compared. Its notes are failures."""
    return Exchange(
        "hash",
        pack=partial(block_bundle, hashing=hashing),
        count=count_group,
        weight=bytes_read_and_made,
        per_task=BYTES_PER_TASK,
        given=hashing.given,
        sent=edges.blocks,
    )


def bytes_read_and_made(item: HashWork) -> int:
    """How heavy it is to hash a slice, in bytes of a file: hashing a value takes as long as reading three of them."""
    columns = len({tuple(token) for _, tokens, _ in item["projections"] for token in tokens})
    return bytes_to_read(item) + about_rows(item["slice"]) * (3 * columns + HASH_BYTES * len(item["projections"]))


class Compared(NamedTuple):
    """Missing rows and copies, pair by pair, in ascending order of the pairs; see steps.verify_containment."""

    pairs: Ints  # parent * tables + child
    rows: Ints
    copies: Ints


def summed(edges: AskedEdges, counts: Sequence[bytes], *, tables: int) -> Compared:
    """Each edge with its missing rows and copies, over all hash ranges."""
    rows, copies = np.zeros(len(edges), np.int64), np.zeros(len(edges), np.int64)
    for group in counts:
        for first, more_rows, more_copies in unpack_counts(group):
            rows[first : first + len(more_rows)] += more_rows
            copies[first : first + len(more_copies)] += more_copies
    pairs = edges.parents.astype(np.int64) * tables + edges.children
    order = np.argsort(pairs, kind="stable")
    return Compared(pairs[order], rows[order], copies[order])
