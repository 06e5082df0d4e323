"""Lakes of damaged files: each beside the undamaged file that it was, in which it would be contained and vice versa."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.mutate_parquet import mutate, pages_of
from tests.support.random_lakes import MORE_VALUES, only_arrow_writes
from tests.support.random_tables import write_duckdb, write_polars, write_pyarrow, write_pyarrow_without_statistics

ORIGINAL = "original"


def write_with_checksums(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=5, write_page_checksum=True, compression="zstd")


def write_uncompressed(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="none", use_dictionary=False)


def write_second_pages(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, data_page_version="2.0", data_page_size=64, write_batch_size=2, write_page_index=True)


ARROW_WRITERS = (
    write_pyarrow, write_pyarrow_without_statistics, write_with_checksums, write_uncompressed, write_second_pages,
)  # fmt: skip
WRITERS: tuple[Callable[[pa.Table, Path], None], ...] = (*ARROW_WRITERS, write_polars, write_duckdb)


def write_fuzzed_lake(folder: Path, seed: int | str, *, files: int, per_original: int) -> None:
    """*files* damaged files, as many as *per_original* from each original, under columns that no other one has."""
    for group in range(-(-files // per_original)):
        here = folder / f"g{group}"
        here.mkdir(parents=True)
        _write_group(here, random.Random(f"{seed} {group}"), group, min(per_original, files - group * per_original))


def _write_group(folder: Path, dice: random.Random, group: int, damaged: int) -> None:
    original = folder / f"{ORIGINAL}.parquet"
    table = _table(dice, group)
    dice.choice(ARROW_WRITERS if only_arrow_writes(table) else WRITERS)(table, original)
    content = original.read_bytes()
    pages = pages_of(content)
    for number in range(damaged):
        changed = mutate(content, pages, dice)
        while changed == content:
            changed = mutate(content, pages, dice)
        (folder / f"m{number}.parquet").write_bytes(changed)


def _table(dice: random.Random, group: int) -> pa.Table:
    types = dice.sample(list(MORE_VALUES), dice.randint(1, 5))
    rows = dice.choice([1, 4, 12, 40])
    columns = {}
    for number, kind in enumerate(types):
        values = [None if dice.random() < 0.2 else dice.choice(MORE_VALUES[kind]) for _ in range(rows)]
        columns[f"c{number}.{group}"] = pa.array(values, kind)
    return pa.table(columns)
