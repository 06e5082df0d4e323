"""Order the rows of a recipe for the tasks that write them, and remove leftovers of failed tasks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from r2d2.engine.second_reader.canonical_text import row_text
from r2d2.engine.second_reader.instructions import Instructions
from r2d2.engine.second_reader.read import FILE, ROW, spark_errors
from r2d2.engine.second_reader.recipe import Made
from r2d2.engine.second_reader.row_text import output_columns
from r2d2.engine.second_reader.sort_keys import sort_keys
from r2d2.engine.second_reader.tally import BYTES_PER_TASK
from r2d2.engine.second_reader.write import Form, folder_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def kept_rows(made: Made, given: Instructions) -> DataFrame:
    """The rows of a recipe: columns o0 …, partition columns as text q0 …; distinct if the recipe says so.

    Rows with a known place in the parent keep it in the last two columns.
    """
    with spark_errors():
        columns = [column.alias(f"o{place}") for place, (column, _) in enumerate(made.columns)]
        partitions = [column.alias(f"q{place}") for place, column in enumerate(made.partitions)]
        text = [row_text(output_columns(made)).alias("text")] if given.recipe.distinct else []
        place = [name for name in (FILE, ROW) if name in made.frame.columns and not text]
        rows = made.frame.filter(made.keep).select(*columns, *partitions, *text, *place)
        return rows.dropDuplicates(["text"]).drop("text") if text else rows


def arranged(rows: DataFrame, given: Instructions, *, one_file: bool, size_bytes: int) -> DataFrame:
    """The rows with their folder's number in the last column, grouped by folder and in the recipe's order.

    Rows of an earlier task come before those of a later one, so that files in order of their names are sorted.
    """
    from pyspark.sql import functions as F

    tasks = 1 if one_file else size_bytes // BYTES_PER_TASK + 1
    place = [name for name in (FILE, ROW) if name in rows.columns]
    keys = [] if given.recipe.order is None else [*sort_keys(given, lambda n: F.col(f"o{n}")), *map(F.col, place)]
    if given.form.partitions:
        spread = _by_folder(rows, given.form, tasks).sortWithinPartitions("folder", *keys)
    else:
        spread = rows.withColumn("folder", F.lit(0))
        spread = spread.repartitionByRange(tasks, *keys) if keys and tasks > 1 else spread.coalesce(tasks)
        spread = spread.sortWithinPartitions(*keys) if keys else spread
    return spread.drop(*place)


def _by_folder(rows: DataFrame, form: Form, tasks: int) -> DataFrame:
    """The rows with the number of their folder in the last column, rows of a folder in one task."""
    from pyspark.sql import functions as F

    names = [f"q{place}" for place in range(len(form.partitions))]
    pairs = [(*(value for _, value in raw), number) for raw, number in folder_numbers(form).items()]
    schema = ", ".join(f"f{place} string" for place in range(len(names))) + ", folder int"
    folders = F.broadcast(rows.sparkSession.createDataFrame(pairs, schema))
    same = [rows[name].eqNullSafe(folders[f"f{place}"]) for place, name in enumerate(names)]
    joined = rows.join(folders, same, "left").drop(*names, *(f"f{place}" for place in range(len(names))))
    missing = F.coalesce(F.col("folder"), F.lit(-1))
    spread = joined.withColumn("folder", missing)
    return spread.coalesce(1) if tasks == 1 else spread.repartition(tasks, "folder")


def remove_leftovers(into: str, written: set[str]) -> None:
    """Remove files of retried tasks: all files in R2D2's own folder that no task returned."""
    for folder, _, names in os.walk(into):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.relpath(path, into) not in written:
                os.unlink(path)
