"""Files of a folder that schemas take apart are read once: what was read of them as one table is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.app.lake_tools import discover_tables, lake_tools
from r2d2.engine.spark.session import LazySession
from r2d2.model.progress import silent
from r2d2.model.table import Discovery, Profiled
from r2d2.settings import Settings
from r2d2.steps.settle_tables import settle_tables

FILES = 600  # more than one piece of work


def settle(lake: Path, *, before: Callable[[], None], after: Callable[[], None]) -> Profiled:
    """Profile a lake without Spark; do something before and after it is listed again."""
    tools = lake_tools(LazySession(Settings()), bytes(32), at_hand=10_000)

    def discover_again(apart: Collection[str]) -> Discovery:
        before()
        found = discover_tables([str(lake)], Settings(), silent, apart=apart)
        after()
        return found

    return settle_tables(
        discover_tables([str(lake)], Settings(), silent),
        profile=lambda tables: tools.profile(tables, Settings(), silent),
        discover_again=discover_again,
        known=lambda tables: {},
    )[1]


def write_lake(folder: Path) -> list[Path]:
    folder.mkdir()
    paths = [folder / f"{number:04}.parquet" for number in range(FILES)]
    for number, path in enumerate(paths):
        pq.write_table(pa.table({f"c{number % 5}": [number]}), path)
    return paths


def test_a_file_that_was_read_as_a_part_is_not_read_again_as_a_table(tmp_path: Path) -> None:
    paths = write_lake(tmp_path / "t")

    def spoil() -> None:
        for path in paths:
            path.write_bytes(b"PAR1 and no more")

    profiled = settle(tmp_path, before=lambda: None, after=spoil)
    assert not profiled.problems
    assert [profile.stats[0].low for profile in profiled.profiles] == list(range(FILES))


def test_a_file_that_changed_meanwhile_is_read_again(tmp_path: Path) -> None:
    paths = write_lake(tmp_path / "t")

    def change() -> None:
        pq.write_table(pa.table({"c3": [-1, -2]}), paths[3])
        os.utime(paths[3], ns=(1, 1))

    profiled = settle(tmp_path, before=change, after=lambda: None)
    assert [profile.rows for profile in profiled.profiles] == [1, 1, 1, 2] + [1] * (FILES - 4)
    assert profiled.profiles[3].stats[0].low == -2
