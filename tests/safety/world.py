"""A small lake, a plan for it, and the question that matters: is every row of every table still to be had?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from r2d2.safety.apply import Applied, Approval, apply
from r2d2.safety.doctor import BAD, doctor
from r2d2.safety.drill import Drill, drill
from r2d2.safety.guards import LakeSize
from r2d2.safety.locked_lake import Clock, Lake
from r2d2.safety.paths import WORK
from r2d2.safety.plan import VERSION, Entry, Plan, recipe_digest, seal
from r2d2.safety.posix import PosixFiles
from r2d2.safety.purge import Purge, purge
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.recovery import open_lake
from r2d2.safety.registry import State
from r2d2.safety.restore import Restore, restore
from r2d2.safety.snapshots import placed, see_table
from tests.safety.memory import Change, MemoryFiles, Node
from tests.safety.rebuilders import Rebuilder, Rows, content_of

SIZE = LakeSize(tables=6, size_bytes=10**6)
MONTH = 31 * 24 * 3600.0

SCHEMA = ("id", "name", "n")
BIG = [(number, f"x{number % 3}", None if number % 4 == 0 else number) for number in range(12)] + [(3, "x0", 3)] * 2
OTHER = [(number, "é", number) for number in range(4)] + [(0, "é", 0)]

# location → (recipe, parent); the rows follow from these
CHILDREN: dict[str, tuple[dict[str, Any], str]] = {
    "a/small": ({"columns": ["id", "name", "n"], "modulus": 3, "rest": 0}, "big"),
    "flat.rows": ({"columns": ["name", "n"], "modulus": 1, "rest": 0}, "big"),
    "b/copy": ({"columns": ["id", "name", "n"], "modulus": 1, "rest": 0}, "other"),
}


@dataclass
class World:
    """A lake and what was in it at first."""

    files: Any
    rebuilder: Rebuilder
    plan: Plan
    original: dict[str, Rows]
    start: float  # the time of the plan
    later: float = 0.0

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.start + self.later, tick=time.monotonic)

    @contextmanager
    def lake(self, files: Any = None) -> Any:
        with open_lake(files or self.files, self.clock) as (lake, _):
            yield lake

    def apply(
        self, files: Any = None, *, plan: Plan | None = None, approval: Approval | None = None
    ) -> tuple[Applied, ...]:
        plan = plan or self.plan
        approval = approval or Approval("Ann", typed=len(plan.entries))
        with self.lake(files) as lake:
            return apply(lake, plan, rebuilder=self.rebuilder, approval=approval, count_lake=lambda: SIZE)

    def drill(self, files: Any = None) -> tuple[Drill, ...]:
        with self.lake(files) as lake:
            return drill(lake, rebuilder=self.rebuilder)

    def purge(self, files: Any = None) -> tuple[Purge, ...]:
        self.later += MONTH
        with self.lake(files) as lake:
            return purge(lake)

    def restore(self, files: Any = None, *, tables: Iterable[str] | None = None, to: Any = None) -> tuple[Restore, ...]:
        with self.lake(files) as lake:
            return restore(lake, rebuilder=self.rebuilder, tables=tables, to=to)

    def recover(self, files: Any = None) -> None:
        with self.lake(files):
            pass

    def rows_at(self, location: str) -> Rows:
        seen = see_table(self.files, location, location)
        return self.rebuilder.rows(placed(self.files, seen, location))

    def make_plan(self, plan_id: str, children: Iterable[str] = tuple(CHILDREN), **changes: Any) -> Plan:
        return make_plan(self.files, self.rebuilder, plan_id, children, **changes)

    def fork(self) -> World:
        """The same again, in memory."""
        assert isinstance(self.files, MemoryFiles)
        files = clone(self.files)
        return replace(self, files=files, rebuilder=Rebuilder(files))

    def with_files(self, files: MemoryFiles) -> World:
        return replace(self, files=files, rebuilder=Rebuilder(files))


def clone(files: MemoryFiles) -> MemoryFiles:
    made = MemoryFiles(files.root)
    made.nodes = {
        inode: Node(
            inode, node.kind, node.content, dict(node.entries), node.modified_ns, node.changed_ns,
            node.durable, list(node.versions), dict(node.durable_entries),
        )
        for inode, node in files.nodes.items()
    }  # fmt: skip
    made.changes = [Change(change.steps, set(change.waits_for)) for change in files.changes]
    made.ticks, made.next_inode = files.ticks, files.next_inode
    return made


def contents(rebuilder: Rebuilder) -> dict[str, bytes]:
    """The files of the lake."""
    encode = rebuilder.encode
    files = {
        "big/part-0.rows": encode(SCHEMA, BIG[:5]),
        "big/part-1.rows": encode(SCHEMA, BIG[5:]),
        "big/_SUCCESS": b"",
        "other/part-0.rows": encode(SCHEMA, OTHER),
        "untouched/part-0.rows": encode(SCHEMA, [(99, "z", 1)]),
    }
    small = [row for row in BIG if row[0] % 3 == 0]
    files["a/small/part-0.rows"] = encode(SCHEMA, small[:2])
    files["a/small/day=1/part-1.rows"] = encode(SCHEMA, small[2:])
    files["a/small/_SUCCESS"] = b""
    files["flat.rows"] = encode(SCHEMA[1:], [row[1:] for row in BIG])
    files["b/copy/part-0.rows"] = encode(SCHEMA, OTHER[::-1])
    return files


TABLES = ("big", "other", "untouched", *CHILDREN)


def make_plan(files: Any, rebuilder: Rebuilder, plan_id: str, children: Iterable[str], **changes: Any) -> Plan:
    entries = []
    for location in children:
        recipe, parent = CHILDREN[location]
        child, above = _see(files, location), _see(files, parent)
        expected = content_of(rebuilder.rows(placed(files, child, location)))
        entries.append(Entry(child, (above,), recipe, recipe_digest(recipe), expected))
    plan = Plan(VERSION, plan_id, "2026-11-16T00:00:00Z", files.root, SIZE.tables, SIZE.size_bytes, tuple(entries), "")
    return seal(replace(plan, **changes))


def _see(files: Any, location: str) -> Any:
    return see_table(files, location, location)


def memory_world(children: Iterable[str] = tuple(CHILDREN)) -> World:
    files = MemoryFiles()
    rebuilder = Rebuilder(files)
    for path, content in contents(rebuilder).items():
        files.put(path, content)
    files.all_durable()
    return _world(files, rebuilder, 10**6, children)


_PARQUET: dict[str, bytes] = {}


def posix_world(folder: Any, children: Iterable[str] = tuple(CHILDREN), **options: Any) -> World:
    """Real Parquet files on the real file system."""
    rebuilder = Rebuilder(parquet=True)
    if not _PARQUET:
        _PARQUET.update(contents(rebuilder))
    for path, content in _PARQUET.items():
        at = os.path.join(folder, path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        with open(at, "wb") as file:
            file.write(content)
    return _world(PosixFiles(str(folder), **options), rebuilder, time.time() + 10_000, children)


def _world(files: Any, rebuilder: Rebuilder, start: float, children: Iterable[str]) -> World:
    plan = make_plan(files, rebuilder, "plan-1", children)
    world = World(files, rebuilder, plan, {}, start)
    world.original = {location: world.rows_at(location) for location in TABLES}
    return world


def where_is(world: World, lake: Lake, location: str) -> str:
    """Where every row of a table is: in the lake, in quarantine, or in its unchanged parent. Else it is lost."""
    files, original = world.files, world.original[location]
    if files.stat(location) is not None and world.rows_at(location) == original:
        return "lake"
    for slot in lake.registry.active:
        if slot.entry.child.location == location:
            aside = in_quarantine(slot.slot)
            if slot.state is State.QUARANTINED:
                assert world.rebuilder.rows(placed(files, slot.entry.child, aside)) == original
                return "quarantine"
            if slot.state is State.PURGED:
                from tests.safety.rebuilders import run

                parents = [placed(files, parent, parent.location) for parent in slot.entry.parents]
                assert run(slot.entry.recipe, world.rebuilder.rows_of(parents)) == original
                return "recipe"
    raise AssertionError(f"{location} is lost")


def check_recovered(world: World) -> dict[str, str]:
    """Recover; every table must be somewhere, nothing half-way, nothing bad, nothing left over, and all restorable."""
    with world.lake() as lake:
        where = {location: where_is(world, lake, location) for location in TABLES}
        assert all(where[location] == "lake" for location in ("big", "other", "untouched"))
        settled = (State.UNDONE, State.QUARANTINED, State.PURGED, State.RESTORED)
        assert all(slot.state in settled for slot in lake.registry.slots.values())
        assert world.files.names(WORK) == []
    assert not [finding for finding in doctor(world.files) if finding.severity == BAD]
    return where


def check_all_comes_back(world: World) -> dict[str, str]:
    """The same, and then everything is restored and compared with what it was."""
    where = check_recovered(world)
    for restored in world.restore():
        assert restored.is_restored, restored.because
    for location, rows in world.original.items():
        assert world.rows_at(location) == rows
    return where


Step = Callable[[World, Any], Any]


def _copy_all(world: World, files: Any) -> Any:
    to = MemoryFiles("/elsewhere") if isinstance(world.files, MemoryFiles) else None
    if to is None:
        folder = os.path.join(world.files.root, "..", "elsewhere")
        os.makedirs(folder, exist_ok=True)
        to = PosixFiles(folder)
    world.rebuilder.layers.update({to.root: to} if isinstance(to, MemoryFiles) else {})
    return world.restore(files, to=to)


@dataclass(frozen=True)
class Scenario:
    """What happened before, what is being done, and where the tables may be afterwards."""

    name: str
    before: tuple[str, ...]
    act: str
    allowed: frozenset[str] = field(default_factory=frozenset)

    def prepare(self, world: World) -> World:
        for step in self.before:
            STEPS[step](world, None)
        return world

    def run(self, world: World, files: Any) -> Any:
        return STEPS[self.act](world, files)


STEPS: dict[str, Step] = {
    "apply": lambda world, files: world.apply(files),
    "drill": lambda world, files: world.drill(files),
    "purge": lambda world, files: world.purge(files),
    "restore": lambda world, files: world.restore(files),
    "copy": _copy_all,
    "recover": lambda world, files: world.recover(files),
}
SCENARIOS = (
    Scenario("apply", (), "apply", frozenset(("lake", "quarantine"))),
    Scenario("drill", ("apply",), "drill", frozenset(("quarantine",))),
    Scenario("purge", ("apply", "drill"), "purge", frozenset(("quarantine", "recipe"))),
    Scenario("drill of purged", ("apply", "drill", "purge"), "drill", frozenset(("recipe",))),
    Scenario("restore from quarantine", ("apply",), "restore", frozenset(("lake", "quarantine"))),
    Scenario("restore by recipe", ("apply", "drill", "purge"), "restore", frozenset(("lake", "recipe"))),
    Scenario("copy from quarantine", ("apply",), "copy", frozenset(("quarantine",))),
    Scenario("copy by recipe", ("apply", "drill", "purge"), "copy", frozenset(("recipe",))),
)
