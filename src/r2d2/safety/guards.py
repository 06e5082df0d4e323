"""What forbids a plan before anything is looked at on disk. Each guard is a function; docs/operations.md has a list."""

from __future__ import annotations

from collections.abc import Iterable

from r2d2.safety.paths import overlaps
from r2d2.safety.plan import (
    Entry,
    Plan,
    TableSeen,
    is_bookkeeping,
    refuse_malformed,
    refuse_other_version,
    refuse_unsealed,
)
from r2d2.safety.refused import Refused
from r2d2.safety.registry import Registry
from r2d2.safety.tables import some

LARGE_SHARE = 0.2  # of the lake's tables or bytes: above it the number of tables must be typed back


def check_plan(
    plan: Plan, registry: Registry, *, lake_root: str, approved_by: str, typed: int | None, empty_too: bool
) -> None:
    """All guards that need only the plan and the registry."""
    refuse_other_version(plan)
    refuse_unsealed(plan)
    refuse_malformed(plan)
    refuse_other_lake(plan, lake_root)
    refuse_used(plan, registry)
    refuse_nameless(approved_by)
    refuse_large(plan, typed)
    refuse_overlapping(plan)
    refuse_deleting_parents(plan)
    for entry in plan.entries:
        refuse_same_table(entry)
        refuse_deleted_parent(entry, registry)
        refuse_pinned_child(entry, registry)
        refuse_empty(entry, empty_too)
        refuse_unread(entry)


def refuse_other_lake(plan: Plan, lake_root: str) -> None:
    """Equal relative paths in another lake are other tables."""
    if plan.lake_root != lake_root:
        raise Refused(f"the plan is for the lake {plan.lake_root}, not {lake_root}", hint="give the plan's lake")


def refuse_used(plan: Plan, registry: Registry) -> None:
    """A plan is used once, whatever became of it (HAZARDS 17, 18)."""
    used = registry.plans.get(plan.plan_id)
    if used is not None:
        raise Refused(f"the plan was used before, approved by {used.approved_by}", hint="make a new plan")


def refuse_nameless(approved_by: str) -> None:
    """Somebody answers for a deletion."""
    if not approved_by.strip():
        raise Refused("nobody approved the plan", hint="say who does")


def number_to_type(plan: Plan) -> int | None:
    """The number of tables, if the plan takes so much of the lake that a person should type it (HAZARDS 30)."""
    tables = len(plan.entries) > LARGE_SHARE * plan.lake_tables
    return len(plan.entries) if tables or plan.size_bytes > LARGE_SHARE * plan.lake_bytes else None


def refuse_large(plan: Plan, typed: int | None) -> None:
    """A plan that takes a large share of the lake needs the number of tables typed back (HAZARDS 30)."""
    number = number_to_type(plan)
    if number is not None and typed != number:
        raise Refused(
            f"the plan deletes {number} of {plan.lake_tables} tables, {plan.size_bytes} of {plan.lake_bytes} bytes",
            hint=f"that is a large share of the lake; type {number} to confirm it",
        )


def refuse_overlapping(plan: Plan) -> None:
    """A table twice, or one in another's folder, would be counted twice and deleted once (HAZARDS 1)."""
    known: set[str] = set()
    for location in sorted(entry.child.location for entry in plan.entries):  # what holds a folder sorts before it
        parts = location.split("/")
        for depth in range(1, len(parts) + 1):
            above = "/".join(parts[:depth])
            if above in known:
                raise Refused(f"the plan deletes {above!r} and {location!r}, which overlap", hint="make the plan anew")
        known.add(location)


def refuse_deleting_parents(plan: Plan) -> None:
    """Nothing is deleted that something deleted is rebuilt from (HAZARDS 16, 17)."""
    children = [entry.child for entry in plan.entries]
    for entry in plan.entries:
        for child in _touching(entry.parent, children):
            raise Refused(
                f"the plan deletes {child.name!r}, which {entry.child.name!r} is rebuilt from",
                hint="make the plan anew",
            )


def refuse_same_table(entry: Entry) -> None:
    """A table is not its own copy, nor is one inside the other, nor two names of the same files (HAZARDS 1)."""
    child, parent = entry.child, entry.parent
    if overlaps(child.location, parent.location) or _inodes([child]) & _inodes([parent]):
        raise Refused(f"{child.name!r} and {parent.name!r} are not two tables", hint="scan and plan anew")


def refuse_deleted_parent(entry: Entry, registry: Registry) -> None:
    """What is deleted, or on its way, can rebuild nothing (HAZARDS 16)."""
    for gone in _touching(entry.parent, [slot.entry.child for slot in registry.active]):
        raise Refused(
            f"{entry.child.name!r} would be rebuilt from {gone.name!r}, which is deleted",
            hint="restore that first, or plan anew",
        )


def refuse_pinned_child(entry: Entry, registry: Registry) -> None:
    """What a deleted table is rebuilt from stays, by its place and by its files (HAZARDS 15, 16)."""
    for slot in registry.active:
        pinned = slot.entry.parent
        if overlaps(entry.child.location, pinned.location) or _inodes([entry.child]) & _inodes([pinned]):
            raise Refused(
                f"{entry.child.name!r} is pinned: {slot.entry.child.name!r} is rebuilt from it",
                hint=f"restore {slot.entry.child.name!r} first",
            )


def refuse_empty(entry: Entry, empty_too: bool) -> None:
    """A table without rows is contained in everything; that says nothing (HAZARDS 12)."""
    if entry.expected.rows == 0 and not empty_too:
        raise Refused(f"{entry.child.name!r} has no rows", hint="ask for empty tables if they are to go, too")


def refuse_unread(entry: Entry) -> None:
    """A file of the child that nobody read, and that is no known bookkeeping, would go unread (HAZARDS 8)."""
    unread = [file.path for file in entry.child.files if not file.holds_rows and not is_bookkeeping(file.path)]
    if unread:
        raise Refused(f"{entry.child.name!r} has files that were not read: {some(unread)}", hint="it cannot be deleted")


def _touching(table: TableSeen, others: Iterable[TableSeen]) -> list[TableSeen]:
    return [other for other in others if overlaps(table.location, other.location)]


def _inodes(tables: Iterable[TableSeen]) -> set[int]:
    return {file.inode for table in tables for file in table.files}
