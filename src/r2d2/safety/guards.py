"""Guards that check a plan before any table is read from disk, one function each; docs/safety.md lists them all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from r2d2.model.counted import counted
from r2d2.safety.errors import Refused
from r2d2.safety.paths import overlaps
from r2d2.safety.plan import (
    Entry,
    Plan,
    is_bookkeeping,
    refuse_malformed,
    refuse_other_version,
    refuse_unsealed,
)
from r2d2.safety.registry import Registry
from r2d2.safety.snapshots import some

LARGE_SHARE = 0.2  # of the lake's tables or bytes: above it the number of tables must be typed back


@dataclass(frozen=True, slots=True)
class LakeSize:
    """Number of tables and bytes of a whole lake."""

    tables: int
    size_bytes: int


def check_plan(
    plan: Plan,
    registry: Registry,
    *,
    lake_root: str,
    lake_size: LakeSize,
    approved_by: str,
    typed: int | None,
    empty_too: bool,
) -> None:
    """Run all guards that need only the plan, the registry and the current size of the lake."""
    refuse_other_version(plan.version)
    refuse_unsealed(plan)
    refuse_malformed(plan)
    refuse_other_lake(plan, lake_root)
    refuse_used(plan, registry)
    refuse_nameless(approved_by)
    refuse_large(plan, lake_size, typed)
    refuse_overlapping(plan)
    refuse_deleting_parents(plan)
    gone = Places((slot.entry.child.location, slot.entry.child.name) for slot in registry.active)
    pins = Places((parent.location, slot.entry.child.name) for slot in registry.active for parent in slot.entry.parents)
    for entry in plan.entries:
        refuse_same_table(entry)
        refuse_deleted_parent(entry, gone)
        refuse_pinned_child(entry, pins)
        refuse_empty(entry, empty_too)
        refuse_unread(entry)


def refuse_other_lake(plan: Plan, lake_root: str) -> None:
    """Refuse a plan of another lake: equal relative paths are other tables there."""
    if plan.lake_root != lake_root:
        raise Refused(f"the plan is for the lake {plan.lake_root}, not {lake_root}", hint="give the plan's lake")


def refuse_used(plan: Plan, registry: Registry) -> None:
    """Refuse a plan that was used before, whatever its outcome (HAZARDS 17, 18)."""
    used = registry.plans.get(plan.plan_id)
    if used is not None:
        raise Refused(f"the plan was used before, approved by {used.approved_by}", hint="make a new plan")


def refuse_nameless(approved_by: str) -> None:
    """Refuse a deletion that no named person approved."""
    if not approved_by.strip():
        raise Refused("nobody approved the plan", hint="say who approves it")


def smaller_size(plan: Plan, now: LakeSize) -> LakeSize:
    """The smaller of the lake's size in the plan and its size now: the plan's figure is not trusted alone."""
    return LakeSize(min(plan.lake_tables, now.tables), min(plan.lake_bytes, now.size_bytes))


def number_to_type(plan: Plan, now: LakeSize) -> int | None:
    """The number of tables that a person must type, if the plan takes a large share of the lake (HAZARDS 30)."""
    size = smaller_size(plan, now)
    tables = len(plan.entries) > LARGE_SHARE * size.tables
    return len(plan.entries) if tables or plan.size_bytes > LARGE_SHARE * size.size_bytes else None


def refuse_large(plan: Plan, now: LakeSize, typed: int | None) -> None:
    """Refuse a plan that takes a large share of the lake until the number of tables is typed back (HAZARDS 30)."""
    number, size = number_to_type(plan, now), smaller_size(plan, now)
    if number is not None and typed != number:
        raise Refused(
            f"the plan deletes {number:,} of {counted(size.tables, 'tables')}, "
            f"{plan.size_bytes:,} of {size.size_bytes:,} bytes: a large share of the lake",
            hint=f"type {number} to confirm it, or give --yes-delete {number}",
        )


def refuse_overlapping(plan: Plan) -> None:
    """Refuse a table named twice, or one inside another's folder: it would be counted twice (HAZARDS 1)."""
    known: set[str] = set()
    for location in sorted(entry.child.location for entry in plan.entries):  # a folder sorts before its content
        for above in _down_to(location):
            if above in known:
                raise Refused(f"the plan deletes {above!r} and {location!r}, which overlap", hint="make a new plan")
        known.add(location)


def refuse_deleting_parents(plan: Plan) -> None:
    """Refuse to delete a table from which another table of the plan is rebuilt (HAZARDS 16, 17)."""
    children = Places((entry.child.location, entry.child.name) for entry in plan.entries)
    for entry in plan.entries:
        for parent in entry.parents:
            child = children.touching(parent.location)
            if child is not None:
                raise Refused(
                    f"the plan deletes {child!r}, which {entry.child.name!r} is rebuilt from", hint="make a new plan"
                )


def refuse_same_table(entry: Entry) -> None:
    """Refuse a child that is its own parent, lies inside it, or has the same files under other names (HAZARDS 1)."""
    child, files = entry.child, {file.version.identity for file in entry.child.files}
    for parent in entry.parents:
        shared = files & {file.version.identity for file in parent.files}
        if shared or overlaps(child.location, parent.location):
            raise Refused(
                f"{child.name!r} and {parent.name!r} are not two separate tables", hint="scan again and make a new plan"
            )


def refuse_deleted_parent(entry: Entry, gone: Places) -> None:
    """Refuse a parent that is deleted or being deleted (HAZARDS 16)."""
    for parent in entry.parents:
        name = gone.touching(parent.location)
        if name is not None:
            raise Refused(
                f"{entry.child.name!r} would be rebuilt from {name!r}, which is deleted",
                hint="restore that first, or make a new plan",
            )


def refuse_pinned_child(entry: Entry, pins: Places) -> None:
    """Refuse to delete a table from which a deleted table is rebuilt (HAZARDS 15, 16)."""
    name = pins.touching(entry.child.location)
    if name is not None:
        raise Refused(f"{entry.child.name!r} is pinned: {name!r} is rebuilt from it", hint=f"restore {name!r} first")


def refuse_empty(entry: Entry, empty_too: bool) -> None:
    """Refuse a table without rows: it is contained in every table, which proves nothing (HAZARDS 12)."""
    if entry.expected.rows == 0 and not empty_too:
        raise Refused(f"{entry.child.name!r} has no rows", hint="--empty-too lets tables without rows go, too")


def refuse_unread(entry: Entry) -> None:
    """Refuse a child with files that were not read and are not known bookkeeping (HAZARDS 8)."""
    unread = [file.path for file in entry.child.files if not file.holds_rows and not is_bookkeeping(file.path)]
    if unread:
        raise Refused(f"{entry.child.name!r} has files that were not read: {some(unread)}", hint="it cannot be deleted")


class Places:
    """Index of named places in the lake; finds one that is equal to a given place, above it, or below it."""

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        self._names = dict(places)
        self._sorted = sorted(self._names)

    def touching(self, location: str) -> str | None:
        """The name of a place that is equal to *location*, above it, or below it; None without one."""
        for above in _down_to(location):
            if above in self._names:
                return self._names[above]
        index = bisect_left(self._sorted, f"{location}/")
        if index < len(self._sorted) and self._sorted[index].startswith(f"{location}/"):
            return self._names[self._sorted[index]]
        return None


def _down_to(location: str) -> list[str]:
    """The folders on the way to a place, and the place itself."""
    parts = location.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
