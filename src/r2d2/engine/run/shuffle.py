"""An exchange of blocks as one Spark job: tasks pack, the shuffle brings together, groups count.

Those blocks meet that have the same group and hash range. Ranges are cut so fine that a group fits a worker whatever
the size of the tables; a task takes its groups one after another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from r2d2.engine.run.bundles import bundles_of, unpack_bundle
from r2d2.engine.run.contract import NOTE, Answer, Exchange, Packed, Work
from r2d2.engine.run.exchange import Message, Receiver, exchange_folder, send
from r2d2.engine.run.spread import from_driver, one_task_each
from r2d2.engine.run.udp_progress import Address, reporting
from r2d2.engine.spark.cluster import parallelism
from r2d2.engine.spark.ship_code import ship

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    Batches = Iterable[pa.RecordBatch]

GROUPS = 12  # for each core
BATCH_BYTES = 16 << 20
BLOCK_BYTES = 16_000  # of a block that goes through the shuffle: Spark hands a task 10,000 of them at a time
_BLOCKS = "projection int, part int, table int, block binary"
_COUNTS = "counts binary, note string"


def shuffle(
    spark: SparkSession, exchange: Exchange[Work, Answer], items: Sequence[Work], *, report_to: Address | None
) -> tuple[list[bytes], list[str]]:
    """The counts of all groups, and the tasks' notes as text."""
    cores = parallelism(spark)
    bundles = bundles_of(items, cores=cores, weight=exchange.weight, per_task=exchange.per_task)
    with exchange_folder(spark) as folder:
        most_bytes = 0 if folder else BLOCK_BYTES
        packing = reporting(_pack(exchange, folder, most_bytes), report_to)
        blocks = one_task_each(spark, bundles, "work").mapInArrow(ship(spark, packing), _BLOCKS)
        sent = list(send(exchange.sent(most_bytes), folder=""))
        if sent:
            blocks = blocks.union(from_driver(spark, sent, _BLOCKS))
        groups = blocks.repartition(GROUPS * cores, "projection", "part").sortWithinPartitions("projection", "part")
        answers = groups.mapInArrow(ship(spark, _count(exchange)), _COUNTS).collect()
    counts = [bytes(answer.counts) for answer in answers if answer.note is None]
    return counts, [answer.note for answer in answers if answer.note is not None]


def _pack(exchange: Exchange[Work, Answer], folder: str, most_bytes: int) -> Callable[[Batches], Batches]:
    pack = exchange.pack

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for bundle in batch.column("work"):
                yield from _in_batches(send(pack(unpack_bundle(bundle.as_py()), most_bytes), folder=folder))

    return run


def _in_batches(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    """Messages as Arrow, some megabytes at a time: Spark's binary columns have 32-bit offsets."""
    waiting: list[Message] = []
    size = 0
    for message in messages:
        waiting.append(message)
        size += len(message[3])
        if size > BATCH_BYTES:
            yield _arrow(waiting)
            waiting, size = [], 0
    if waiting:
        yield _arrow(waiting)


def _arrow(messages: Sequence[Message]) -> pa.RecordBatch:
    import pyarrow as pa

    projection, part, table, block = zip(*messages, strict=True)
    numbers = [pa.array(column, pa.int32()) for column in (projection, part, table)]
    return pa.record_batch([*numbers, pa.array(block, pa.binary())], names=["projection", "part", "table", "block"])


def _count(exchange: Exchange[Work, Answer]) -> Callable[[Batches], Batches]:
    count = exchange.count

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        with closing(Receiver()) as receiver:
            for projection, blocks in _groups(batches, receiver):
                if projection == NOTE:
                    yield _answers(notes=[bytes(block.all()).decode() for some in blocks.values() for block in some])
                else:
                    yield _answers(counts=[count(projection, blocks)])

    return run


def _groups(batches: Batches, receiver: Receiver) -> Iterator[tuple[int, dict[int, list[Packed]]]]:
    """The blocks of one group and range after the other, by table; they come in that order."""
    group: tuple[int, int] | None = None
    blocks: defaultdict[int, list[Packed]] = defaultdict(list)
    for batch in batches:
        numbers = [batch.column(name).to_pylist() for name in ("projection", "part", "table")]
        for projection, part, table, block in zip(*numbers, batch.column("block"), strict=True):
            if group != (projection, part):
                if group is not None:
                    yield group[0], blocks
                group, blocks = (projection, part), defaultdict(list)
            blocks[table].append(receiver.block(memoryview(block.as_buffer())))
    if group is not None:
        yield group[0], blocks


def _answers(*, counts: Sequence[bytes] = (), notes: Sequence[str] = ()) -> pa.RecordBatch:
    import pyarrow as pa

    both = [pa.array([*counts, *[None] * len(notes)], pa.binary()), pa.array([*[None] * len(counts), *notes])]
    return pa.record_batch([both[0], both[1].cast(pa.string())], names=["counts", "note"])
