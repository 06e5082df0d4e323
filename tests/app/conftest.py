"""A small scanned lake on disk, with or without a deleted table; no Spark is needed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.safety import locked_lake
from r2d2.safety.locked_lake import hold, posix_files
from r2d2.safety.paths import slot_of
from r2d2.safety.plan import Content, Entry, recipe_digest
from r2d2.safety.posix import PosixFiles
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.records import Committed, MoveIntended, PlanStarted
from r2d2.safety.snapshots import see_table
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from tests.support.in_process import Reader

LONG_AGO_NS = 1_600_000_000_123_456_789
PLAN = "20260101T000000Z-000000000000"


@dataclass(frozen=True)
class SmallLake:
    """all.parquet holds part.parquet; other.parquet stands alone."""

    path: Path
    settings: Settings

    def write(self, name: str, ids: range, **more: list[int]) -> Path:
        path = self.path / name
        pq.write_table(pa.table({"id": list(ids), **more}), path)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS + len(ids)))
        return path

    def save_scan(self, *roots: Path) -> None:
        """Scan without Spark, and keep the result."""
        store = StateStore(self.settings.state)
        with store.locked():
            scan = Reader().scan(str(self.path), self.settings)
            store.save(replace(scan, roots=tuple(map(str, roots)) or scan.roots), keep=3)

    def delete(self, name: str, parent: str) -> None:
        """Move a table to quarantine, as a plan that was applied does."""
        with posix_files(str(self.path)) as files, hold(files) as lake:
            child, holder = (see_table(files, table, table) for table in (name, parent))
            content = Content(5, 5, "0" * 64)
            entry = Entry(child, (holder,), {"origin": "inferred"}, recipe_digest({"origin": "inferred"}), content)
            slot = slot_of(PLAN, name)
            lake.write(PlanStarted(PLAN, "0" * 64, "Ann", 1, lake.now()))
            lake.write(MoveIntended(slot, PLAN, entry, lake.now()))
            files.move(name, in_quarantine(slot))
            lake.write(Committed(slot, content, 0.5, lake.now()))


@pytest.fixture
def small(tmp_path: Path) -> SmallLake:
    """The lake, scanned."""
    made = SmallLake(tmp_path / "lake", Settings(state=str(tmp_path / "state")))
    made.path.mkdir()
    made.write("all.parquet", range(20))
    made.write("part.parquet", range(3, 8))
    made.write("other.parquet", range(2), z=[1, 2])
    made.save_scan()
    return made


@pytest.fixture
def deleted(small: SmallLake) -> SmallLake:
    """The lake, scanned, and then without part.parquet."""
    small.delete("part.parquet", parent="all.parquet")
    return small


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The roots of lakes, each as often as it was opened."""
    roots: list[str] = []
    real: Callable[..., None] = PosixFiles.__init__

    def counting(self: PosixFiles, root: str, **other: object) -> None:
        roots.append(root)
        real(self, root, **other)

    monkeypatch.setattr(locked_lake.PosixFiles, "__init__", counting)
    return roots
