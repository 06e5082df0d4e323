"""What an apply does, as a list. `explain` prints it and `apply` runs it: the same list, so that neither can differ."""

from __future__ import annotations

from dataclasses import dataclass

from r2d2.safety.paths import slot_of
from r2d2.safety.plan import Entry, Plan, TableSeen


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Is the plan whole, unused, of this lake, and does nothing pinned or deleted speak against it?"""

    plan: Plan

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        return f"check that plan {self.plan.plan_id} is unchanged, unused, and touches nothing that is pinned"


@dataclass(frozen=True, slots=True)
class CheckTables:
    """Are child and parent, to the byte, what they were when the plan was made?"""

    entry: Entry

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        return f"read all of {_table(self.entry.child)} and {_table(self.entry.parent)}: nothing may have changed"


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
    """Run the recipe and compare with the table in quarantine; hash both anew."""

    entry: Entry
    slot: str

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        expected = self.entry.expected
        return (
            f"rebuild {self.entry.child.name!r} from {self.entry.parent.name!r} and compare all {expected.rows} rows; "
            "put it back if anything differs"
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """Record the deletion, with recipe and digest, and pin the parent."""

    entry: Entry
    slot: str

    def explain(self) -> str:
        """One sentence for the person who reviews it."""
        return f"record that {self.entry.child.name!r} is deleted and pin {self.entry.parent.name!r}"


Operation = CheckPlan | CheckTables | UsePlan | MoveAside | VerifyAside | Commit


def operations(plan: Plan) -> tuple[Operation, ...]:
    """Everything that applying *plan* does, in order. All checks come before the first effect."""
    steps: list[Operation] = [CheckPlan(plan)]
    steps += [CheckTables(entry) for entry in plan.entries]
    steps.append(UsePlan(plan))
    for entry in plan.entries:
        slot = slot_of(plan.plan_id, entry.child.location)
        steps += [MoveAside(entry, slot, plan.plan_id), VerifyAside(entry, slot), Commit(entry, slot)]
    return tuple(steps)


def explain(plan: Plan) -> tuple[str, ...]:
    """The same, in sentences."""
    return tuple(operation.explain() for operation in operations(plan))


def _table(table: TableSeen) -> str:
    return f"{table.name!r} ({len(table.files)} files, {table.size_bytes} bytes)"
