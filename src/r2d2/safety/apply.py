"""Apply an approved plan so that at every instant each row is in the lake or in quarantine.

Tables go in batches: a batch is moved to quarantine, verified together, and committed or put back table by table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Comparison, Content, Verify
from r2d2.safety.batches import shares
from r2d2.safety.errors import Changed, DiskError, JournalStopped, NotMoved, Refused, in_one_line
from r2d2.safety.guards import LakeSize, check_plan
from r2d2.safety.locked_lake import Lake
from r2d2.safety.operations import (
    CheckPlan,
    CheckTables,
    Commit,
    MoveAside,
    Operation,
    UsePlan,
    VerifyAside,
    operations,
)
from r2d2.safety.per_table import ask, each, own_errors
from r2d2.safety.plan import Entry, Plan, TableSeen
from r2d2.safety.ports import Quarantine, Rebuilder
from r2d2.safety.preflight import TableChecks
from r2d2.safety.quarantine import in_quarantine
from r2d2.safety.records import Committed, CommitWithdrawn, MoveIntended, MoveUndone, PlanStarted
from r2d2.safety.recovery import undo_move
from r2d2.safety.registry import State
from r2d2.safety.snapshots import (
    Examined,
    Look,
    examine,
    placed,
    refuse_moving_target,
    refuse_rewritten,
    refuse_unexplained,
)

QUIET_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Approval:
    """Name of the person who approves the plan, and their confirmations."""

    approved_by: str
    typed: int | None = None  # the number of tables, where the plan takes a large share of the lake
    empty_too: bool = False  # tables without rows as well


@dataclass(frozen=True, slots=True)
class Applied:
    """Outcome of an apply for one table."""

    table: str
    slot: str
    is_deleted: bool
    because: str  # the reason if it was not deleted, else ''


@dataclass(slots=True)
class Run:
    """State shared by the operations of one apply."""

    lake: Lake
    rebuilder: Rebuilder
    approval: Approval
    count_lake: Callable[[], LakeSize]
    quiet_seconds: float
    outcomes: dict[str, Applied] = field(default_factory=dict)
    verified: dict[str, Verified] = field(default_factory=dict)
    checks: TableChecks | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of verifying a table in quarantine, with the snapshots of it and its parents whose bytes were hashed."""

    content: Content
    seconds: float
    child_look: Look
    parent_looks: tuple[Look, ...]


@dataclass(slots=True)
class Aside:
    """A table in quarantine while its batch is verified."""

    entry: Entry
    slot: str
    before: tuple[Look, ...] = ()  # snapshots of child and parents, taken before the comparison
    error: R2D2Error | None = None


def apply(
    lake: Lake,
    plan: Plan,
    *,
    rebuilder: Rebuilder,
    approval: Approval,
    count_lake: Callable[[], LakeSize],
    quiet_seconds: float = QUIET_SECONDS,
    progress: Callable[[Operation], None] = lambda operation: None,
) -> tuple[Applied, ...]:
    """Apply a plan; put back each table that fails its verification, and go on with the others.

    If the whole run stops, for instance by Ctrl-C, tables that are not yet committed are put back first.

    Raises Refused, before anything is touched, if a guard objects to any part of the plan. *count_lake* returns the
    current size of the lake. *progress* gets each operation before it is performed.
    """
    run = Run(lake, rebuilder, approval, count_lake, quiet_seconds)
    try:
        for operation in operations(plan):
            progress(operation)
            perform(run, operation)
    except JournalStopped:
        raise  # the record may or may not be on disk: the next command finds out
    except (Exception, KeyboardInterrupt) as error:
        _put_all_back(run, plan, error)
        raise
    return tuple(run.outcomes.values())


def perform(run: Run, operation: Operation) -> None:
    """Perform one operation of the list."""
    if isinstance(operation, CheckPlan):
        _check_plan(run, operation.plan)
    elif isinstance(operation, CheckTables):
        run.checks = run.checks or TableChecks(run.lake.files, run.lake.registry)
        run.checks.check(operation.entry, now=run.lake.clock.now(), quiet_seconds=run.quiet_seconds)
    elif isinstance(operation, UsePlan):
        _use_plan(run, operation.plan)
    elif isinstance(operation, VerifyAside):
        _verify_aside(run, operation)
    elif operation.slot not in run.outcomes:  # the table has no outcome yet
        _perform_on_table(run, operation)


def _perform_on_table(run: Run, operation: MoveAside | Commit) -> None:
    try:
        if isinstance(operation, MoveAside):
            _move_aside(run, operation)
        else:
            _commit(run, operation)
    except JournalStopped:
        raise
    except R2D2Error as error:
        _put_back(run, operation.entry, operation.slot, error)


def _put_back(run: Run, entry: Entry, name: str, error: BaseException) -> None:
    slot, because = run.lake.registry.slots.get(name), in_one_line(error)
    left = ""
    if slot and slot.state is State.MOVING:
        try:
            with own_errors():
                left = undo_move(run.lake, slot, because)
        except (Refused, DiskError) as failed:  # the next command tries again; the other tables go on
            left = f"{because}; it cannot be put back yet: {in_one_line(failed)}"
    run.outcomes[name] = Applied(entry.child.name, name, False, left or because)


def _put_all_back(run: Run, plan: Plan, error: BaseException) -> None:
    for slot in run.lake.registry.active:
        if slot.plan_id == plan.plan_id and slot.state is State.MOVING and slot.slot not in run.outcomes:
            _put_back(run, slot.entry, slot.slot, error)


