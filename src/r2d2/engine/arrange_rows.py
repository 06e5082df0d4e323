"""Rows that a recipe makes, put in order for those who write them; and what writers leave behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from r2d2.engine.canonical_text import row_text
from r2d2.engine.follow_recipe import Made
from r2d2.engine.instructions import Instructions
from r2d2.engine.read_exactly import spark_errors
from r2d2.engine.row_texts import output_columns
from r2d2.engine.tally_rows import BYTES_PER_TASK
from r2d2.engine.write_exactly import Form, folder_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def kept_rows(made: Made, given: Instructions) -> DataFrame:
    """The child's columns, o0 …, and its partition columns as text, q0 …; each row once if the recipe says so."""
    with spark_errors():
        columns = [column.alias(f"o{place}") for place, (column, _) in enumerate(made.columns)]
        partitions = [column.alias(f"q{place}") for place, column in enumerate(made.partitions)]
        text = [row_text(output_columns(made)).alias("text")] if given.recipe.distinct else []
        rows = made.frame.filter(made.keep).select(*columns, *partitions, *text)
        return rows.dropDuplicates(["text"]).drop("text") if text else rows


def arranged(rows: DataFrame, form: Form, *, one_file: bool, size_bytes: int) -> DataFrame:
    """The rows with the number of their folder in the last column, rows of a folder together."""
    from pyspark.sql import functions as F

    tasks = 1 if one_file else size_bytes // BYTES_PER_TASK + 1
    if not form.partitions:
        return rows.withColumn("folder", F.lit(0)).coalesce(tasks)
    names = [f"q{place}" for place in range(len(form.partitions))]
    pairs = [(*(value for _, value in raw), number) for raw, number in folder_numbers(form).items()]
    schema = ", ".join(f"f{place} string" for place in range(len(names))) + ", folder int"
    folders = F.broadcast(rows.sparkSession.createDataFrame(pairs, schema))
    same = [rows[name].eqNullSafe(folders[f"f{place}"]) for place, name in enumerate(names)]
    joined = rows.join(folders, same, "left").drop(*names, *(f"f{place}" for place in range(len(names))))
    missing = F.coalesce(F.col("folder"), F.lit(-1))
    spread = joined.withColumn("folder", missing)
    spread = spread.coalesce(1) if tasks == 1 else spread.repartition(tasks, "folder")
    return spread.sortWithinPartitions("folder")


def remove_leftovers(into: str, written: set[str]) -> None:
    """Files of tasks that were tried again: in a folder that is ours alone, all that no task named."""
    for folder, _, names in os.walk(into):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, into) not in written:
                os.unlink(path)
