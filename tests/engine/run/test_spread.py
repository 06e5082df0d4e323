"""Rows of the driver are spread over tasks, one bundle each, and none of them is sent much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.functions import spark_partition_id

from r2d2.engine.run import spread
from r2d2.engine.run.spread import from_driver, one_task_each, partition_keys


@pytest.mark.parametrize("partitions", [1, 2, 3, 64, 1000, 8192])
def test_there_is_a_key_for_every_partition(partitions: int) -> None:
    keys = partition_keys(partitions)
    assert len(set(keys)) == partitions and min(keys) >= 0


@pytest.mark.parametrize("partitions", [1, 2, 7, 64])
def test_spark_puts_each_bundle_into_a_partition_of_its_own(spark: Any, partitions: int) -> None:
    bundles = [b"%d" % number for number in range(partitions)]
    frame = one_task_each(spark, bundles, "work")
    rows = frame.select("bundle", "work", spark_partition_id().alias("place")).collect()
    assert sorted((row.bundle, bytes(row.work)) for row in rows) == list(enumerate(bundles))
    assert {row.place for row in rows} == set(range(partitions))
    assert all(row.place == row.bundle for row in rows)


def test_no_task_is_sent_more_than_its_share(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "MESSAGE_BYTES", 1000)
    rows = [(number, bytes(300)) for number in range(40)]
    frame = from_driver(spark, rows, "number int, what binary")
    sizes = [row.size for row in frame.mapInArrow(sizes_of_tasks, "size long").collect()]
    assert sum(sizes) == 40 * 300 and max(sizes) <= 1000 + 300
    assert sorted(row.number for row in frame.collect()) == list(range(40))


def sizes_of_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    size = sum(len(what) for batch in batches for what in batch.column("what").to_pylist())
    yield pa.record_batch({"size": [size]})


def test_before_spark_4_rows_go_without_arrow(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setattr(pyspark, "__version__", "3.5.6")
    rows = [(1, b"a"), (2, b"")]
    there = from_driver(spark, rows, "number int, what binary").collect()
    assert sorted((row.number, bytes(row.what)) for row in there) == rows