def _check_plan(run: Run, plan: Plan) -> None:
    approval = run.approval
    check_plan(
        plan,
        run.lake.registry,
        lake_root=run.lake.quarantine.root,
        lake_size=run.count_lake(),
        approved_by=approval.approved_by,
        typed=approval.typed,
        empty_too=approval.empty_too,
    )


def _use_plan(run: Run, plan: Plan) -> None:
    record = PlanStarted(plan.plan_id, plan.sha256, run.approval.approved_by, len(plan.entries), run.lake.now())
    run.lake.write(record)


def _move_aside(run: Run, operation: MoveAside) -> None:
    child, quarantine = operation.entry.child, run.lake.quarantine
    look = quarantine.snapshot(child, child.location)
    refuse_unexplained(child, look)
    refuse_rewritten(child, look)
    run.lake.write(MoveIntended(operation.slot, operation.plan_id, operation.entry, run.lake.now()))
    try:
        quarantine.take(child, operation.slot)
    except NotMoved as error:  # nothing to bring back
        run.lake.write(MoveUndone(operation.slot, error.because, run.lake.now()))
        raise


def _verify_aside(run: Run, operation: VerifyAside) -> None:
    """Verify the tables of a batch that have no outcome yet; put back those that fail."""
    quarantine, clock = run.lake.quarantine, run.lake.clock
    batch = [Aside(entry, slot) for entry, slot in operation.tables if slot not in run.outcomes]
    started = clock.tick()
    parents = Examined(quarantine, alone=True)  # each parent is hashed once, after the comparison

    def look(one: Aside) -> None:
        child = quarantine.snapshot(one.entry.child, in_quarantine(one.slot))
        one.before = child, *(quarantine.snapshot(parent, parent.location) for parent in one.entry.parents)

    share = dict(zip((one.slot for one in batch), shares([one.entry for one in batch]), strict=True))

    def take(one: Aside, compared: Comparison) -> None:
        seconds = (clock.tick() - started) * share[one.slot]
        run.verified[one.slot] = _verified(quarantine, one, compared, parents, seconds)

    each(batch, look)
    ask(batch, lambda some: run.rebuilder.verify_many([_question(quarantine, one) for one in some]), take)
    for one in batch:
        if one.error is not None:
            _put_back(run, one.entry, one.slot, one.error)


def _question(quarantine: Quarantine, one: Aside) -> Verify:
    entry = one.entry
    parents = tuple(placed(quarantine, parent, parent.location) for parent in entry.parents)
    return Verify(entry.recipe, parents, placed(quarantine, entry.child, in_quarantine(one.slot)))


def _verified(quarantine: Quarantine, one: Aside, compared: Comparison, parents: Examined, seconds: float) -> Verified:
    entry = one.entry
    refuse_different(entry, compared.differs)
    refuse_unexpected(entry, compared.content)
    child_look = examine(quarantine, entry.child, in_quarantine(one.slot), alone=True)
    parent_looks = tuple(parents.look(parent) for parent in entry.parents)
    refuse_written(entry, one.before, (child_look, *parent_looks))
    return Verified(compared.content, seconds, child_look, parent_looks)


def refuse_different(entry: Entry, differs: str) -> None:
    """Refuse a child that differs from its recipe's output, in any row's values or number of copies (HAZARDS 2–6)."""
    if differs:
        hint = "scan again and make a new plan; if that ends the same way, keep the table out with --legal-hold"
        raise Changed(f"{entry.child.name!r} differs from what its recipe rebuilds: {differs}", hint=hint)


def refuse_unexpected(entry: Entry, content: Content) -> None:
    """Refuse counts or a digest other than planned: after a purge only these are left to compare with (HAZARDS 15)."""
    if content != entry.expected:
        raise Changed(f"{entry.child.name!r} has other counts or another digest than planned", hint="make a new plan")


def refuse_written(entry: Entry, before: tuple[Look, ...], after: tuple[Look, ...]) -> None:
    """Refuse a comparison during which child or parent was written to (HAZARDS 14)."""
    if before != after:
        raise Changed(
            f"{entry.child.name!r} or its parent was written to during the comparison", hint="wait for the writer"
        )


def refuse_reappeared(quarantine: Quarantine, child: TableSeen) -> None:
    """Refuse to commit if something new is at the table's old place: its writer meant the table (HAZARDS 14)."""
    if quarantine.identity(child.location) is not None:
        raise Changed(f"something appeared at {child.location!r}", hint="move it away; the table then comes back")


def _commit(run: Run, operation: Commit) -> None:
    verified = run.verified.pop(operation.slot)
    _look_again(run, operation, verified)
    run.lake.write(Committed(operation.slot, verified.content, verified.seconds, run.lake.now()))
    try:  # check again after the record: a write that came before the record is noticed now at the latest
        _look_again(run, operation, verified)
    except Changed as error:
        run.lake.write(CommitWithdrawn(operation.slot, in_one_line(error), run.lake.now()))
        raise
    run.outcomes[operation.slot] = Applied(operation.entry.child.name, operation.slot, True, "")


def _look_again(run: Run, operation: Commit, verified: Verified) -> None:
    quarantine, child = run.lake.quarantine, operation.entry.child
    refuse_reappeared(quarantine, child)
    refuse_moving_target(quarantine, child, in_quarantine(operation.slot), verified.child_look)
    for parent, look in zip(operation.entry.parents, verified.parent_looks, strict=True):
        refuse_moving_target(quarantine, parent, parent.location, look)
