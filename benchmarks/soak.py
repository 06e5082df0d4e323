"""`make torture-soak`: thousands of small tables planned, deleted, drilled, purged, restored and compared again.

`python -m benchmarks.soak 200` takes so many tables. What is asked: is every restored table exactly what it was, and
do time for each table and memory stay level from the first to the last?
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.processes import cpu_seconds, memory_mb
from benchmarks.results import save
from r2d2.app.apply import apply_plan
from r2d2.app.doctor import doctor_lake
from r2d2.app.drill import drill_tables
from r2d2.app.plan import make_plan
from r2d2.app.purge import purge_tables
from r2d2.app.restore import restore_tables
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.engine.spark.session import open_session
from r2d2.model.progress import News, Progress
from r2d2.safety.apply import Approval
from r2d2.safety.doctor import BAD
from r2d2.settings import Settings

TABLES = 10_000
CHILDREN = 24  # of each parent
ROWS = 400
_READINGS = ("counting rows with a second reader", "comparing values", "rebuilding")  # what takes the time


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    with tempfile.TemporaryDirectory(prefix="r2d2-soak-") as folder:
        rows = list(soak(Path(folder), tables))
    save("soak" if tables == TABLES else f"soak-{tables}", rows, tables=tables)


def soak(folder: Path, tables: int) -> Iterator[dict[str, Any]]:
    """Each stage with its time and memory; stops at the first table that is not what it was."""
    lake, settings = folder / "lake", _settings(folder)
    children = write_lake(lake, tables)
    before = {child: content(lake / child) for child in children}
    with open_session(settings, works=True) as spark:
        stages = _Stages(tables)
        yield stages.run("scan", lambda told: scan_lake(Workspace(settings, spark=spark), [str(lake)]))
        out = str(folder / "plan.json")
        drafts: list[Any] = []
        yield stages.run(
            "plan", lambda told: drafts.append(make_plan(Workspace(settings, spark=spark, progress=told), out=out)[1])
        )
        plan = drafts[0].plan
        assert not drafts[0].left_out, drafts[0].left_out[:3]
        assert {entry.child.name for entry in plan.entries} == set(children), len(plan.entries)
        approval = Approval("soak", typed=len(children))

        def apply(told: Progress) -> None:
            _, done = apply_plan(Workspace(settings, spark=spark, progress=told), plan, approval=approval)
            assert all(one.is_deleted for one in done), [one for one in done if not one.is_deleted][:3]

        yield stages.run("apply", apply)
        assert not any((lake / child).exists() for child in children)
        yield stages.run(
            "drill",
            lambda told: _all_exact(
                drill_tables(Workspace(settings, lake=str(lake), spark=spark, progress=told), ())[1]
            ),
        )
        yield stages.run("purge", lambda told: _all_purged(purge_tables(Workspace(settings, lake=str(lake)))[1]))
        yield stages.run(
            "restore",
            lambda told: _all_back(
                restore_tables(Workspace(settings, lake=str(lake), spark=spark, progress=told), None)[1]
            ),
        )
        yield stages.run("doctor", lambda told: _healthy(str(lake)))
    wrong = [child for child in children if content(lake / child) != before[child]]
    assert not wrong, f"{len(wrong)} tables are not what they were, such as {wrong[:3]}"
    print(f"{len(children):,} of {tables:,} tables deleted and restored: rows and schemas are what they were")


def write_lake(lake: Path, tables: int) -> list[str]:
    """Parents, and children that are filters and projections of them; the children's names."""
    draw, children = np.random.default_rng(1), []
    for number in range(tables):
        family, place = divmod(number, CHILDREN + 1)
        if place == 0:
            parent = _parent(draw, family)
            _write(parent, lake / f"family{family:05d}" / "parent.parquet")
            continue
        first = int(draw.integers(0, ROWS - 50))
        child = parent.slice(first, int(draw.integers(20, 50)))
        columns = parent.column_names if place % 3 else ["id", *sorted(draw.choice(parent.column_names[1:], 2, False))]
        children.append(f"family{family:05d}/child{place:02d}.parquet")
        _write(child.select(columns), lake / children[-1])
    return children


