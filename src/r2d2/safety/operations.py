"""List the operations of an apply. `explain` prints this list and `apply` runs it, so that both always agree."""

from __future__ import annotations

from dataclasses import dataclass

from r2d2.model.counted import counted
from r2d2.safety.batches import batches
from r2d2.safety.paths import slot_of
from r2d2.safety.plan import Entry, Plan, TableSeen
from r2d2.safety.snapshots import some


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Check that the plan is unchanged, unused and of this lake, and touches no pinned or deleted table."""

    plan: Plan

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        return f"check that plan {self.plan.plan_id} is unchanged, unused, and touches nothing that is pinned"


@dataclass(frozen=True, slots=True)
class CheckTables:
    """Check that child and parents are unchanged, to the byte, since the plan was made."""

    entry: Entry

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        tables = " and ".join(map(_table, (self.entry.child, *self.entry.parents)))
        return f"read all of {tables}: nothing may have changed"


@dataclass(frozen=True, slots=True)
class UsePlan:
    """Record that the plan is used, and who approved it."""

    plan: Plan

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        return f"record that plan {self.plan.plan_id} is used; it cannot be used again"


@dataclass(frozen=True, slots=True)
class MoveAside:
    """Move the table to quarantine, in one rename."""

    entry: Entry
    slot: str
    plan_id: str

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        return f"move {_table(self.entry.child)} to quarantine as {self.slot[:12]}…"


@dataclass(frozen=True, slots=True)
class VerifyAside:
    """Run the recipes, compare their output with the tables in quarantine, and hash all files again."""

    tables: tuple[tuple[Entry, str], ...]  # with their slots

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        rows = sum(entry.expected.rows for entry, _ in self.tables)
        if len(self.tables) > 1:
            names = some([entry.child.name for entry, _ in self.tables])
            told = counted(rows, "rows")
            return f"rebuild {names} from their parents and compare all {told}; put back each that differs"
        (entry, _) = self.tables[0]
        return (
            f"rebuild {entry.child.name!r} from {_names(entry)} and compare all {counted(rows, 'rows')}; "
            "put it back if anything differs"
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """Record the deletion, with recipe and digest, and pin the parents."""

    entry: Entry
    slot: str

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        return f"record that {self.entry.child.name!r} is deleted and pin {_names(self.entry)}"


Operation = CheckPlan | CheckTables | UsePlan | MoveAside | VerifyAside | Commit


def operations(plan: Plan) -> tuple[Operation, ...]:
    """All operations of applying *plan*, in order. All checks come before the first effect."""
    steps: list[Operation] = [CheckPlan(plan)]
    steps += [CheckTables(entry) for entry in plan.entries]
    steps.append(UsePlan(plan))
    for batch in batches(plan.entries, entry_of=lambda entry: entry):
        tables = tuple((entry, slot_of(plan.plan_id, entry.child.location)) for entry in batch)
        steps += [MoveAside(entry, slot, plan.plan_id) for entry, slot in tables]
        steps.append(VerifyAside(tables))
        steps += [Commit(entry, slot) for entry, slot in tables]
    return tuple(steps)


def explain(plan: Plan) -> tuple[str, ...]:
    """The operations of a plan, as sentences."""
    return tuple(operation.explain() for operation in operations(plan))


def _names(entry: Entry) -> str:
    return " and ".join(repr(parent.name) for parent in entry.parents)


def _table(table: TableSeen) -> str:
    return f"{table.name!r} ({counted(len(table.files), 'files')}, {counted(table.size_bytes, 'bytes')})"
