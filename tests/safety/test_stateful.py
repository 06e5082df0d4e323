"""Any order of applying, writing, drilling, purging, restoring, deleting and crashing: restore is exact or refused."""

from __future__ import annotations

import os
import random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from r2d2.errors import R2D2Error
from r2d2.safety.doctor import doctor
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.registry import State
from r2d2.safety.snapshots import below, placed
from r2d2.safety.status import status
from tests.safety.hooked import Killed, kill_at
from tests.safety.memory import MemoryFiles
from tests.safety.rebuilders import content_of
from tests.safety.world import CHILDREN, TABLES, World, memory_world

RUNS = int(os.environ.get("SAFETY_STORIES", 25))
PARENTS = ("big", "other")

crashes = st.one_of(st.none(), st.none(), st.integers(1, 200))
children = st.sampled_from(sorted(CHILDREN))


class Stories(RuleBasedStateMachine):
    """The model is small: what each table held when it was last seen in the lake."""

    @initialize()
    def begin(self) -> None:
        self.world: World = memory_world()
        self.rows = dict(self.world.original)
        self.gone: set[str] = set()  # deleted by the user, for good
        self.plans = 0
        self.chance = random.Random(0)

    # --- commands, perhaps killed, perhaps with the power gone

    def command(self, run: Any, crash: int | None, power: bool) -> Any:
        files = self.world.files if crash is None else kill_at(self.world.files, crash, torn=0.5)
        result = None
        try:
            result = run(files)
        except Killed:
            if power:
                *_, left = self.world.files.survivors(self.chance, 3)
                self.world = self.world.with_files(left)
        except R2D2Error:
            pass
        self.world.recover()
        return result

    @rule(names=st.sets(children, min_size=1), crash=crashes, power=st.booleans())
    def apply(self, names: set[str], crash: int | None, power: bool) -> None:
        present = [name for name in sorted(names) if self.in_lake(name) and self.in_lake(CHILDREN[name][1])]
        if present:
            self.plans += 1
            plan = self.world.make_plan(f"story-{self.plans}", present, lake_tables=100)
            self.command(lambda files: self.world.apply(files, plan=plan), crash, power)

    @rule(crash=crashes, power=st.booleans())
    def drill(self, crash: int | None, power: bool) -> None:
        self.command(lambda files: self.world.drill(files), crash, power)

    @rule(crash=crashes, power=st.booleans())
    def purge(self, crash: int | None, power: bool) -> None:
        self.command(lambda files: self.world.purge(files), crash, power)

    @rule(names=st.one_of(st.none(), st.lists(children, min_size=1, max_size=2)), crash=crashes, power=st.booleans())
    def restore(self, names: list[str] | None, crash: int | None, power: bool) -> None:
        restored = self.command(lambda files: self.world.restore(files, tables=names), crash, power)
        for one in restored or ():
            if one.is_restored:
                assert self.world.rows_at(one.table) == self.rows[one.table]

    @rule(name=children)
    def copy(self, name: str) -> None:
        to = MemoryFiles("/elsewhere")
        self.world.rebuilder.layers["/elsewhere"] = to
        restored = self.command(lambda files: self.world.restore(files, tables=[name], to=to), None, False)
        if restored:
            found = tuple(below(to, name)) if to.stat(name).kind == "folder" else ("",)  # type: ignore[union-attr]
            rows = self.world.rebuilder.rows(_at(to, name, found))
            assert rows == self.rows[name]

    # --- what others do

    @rule(name=st.sampled_from(TABLES), number=st.integers(0, 30))
    def append(self, name: str, number: int) -> None:
        """A writer adds a row to a file, in place."""
        if self.in_lake(name):
            path = sorted(path for path in self.paths(name) if not path.endswith("_SUCCESS"))[0]
            width = len(self.rows[name][0])
            self.world.files.append(path, f'[{number}, "new", {number}]\n'.encode() if width == 3 else b'["new", 1]\n')
            self.written(name)

    @rule(name=st.sampled_from(["big", "other", "a/small", "b/copy"]))
    def add_file(self, name: str) -> None:
        """A writer adds a file, as most do."""
        if self.in_lake(name) and self.world.files.stat(f"{name}/part-7.rows") is None:
            self.world.files.put(f"{name}/part-7.rows", b'["id", "name", "n"]\n[700, "more", 7]\n')
            self.written(name)

    @rule(name=st.sampled_from(TABLES))
    def delete(self, name: str) -> None:
        """A user deletes a table by hand, for good."""
        if self.in_lake(name) and name in PARENTS and len(self.gone) < 2:
            for path in self.paths(name):
                self.world.files.unlink(path)
            self.gone.add(name)
            self.world.files.all_durable()

    @rule(name=children, occupied=st.booleans())
    def occupy(self, name: str, occupied: bool) -> None:
        """Somebody puts something at the place of a deleted table, or takes it away again."""
        marker = f"{name}/somebody-s"
        if self.world.files.stat(name) is None and occupied:
            self.world.files.put(marker, b"")
        elif self.world.files.stat(marker) is not None and not occupied:
            self.world.files.unlink(marker)
            self.world.files.remove_folder(name)
        self.world.files.all_durable()
        self.world.recover()

    # --- what must hold at all times

    @invariant()
    def every_row_is_somewhere(self) -> None:
        with self.world.lake() as lake:
            slots = {slot.entry.child.location: slot for slot in lake.registry.active}
        for name in set(TABLES) - self.gone:
            if self.in_lake(name):
                assert self.world.rows_at(name) == self.rows[name], name
                continue
            slot = slots[name]
            if slot.state in (State.QUARANTINED, State.MOVING):
                there = placed(self.world.files, slot.entry.child, in_quarantine(slot.slot))
                assert self.world.rebuilder.rows(there) == self.rows[name], name
            else:
                assert slot.state is State.PURGED and any(not drill.because for drill in slot.drills)
                assert slot.entry.expected == content_of(self.rows[name])

    @invariant()
    def nothing_pinned_was_deleted_by_us(self) -> None:
        with self.world.lake() as lake:
            active = lake.registry.active
        pinned = {parent.location for slot in active for parent in slot.entry.parents}
        assert not pinned & {slot.entry.child.location for slot in active}
        assert all(finding.because for finding in doctor(self.world.files))
        assert len(status(self.world.files).pins) == len(pinned)

    # --- helpers

    def in_lake(self, name: str) -> bool:
        files = self.world.files
        return name not in self.gone and files.stat(name) is not None and files.stat(f"{name}/somebody-s") is None

    def paths(self, name: str) -> list[str]:
        if self.world.files.stat(name).kind == "file":  # type: ignore[union-attr]
            return [name]
        return [f"{name}/{path}" for path in below(self.world.files, name) if not path.endswith("/")]

    def written(self, name: str) -> None:
        self.world.files.all_durable()
        self.rows[name] = self.world.rows_at(name)


def _at(files: MemoryFiles, name: str, paths: tuple[str, ...]) -> Any:
    from r2d2.model.rebuild import Placed

    return Placed(f"{files.root}/{name}", tuple(path for path in paths if not path.endswith("_SUCCESS")))


TestStories = Stories.TestCase
TestStories.settings = settings(
    max_examples=RUNS,
    stateful_step_count=20,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