def content(path: Path) -> tuple[Any, list[Any]]:
    """The schema, and the rows in an order of their own. The numbers in `id` are all different."""
    with pq.ParquetFile(path) as file:
        table = file.read()
    return table.schema, table.sort_by("id").to_pylist()


def _parent(draw: Any, family: int) -> pa.Table:
    ids = draw.permutation(ROWS) + family * ROWS
    return pa.table(
        {
            "id": ids,
            "name": [f"name {number}" for number in ids],
            "amount": draw.normal(size=ROWS),
            "small": pa.array(ids % 200, pa.uint8()),
            "at": pa.array(ids * 10**9, pa.timestamp("ns")),
            "tags": [[str(number % 3)] * (number % 4) for number in ids],
        }
    )


def _write(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def _settings(folder: Path) -> Settings:
    return Settings(
        state=str(folder / "state"),
        accesses_per_week=0,
        min_age=0,
        quiet_period=0,
        retention=0,
        class_archive=False,
        driver_memory="2g",
    )


class _Sample(NamedTuple):
    """How far a stage was at some time, and the memory of each kind of process then."""

    at: float
    done: int
    mb: dict[str, int]


class _Stages:
    """Times the stages, and samples memory as they tell how far they are."""

    def __init__(self, tables: int) -> None:
        self._tables = tables

    def run(self, stage: str, work: Callable[[Progress], object]) -> dict[str, Any]:
        """One stage."""
        samples: list[_Sample] = []

        def told(news: News) -> None:
            if news.step in _READINGS and (not samples or news.done - samples[-1].done >= max(1, self._tables // 20)):
                samples.append(_Sample(time.perf_counter(), news.done, memory_mb(os.getpid())))

        begun, cpu = time.perf_counter(), cpu_seconds(os.getpid())
        work(told)
        seconds, cpu = time.perf_counter() - begun, cpu_seconds(os.getpid()) - cpu
        row = {
            "stage": stage,
            "seconds": seconds,
            "ms a table": 1000 * seconds / self._tables,
            "CPU ms a table": 1000 * cpu / self._tables,  # the same however busy the machine is
            **{f"MB after, {kind}": megabytes for kind, megabytes in sorted(memory_mb(os.getpid()).items())},
            **_slope(samples),
        }
        print(f"soak: {stage} took {seconds:.1f} s, {cpu:.1f} s of processor time", file=sys.stderr, flush=True)
        return row


def _slope(samples: list[_Sample]) -> dict[str, float]:
    """How time for a table and memory changed between the first and the second half of a stage."""
    if len(samples) < 6:
        return {}
    half = len(samples) // 2
    first, second = samples[1 : half + 1], samples[half:]

    def pace(some: list[_Sample]) -> float:
        return (some[-1].at - some[0].at) / max(1, some[-1].done - some[0].done)

    tables = max(1, second[-1].done - second[0].done)
    grown = {kind: (mb - second[0].mb.get(kind, 0)) / tables for kind, mb in sorted(second[-1].mb.items())}
    return {
        "second half over first": pace(second) / max(1e-9, pace(first)),
        **{f"kB grown a table, {kind}": 1000 * megabytes for kind, megabytes in grown.items()},
    }


def _all_exact(done: Any) -> None:
    assert all(one.is_exact for one in done), [one for one in done if not one.is_exact][:3]


def _all_purged(done: Any) -> None:
    assert all(one.is_purged for one in done), [one for one in done if not one.is_purged][:3]


def _all_back(done: Any) -> None:
    assert all(one.is_restored and one.by == "recipe" for one in done), [one for one in done if not one.is_restored][:3]


def _healthy(lake: str) -> None:
    _, found = doctor_lake(Workspace(Settings(), lake=lake), deep=True)
    assert not any(one.severity == BAD for one in found), found[:3]


if __name__ == "__main__":
    main()
