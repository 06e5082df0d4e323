"""The job that compares tables row by row: packed blocks of hashes through one shuffle.

A task hashes slices and sends, per projection and hash range, one block of sorted hashes; those of one projection
and range meet in one group, where every edge over that projection is counted. Ranges are cut so fine that a group
fits a worker whatever the size of the tables.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from r2d2.engine.rows.exchange import exchange_folder, receive, send
from r2d2.engine.rows.hash_slices import Hashing, Piece
from r2d2.engine.rows.pack_slices import NOTE, Block, block_bundle
from r2d2.engine.run.tasks import bundles_of
from r2d2.engine.run.udp_progress import Address, reporting
from r2d2.engine.spark.cluster import parallelism
from r2d2.engine.spark.jobs import run_job
from r2d2.engine.spark.ship_code import ship
from r2d2.model.containment import Missing

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

GROUP_BYTES = 48 << 20  # hashes that may meet in one group; some copies of them are made there
GROUPS = 8
BATCH_BYTES = 16 << 20
_BLOCKS = "projection int, part int, table int, block binary"
_COUNTS = "counts binary, note string"

Pair = tuple[int, int]


def compare_tables(
    spark: SparkSession,
    pieces: Sequence[Piece],
    *,
    edges: Mapping[int, Sequence[Pair]],
    hashing: Hashing,
    per_task: float,
    report_to: Address | None = None,
) -> tuple[dict[Pair, Missing], list[str]]:
    """Missing rows and copies of every edge, by projection number, and the tasks' notes: fingerprints and failures."""

    def run() -> list[Any]:
        cores = parallelism(spark)
        rows = bundles_of(pieces, cores=cores, weight=lambda piece: piece["slice"]["bytes"] + 1, per_task=per_task)
        work = spark.createDataFrame(rows, "bundle int, work string").coalesce(1).repartition(len(rows))
        with exchange_folder(spark) as folder:
            packing = reporting(_pack(hashing, folder), report_to)
            blocks = work.mapInArrow(ship(spark, packing), _BLOCKS)
            groups = blocks.repartition(GROUPS * cores, "projection", "part").groupBy("projection", "part")
            return groups.applyInArrow(ship(spark, _count(edges)), _COUNTS).collect()

    counts = run_job(spark, run)
    missing: defaultdict[Pair, list[int]] = defaultdict(lambda: [0, 0])
    for row in counts:
        if row.note is None:
            for parent, child, rows, copies in np.frombuffer(row.counts, dtype="<i8").reshape(-1, 4).tolist():
                missing[parent, child][0] += rows
                missing[parent, child][1] += copies
    nothing = [0, 0]
    asked = {pair: missing.get(pair, nothing) for pairs in edges.values() for pair in pairs}
    notes = [row.note for row in counts if row.note]
    return {pair: Missing(*counts) for pair, counts in asked.items()}, notes


def compare_at_once(
    pieces: Sequence[Piece], *, edges: Mapping[int, Sequence[Pair]], hashing: Hashing
) -> tuple[dict[Pair, Missing], list[str]]:
    """The same without Spark, in this process: all hashes are held at a time."""
    from r2d2.engine.kernels import from_bytes, merge

    groups: defaultdict[tuple[int, int], defaultdict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    notes = []
    for projection, part, table, block in block_bundle(pieces, hashing=hashing):
        if projection == NOTE:
            notes.append(block.decode())
        else:
            groups[projection, part][table].append(from_bytes(block))
    missing = {pair: Missing() for pairs in edges.values() for pair in pairs}
    for (projection, _), blocks in groups.items():
        merged = {table: merge(parts) for table, parts in blocks.items()}
        for parent, child, rows, copies in count_group(edges[projection], merged):
            before = missing[parent, child]
            missing[parent, child] = Missing(before.rows + rows, before.copies + copies)
    return missing, notes


def _pack(hashing: Hashing, folder: str) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for work in batch.column("work").to_pylist():
                yield from _in_batches(send(block_bundle(json.loads(work), hashing=hashing), folder=folder))

    return run


def _in_batches(blocks: Iterable[Block]) -> Iterator[pa.RecordBatch]:
    """Blocks as Arrow, some megabytes at a time: Spark's binary columns have 32-bit offsets."""
    waiting: list[Block] = []
    size = 0
    for block in blocks:
        waiting.append(block)
        size += len(block[3])
        if size > BATCH_BYTES:
            yield _arrow(waiting)
            waiting, size = [], 0
    if waiting:
        yield _arrow(waiting)


def _arrow(blocks: Sequence[Block]) -> pa.RecordBatch:
    import pyarrow as pa

    projection, part, table, block = zip(*blocks, strict=True)
    numbers = [pa.array(column, pa.int32()) for column in (projection, part, table)]
    return pa.record_batch([*numbers, pa.array(block, pa.binary())], names=["projection", "part", "table", "block"])


def _count(edges: Mapping[int, Sequence[Pair]]) -> Callable[[pa.Table], pa.Table]:
    def run(group: pa.Table) -> pa.Table:
        import pyarrow as pa

        number = group.column("projection")[0].as_py()
        if number == NOTE:
            notes = [note.decode() for note in group.column("block").to_pylist()]
            return pa.table({"counts": pa.nulls(len(notes), pa.binary()), "note": pa.array(notes, pa.string())})
        counts = np.array(count_group(edges[number], _merged(group)), dtype="<i8").tobytes()
        return pa.table({"counts": pa.array([counts], pa.binary()), "note": pa.nulls(1, pa.string())})

    return run


def _merged(group: pa.Table) -> dict[int, Any]:
    """One block per table."""
    from r2d2.engine.kernels import from_bytes, merge

    parts: defaultdict[int, list[Any]] = defaultdict(list)
    for table, block in zip(group.column("table").to_pylist(), group.column("block"), strict=True):
        parts[table].append(from_bytes(receive(memoryview(block.as_buffer()))))
    return {table: merge(blocks) for table, blocks in parts.items()}


def count_group(edges: Sequence[Pair], blocks: Mapping[int, Any]) -> list[tuple[int, int, int, int]]:
    """Parent, child, missing rows and missing copies of each edge that lacks any, within one hash range."""
    from r2d2.engine.kernels import find_missing, merge

    nothing = merge([])
    counts = []
    for parent, child in edges:
        if child in blocks:
            missing = find_missing(child=blocks[child], parent=blocks.get(parent, nothing))
            if missing.copies:
                counts.append((parent, child, missing.rows, missing.copies))
    return counts
