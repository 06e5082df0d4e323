"""Apply a plan: preview it, then delete its tables so that they can be brought back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from r2d2.app.workspace import Workspace
from r2d2.errors import UserError
from r2d2.lake.discover import discover
from r2d2.model.progress import News
from r2d2.safety.apply import Applied, Approval, apply
from r2d2.safety.errors import JournalDamaged, Refused
from r2d2.safety.guards import LakeSize, check_plan, number_to_type, smaller_size
from r2d2.safety.locked_lake import posix_files, read_registry
from r2d2.safety.operations import CheckTables, Commit, MoveAside, Operation, UsePlan, VerifyAside, explain
from r2d2.safety.plan import Plan, read_plan
from r2d2.safety.preflight import Objection, objections
from r2d2.safety.recovery import Recovered

_SAID: dict[type[Operation], str] = {
    CheckTables: "checking every byte",
    MoveAside: "moving to quarantine",
    VerifyAside: "comparing values",
    Commit: "recording",
}


@dataclass(frozen=True, slots=True)
class Preview:
    """The steps of applying a plan, and the objections to it now."""

    plan: Plan
    steps: tuple[str, ...]
    lake_size: LakeSize  # as stated or as counted now, whichever is smaller
    number_to_type: int | None
    refused: str  # why the whole plan would be refused; '' if nothing that can be seen now speaks against it
    objections: tuple[Objection, ...] = ()  # table by table, if they were looked at

    @property
    def is_refused(self) -> bool:
        """Whether applying it now would do nothing."""
        return bool(self.refused or self.objections)


def preview(
    workspace: Workspace, path: str, *, approved_by: str, typed: int | None, empty_too: bool, with_tables: bool
) -> Preview:
    """Read a plan and look at it, without lock, changing nothing; *with_tables* also at every byte of its tables."""
    plan = read_plan(path)
    with posix_files(plan.lake_root) as files:
        counted = count_lake(files.root)
        size, number = smaller_size(plan, counted), number_to_type(plan, counted)
        try:
            registry = read_registry(files)
            check_plan(
                plan,
                registry,
                lake_root=files.root,
                lake_size=counted,
                approved_by=approved_by,
                typed=number if typed is None else typed,
                empty_too=empty_too,
            )
        except (Refused, JournalDamaged) as error:
            return Preview(plan, explain(plan), size, number, str(error.args[0]))
        quiet_seconds, now = workspace.settings.quiet_period, workspace.clock.now()
        found = objections(files, registry, plan, now=now, quiet_seconds=quiet_seconds) if with_tables else ()
    return Preview(plan, explain(plan), size, number, "", found)


def count_lake(root: str) -> LakeSize:
    """Tables and bytes that lie below a folder now."""
    try:
        tables = discover([root]).tables
    except UserError:  # no table is left there
        return LakeSize(0, 0)
    return LakeSize(len(tables), sum(table.size_bytes for table in tables))


def apply_plan(
    workspace: Workspace, plan: Plan, *, approval: Approval
) -> tuple[tuple[Recovered, ...], tuple[Applied, ...]]:
    """Apply a plan to its lake; each table goes to quarantine, and stays there only if its recipe rebuilds it."""
    counted = Counter[type[Operation]]()

    def progress(operation: Operation) -> None:
        if isinstance(operation, UsePlan):
            here.session()  # where Spark does not start, the plan is not used up
        if type(operation) in _SAID:
            workspace.progress(News(_SAID[type(operation)], counted[type(operation)], len(plan.entries)))
            counted[type(operation)] += len(operation.tables) if isinstance(operation, VerifyAside) else 1

    with posix_files(plan.lake_root) as files, workspace.locked(files) as here:
        done = apply(
            here.lake,
            plan,
            rebuilder=here.rebuilder,
            approval=approval,
            count_lake=lambda: count_lake(here.lake.files.root),
            quiet_seconds=workspace.settings.quiet_period,
            progress=progress,
        )
        return here.recovered, done
