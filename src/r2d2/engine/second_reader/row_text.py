"""Rows as texts, with a count for the side that they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from r2d2.engine.second_reader.canonical_text import row_text
from r2d2.engine.second_reader.read import Read, spark_errors
from r2d2.engine.second_reader.recipe import Made

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from r2d2.engine.second_reader.types import Node


def row_texts(read: Read) -> DataFrame:
    """The text of every row that is read."""
    with spark_errors():
        return read.frame.select(row_text(read.row).alias("text"))


def made_texts(made: Made) -> DataFrame:
    """The texts of the rows that a recipe keeps, NULL for all others, so that every row read is counted."""
    from pyspark.sql import functions as F

    with spark_errors():
        return made.frame.select(F.when(made.keep, row_text(output_columns(made))).alias("text"))


def output_columns(made: Made) -> list[tuple[Column, Node]]:
    """The output columns of a recipe, partition columns last."""
    from r2d2.engine.second_reader.types import Leaf

    return [*made.columns, *((column, Leaf("string")) for column in made.partitions)]


def counts(texts: DataFrame, *, made: bool) -> DataFrame:
    """Each text with a count of one, on the side `made` or `there`."""
    from pyspark.sql import functions as F

    one, none = F.lit(1).cast("bigint"), F.lit(0).cast("bigint")
    return texts.select("text", (one if made else none).alias("made"), (none if made else one).alias("there"))


def both_counts(made: DataFrame, there: DataFrame) -> DataFrame:
    """The texts of both sides with their counts, in one frame."""
    return counts(made, made=True).unionAll(counts(there, made=False))
