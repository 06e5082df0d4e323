"""Lakes that change while tables of them are deleted, drilled, purged and restored: restore is exact or refused.

The stories lie side by side in one lake, so that each command runs once for all of them.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from r2d2.app.apply import apply_plan
from r2d2.app.drill import drill_tables
from r2d2.app.plan import make_plan
from r2d2.app.purge import purge_tables
from r2d2.app.restore import restore_tables
from r2d2.app.scan import scan_lake
from r2d2.app.update import update_lake
from r2d2.app.workspace import Workspace
from r2d2.model.scan import Scan
from r2d2.safety.apply import Approval
from r2d2.safety.doctor import BAD, doctor
from r2d2.safety.locked_lake import posix_files
from r2d2.settings import Settings
from r2d2.steps.leave_out_absent import leave_out_absent
from r2d2.synthetic.oracle.canonical import canonical_values
from tests.support.random_changes import ChangingLake
from tests.test_updates import assert_founded, assert_same

STORIES = int(os.environ.get("TORTURE_DELETIONS", 20))  # `make torture-deletions` sets it
ROUNDS = 2
Content = tuple[frozenset[str], Counter[Any]]


def content_of(table: Path) -> Content:
    """Columns and rows by plain Python: NULL where a file lacks a column, and folders' values as text."""
    names: set[str] = set()
    rows: Counter[Any] = Counter()
    for file in sorted(table.rglob("*.parquet")):
        with pq.ParquetFile(file) as opened:
            part = opened.read()
        columns = [canonical_values(part.column(name).combine_chunks()) for name in part.column_names]
        names.update(part.column_names)
        folders = file.relative_to(table).parts[:-1]
        for row in zip(*columns, strict=True):
            values = zip(part.column_names, row, strict=True)
            rows[folders, frozenset((name, value) for name, value in values if value is not None)] += 1
    return frozenset(names), rows


class Stories:
    """All of them: the lake, its state, and what each table held when it was deleted."""

    def __init__(self, folder: Path, spark: Any, seed: int = 0) -> None:
        self.root, self.spark, self.rng = folder / "lake", spark, random.Random(seed)
        self.settings = Settings(
            state=str(folder / "state"), accesses_per_week=0, min_age=0, quiet_period=0, retention=0
        )
        self.lakes = []
        for number in range(STORIES):
            (self.root / f"s{number}").mkdir(parents=True)
            self.lakes.append(ChangingLake(self.root / f"s{number}", random.Random(number), seed=number))
        self.deleted: dict[str, Content] = {}
        self.plans = 0
        self.seen: Counter[str] = Counter()
        scan_lake(Workspace(self.settings, spark=spark), [str(self.root)])

    def change(self, share: float) -> None:
        for lake in self.lakes:
            if self.rng.random() < share:
                lake.change()

    def occupy(self) -> None:
        """Somebody puts something at the places of a few deleted tables."""
        for name in sorted(self.deleted):
            if self.rng.random() < 0.1 and not (self.root / name).exists():
                (self.root / name).mkdir(parents=True)
                pq.write_table(pa.table({"other": [1]}), self.root / name / "part-0.parquet")
        for lake in self.lakes:
            lake._stamp()

    def update(self) -> Scan:
        updated = update_lake(Workspace(self.settings, spark=self.spark)).scan
        assert set(updated.absent) <= set(self.deleted)
        assert_founded(updated)
        self.seen["away"] += len(updated.absent)
        return updated

    def update_and_scan(self) -> None:
        updated = self.update()
        fresh = replace(self.settings, state=f"{self.settings.state}-fresh")
        shutil.rmtree(fresh.state, ignore_errors=True)
        scanned = scan_lake(Workspace(fresh, spark=self.spark), [str(self.root)])
        assert_same(replace(scanned, settings=updated.settings), leave_out_absent(updated))

    def delete(self) -> None:
        """Plan and apply; what is planned was in the lake, and goes whole or not at all."""
        self.plans += 1
        out = f"{self.settings.state}-plan{self.plans}.json"
        _, draft = make_plan(Workspace(self.settings, spark=self.spark), out=out)
        if draft is None or draft.plan is None:
            return
        names = {entry.child.name for entry in draft.plan.entries}
        assert not names & self.deleted.keys() or all((self.root / name).exists() for name in names)
        before = {name: content_of(self.root / name) for name in names}
        approval = Approval("Ann", typed=len(names))
        _, done = apply_plan(Workspace(self.settings, spark=self.spark), draft.plan, approval=approval)
        for one in done:
            if one.is_deleted:
                self.deleted[one.table] = before[one.table]
                self.seen["deleted"] += 1
            else:
                assert one.because and content_of(self.root / one.table) == before[one.table]

    def drill_and_purge(self) -> None:
        drill_tables(Workspace(self.settings, lake=str(self.root), spark=self.spark), [])
        _, done = purge_tables(Workspace(self.settings, lake=str(self.root)))
        self.seen["purged"] += sum(one.is_purged for one in done)

    def restore(self, share: float) -> None:
        """Exact, or refused with the reason."""
        wanted = [name for name in sorted(self.deleted) if self.rng.random() < share]
        there = {name for name in wanted if (self.root / name).exists()}
        if len(wanted) < 2:
            return
        _, done = restore_tables(Workspace(self.settings, lake=str(self.root), spark=self.spark), wanted)
        assert {one.table for one in done} == set(wanted)
        for one in done:
            if one.is_restored:
                assert one.table not in there and content_of(self.root / one.table) == self.deleted.pop(one.table)
                self.seen[one.by] += 1
            else:
                assert one.because and (self.root / one.table).exists() == (one.table in there)
                self.seen["refused"] += 1

    def end(self) -> None:
        """What cannot be had back at the end is what the doctor names, or its place is taken."""
        self.restore(1.0)
        with posix_files(str(self.root)) as files:
            wrong = {one.table for one in doctor(files) if one.severity == BAD}
        assert {name for name in self.deleted if not (self.root / name).exists()} <= wrong


def test_restore_is_exact_or_refused_whatever_happens_to_the_lake(spark: Any, tmp_path: Path) -> None:
    stories = Stories(tmp_path, spark)
    for _ in range(ROUNDS):
        stories.change(0.5)
        stories.update()
        stories.delete()
        stories.change(0.4)
        stories.restore(0.3)
        stories.drill_and_purge()
        stories.change(0.4)
        stories.occupy()
        stories.update_and_scan()
        stories.restore(0.4)
    stories.end()
    stories.update_and_scan()
    for what in ("away", "deleted", "purged", "quarantine", "recipe", "refused"):
        assert stories.seen[what] >= STORIES / 20, (what, stories.seen)
