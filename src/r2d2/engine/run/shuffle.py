"""An exchange of blocks as one Spark job: tasks pack, the shuffle brings together, groups count.

Those blocks meet that have the same group and hash range. Ranges are cut so fine that a group fits a worker whatever
the size of the tables.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from r2d2.engine.run.bundles import bundles_of
from r2d2.engine.run.contract import NOTE, Answer, Block, Exchange, Packed, Work
from r2d2.engine.run.exchange import exchange_folder, receive, send
from r2d2.engine.run.udp_progress import Address, reporting
from r2d2.engine.spark.cluster import parallelism
from r2d2.engine.spark.ship_code import ship

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

GROUPS = 24  # for each core
BATCH_BYTES = 16 << 20
_BLOCKS = "projection int, part int, table int, block binary"
_COUNTS = "counts binary, note string"


def shuffle(
    spark: SparkSession, exchange: Exchange[Work, Answer], items: Sequence[Work], *, report_to: Address | None
) -> tuple[list[bytes], list[str]]:
    """The counts of all groups, and the tasks' notes as text."""
    cores = parallelism(spark)
    rows = bundles_of(items, cores=cores, weight=exchange.weight, per_task=exchange.per_task)
    work = spark.createDataFrame(rows, "bundle int, work string").coalesce(1).repartition(len(rows))
    with exchange_folder(spark) as folder:
        packing = reporting(_pack(exchange, folder), report_to)
        blocks = work.mapInArrow(ship(spark, packing), _BLOCKS)
        if exchange.sent:
            blocks = blocks.union(spark.createDataFrame(list(exchange.sent), _BLOCKS))
        groups = blocks.repartition(GROUPS * cores, "projection", "part").groupBy("projection", "part")
        answers = groups.applyInArrow(ship(spark, _count(exchange)), _COUNTS).collect()
    counts = [bytes(answer.counts) for answer in answers if answer.note is None]
    return counts, [answer.note for answer in answers if answer.note is not None]


def _pack(
    exchange: Exchange[Work, Answer], folder: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    pack = exchange.pack

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for work in batch.column("work").to_pylist():
                yield from _in_batches(send(pack(json.loads(work)), folder=folder))

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


def _count(exchange: Exchange[Work, Answer]) -> Callable[[pa.Table], pa.Table]:
    count = exchange.count

    def run(group: pa.Table) -> pa.Table:
        import pyarrow as pa

        number = group.column("projection")[0].as_py()
        if number == NOTE:
            notes = [note.decode() for note in group.column("block").to_pylist()]
            return pa.table({"counts": pa.nulls(len(notes), pa.binary()), "note": pa.array(notes, pa.string())})
        counts = count(number, _by_table(group))
        return pa.table({"counts": pa.array([counts], pa.binary()), "note": pa.nulls(1, pa.string())})

    return run


def _by_table(group: pa.Table) -> dict[int, list[Packed]]:
    blocks: defaultdict[int, list[Packed]] = defaultdict(list)
    for table, block in zip(group.column("table").to_pylist(), group.column("block"), strict=True):
        blocks[table].append(receive(memoryview(block.as_buffer())))
    return blocks
