"""Count rows by their values: the one Spark job behind measuring and comparing tables.

Two tables are equal if each row's text has the same count in both. Rows are grouped by the whole text, not by a hash
of it. The digest is a sum over SHA-256 of each distinct row with its count: it is independent of the order and of the
hashes that a scan uses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from r2d2.engine.second_reader.read import spark_errors
from r2d2.engine.spark.codegen import compiled_if_large
from r2d2.engine.spark.jobs import run_job

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

BYTES_PER_TASK = 8 << 20  # of Parquet
_LANES = 4
_DIGITS = 15  # hexadecimal digits of SHA-256 in each lane
_HALF = 30  # bits: halves of lanes are summed, since sums of whole lanes exceed 64 bits


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows to count: some are `there`, some are `made`. A row whose text is NULL only counts as read."""

    frame: DataFrame  # text binary, made bigint, there bigint
    size_bytes: int
    distinct: bool = False  # copies of a made row count once


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of a pair of tables."""

    read_made: int  # rows read on the side that makes
    read_there: int
    distinct_there: int
    missing: int  # rows that are there and not made
    extra: int  # rows that are made and not there
    lanes: tuple[int, ...]

    def digest(self, signature: str) -> str:
        """Digest of rows and schema."""
        text = f"{signature}\n{self.read_there}\n{self.distinct_there}\n{self.lanes}"
        return hashlib.sha256(text.encode()).hexdigest()

    @staticmethod
    def nothing() -> Tally:
        """The tally of two empty tables."""
        return Tally(0, 0, 0, 0, 0, (0,) * _LANES)


def tally_rows(spark: SparkSession, counted: Sequence[Counted]) -> list[Tally]:
    """The tallies of some pairs of tables, in one job."""
    from pyspark.sql import functions as F

    with spark_errors():
        frames = [
            one.frame.select(
                F.lit(number).alias("pair"), "text", "made", "there", F.lit(one.distinct).alias("distinct")
            )
            for number, one in enumerate(counted)
        ]
        size = sum(one.size_bytes for one in counted)
        rows = _spread(reduce(lambda a, b: a.unionAll(b), frames), size // BYTES_PER_TASK + 1)
        found = tally_by_pair(spark, rows, size)
    return [found.get(number, Tally.nothing()) for number in range(len(counted))]


def tally_by_pair(spark: SparkSession, rows: DataFrame, size_bytes: int) -> dict[int, Tally]:
    """The tally of each pair that has rows, in one job that reads *size_bytes*.

    *rows* are pair int, text, made, there, distinct boolean.
    """
    from pyspark.sql import functions as F

    grouped = rows.groupBy("pair", "text").agg(
        F.sum("made").alias("made"), F.sum("there").alias("there"), F.max("distinct").alias("distinct")
    )
    with compiled_if_large(spark, size_bytes):
        answers = run_job(spark, lambda: grouped.groupBy("pair").agg(*_sums()).collect())
    return {row["pair"]: _tally(row.asDict()) for row in answers}


def _spread(rows: DataFrame, tasks: int) -> DataFrame:
    """Put small work into one task, without a shuffle; distribute large work by text, so that equal rows meet."""
    return rows.coalesce(1) if tasks == 1 else rows.repartition(tasks, "pair", "text")


def _sums() -> list[Column]:
    from pyspark.sql import functions as F

    is_row = F.col("text").isNotNull()
    made = F.when(F.col("distinct"), F.least("made", F.lit(1))).otherwise(F.col("made"))
    more = F.when(is_row, made - F.col("there")).otherwise(F.lit(0))
    there = is_row & (F.col("there") > 0)
    hashed = F.sha2(F.concat(F.col("text"), F.concat(F.lit("#"), F.col("there").cast("string")).cast("binary")), 256)
    lanes = [F.conv(F.substring(hashed, 1 + _DIGITS * lane, _DIGITS), 16, 10).cast("bigint") for lane in range(_LANES)]
    halves = [(F.shiftright(lane, _HALF), lane.bitwiseAND((1 << _HALF) - 1)) for lane in lanes]
    return [
        F.sum("made").alias("read_made"),
        F.sum("there").alias("read_there"),
        F.sum(F.when(there, 1).otherwise(0)).alias("distinct_there"),
        F.sum(F.greatest(-more, F.lit(0))).alias("missing"),
        F.sum(F.greatest(more, F.lit(0))).alias("extra"),
        *(
            F.sum(F.when(there, half)).alias(f"lane{number}{name}")
            for number, both in enumerate(halves)
            for name, half in zip(("high", "low"), both, strict=True)
        ),
    ]


def _tally(values: dict[str, int]) -> Tally:
    return Tally(
        read_made=int(values["read_made"]),
        read_there=int(values["read_there"]),
        distinct_there=int(values["distinct_there"]),
        missing=int(values["missing"]),
        extra=int(values["extra"]),
        lanes=tuple(
            (int(values[f"lane{number}high"] or 0) << _HALF) + int(values[f"lane{number}low"] or 0)
            for number in range(_LANES)
        ),
    )
