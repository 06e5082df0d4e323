"""The comparison of tables row by row: packed blocks of hashes, which meet by projection and hash range.

A task hashes slices and sends, per projection and hash range, one block of sorted hashes; those of one projection
and range meet in one group, where every edge over that projection is counted. Ranges are cut so fine that a group
fits a worker whatever the size of the tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from r2d2.engine.rows.hash_slices import BYTES_PER_TASK, Hashing, bytes_to_read
from r2d2.engine.rows.pack_slices import block_bundle
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.contract import Count, Exchange, Packed
from r2d2.model.containment import Missing
from r2d2.model.schema import Token
from r2d2.model.work import Failed, HashWork, Projection, SummedTable

GROUP_BYTES = 16 << 20  # hashes that may meet in one group; some copies of them are made there

Pair = tuple[int, int]
Edges = Mapping[int, Sequence[Pair]]  # by the number of their projection


def share_projections(
    tables: Sequence[TableContent], pairs: Iterable[Pair], at_no_cost: Iterable[Pair]
) -> tuple[dict[int, list[Projection]], dict[int, list[Pair]]]:
    """Per table what to hash it by, and per projection its edges. A projection is a child's set of columns.

    Pairs in *at_no_cost* join where the hashes they need are there anyway.
    """
    numbers: dict[tuple[Token, ...], int] = {}
    edges: defaultdict[int, list[Pair]] = defaultdict(list)
    members: defaultdict[int, set[int]] = defaultdict(set)
    for parent, child in pairs:
        number = numbers.setdefault(tuple(tables[child].tokens), len(numbers))
        edges[number].append((parent, child))
        members[number].update((parent, child))
    for pair in at_no_cost:
        there = numbers.get(tuple(tables[pair[1]].tokens))
        if there is not None and members[there].issuperset(pair):
            edges[there].append(pair)
    asked: defaultdict[int, list[Projection]] = defaultdict(list)
    for tokens, number in numbers.items():
        hashes_bytes = 16 * sum(tables[table].rows for table in members[number])
        for table in members[number]:
            asked[table].append((number, tokens, 1 + hashes_bytes // GROUP_BYTES))
    return asked, dict(edges)


def comparing(edges: Edges, hashing: Hashing) -> Exchange[HashWork, SummedTable | Failed]:
    """The exchange in which rows are compared. Its notes are fingerprints and failures."""
    return Exchange(
        "hash",
        pack=partial(block_bundle, hashing=hashing),
        count=partial(count_group, edges),
        weight=bytes_to_read,
        per_task=BYTES_PER_TASK,
        given={**hashing.given, "edges": edges},
    )


def summed(edges: Edges, counts: Sequence[Count]) -> dict[Pair, Missing]:
    """Missing rows and copies of every edge, over all hash ranges."""
    missing = {pair: Missing() for pairs in edges.values() for pair in pairs}
    for parent, child, rows, copies in counts:
        before = missing[parent, child]
        missing[parent, child] = Missing(before.rows + rows, before.copies + copies)
    return missing


def count_group(edges: Edges, projection: int, blocks: Mapping[int, Sequence[Packed]]) -> list[Count]:
    """Parent, child, missing rows and missing copies of each edge that lacks any, within one hash range."""
    from r2d2.engine.kernels import find_missing, merge, unpack

    merged = {table: unpack(packed) for table, packed in blocks.items()}
    nothing = merge([])
    counts = []
    for parent, child in edges[projection]:
        if child in merged:
            missing = find_missing(child=merged[child], parent=merged.get(parent, nothing))
            if missing.copies:
                counts.append((parent, child, missing.rows, missing.copies))
    return counts
