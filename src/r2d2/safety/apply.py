"""Do what an approved plan says, so that at every instant each row is in the lake or in quarantine.

Tables go in batches: all of one are moved aside, verified together, and then committed or put back one by one.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from r2d2.errors import R2D2Error
from r2d2.model.rebuild import Comparison, Content, Verify
from r2d2.safety.batches import shares
from r2d2.safety.errors import Changed, DiskError, JournalStopped, Refused, in_one_line
from r2d2.safety.files import Files
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
from r2d2.safety.ports import Rebuilder
from r2d2.safety.preflight import TableChecks
from r2d2.safety.quarantine import in_quarantine, sync_names
from r2d2.safety.records import Committed, CommitWithdrawn, MoveIntended, MoveUndone, PlanStarted
from r2d2.safety.recovery import undo_move
from r2d2.safety.registry import State
from r2d2.safety.snapshots import (
    Examined,
    Look,
    examine,
    look_at,
    placed,
    refuse_moving_target,
    refuse_rewritten,
    refuse_unexplained,
)

QUIET_SECONDS = 3600.0
_NOT_MOVED = (errno.ENOENT, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EBUSY)


@dataclass(frozen=True, slots=True)
class Approval:
    """Who wants the plan applied, and what they confirmed."""

    approved_by: str
    typed: int | None = None  # the number of tables, where the plan takes a large share of the lake
    empty_too: bool = False  # tables without rows as well


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of one table."""

    table: str
    slot: str
    is_deleted: bool
    because: str  # why not


@dataclass(slots=True)
class Run:
    """What the operations of one apply share."""

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
    """What verifying a table in quarantine gave, and how it and its parents looked when their bytes were checked."""

    content: Content
    seconds: float
    child_look: Look
    parent_looks: tuple[Look, ...]


@dataclass(slots=True)
class Aside:
    """A table of a batch while it is verified."""

    entry: Entry
    slot: str
    before: tuple[Look, ...] = ()  # of child and parents
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
    """Apply a plan. A table that fails its verification is put back, and the others go on.

    Whatever stops the whole run, such as Ctrl-C, first puts back what is not yet committed.

    Raises Refused before anything was touched if any guard speaks against any part of the plan. *count_lake* says how
    large the lake is now. *progress* gets each operation before it is performed.
    """
    run = Run(lake, rebuilder, approval, count_lake, quiet_seconds)
    try:
        for operation in operations(plan):
            progress(operation)
            perform(run, operation)
    except JournalStopped:
        raise  # whether the record is on disk is not known: the next command finds out
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
    elif operation.slot not in run.outcomes:  # no word on this table yet
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
        except (Refused, DiskError) as failed:  # the next command tries again; the others are not to wait for it
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
        lake_root=run.lake.files.root,
        lake_size=run.count_lake(),
        approved_by=approval.approved_by,
        typed=approval.typed,
        empty_too=approval.empty_too,
    )


def _use_plan(run: Run, plan: Plan) -> None:
    record = PlanStarted(plan.plan_id, plan.sha256, run.approval.approved_by, len(plan.entries), run.lake.now())
    run.lake.write(record)


def _move_aside(run: Run, operation: MoveAside) -> None:
    child, files = operation.entry.child, run.lake.files
    look = look_at(files, child, child.location)
    refuse_unexplained(child, look)
    refuse_rewritten(child, look)
    run.lake.write(MoveIntended(operation.slot, operation.plan_id, operation.entry, run.lake.now()))
    aside = in_quarantine(operation.slot)
    try:
        files.move(child.location, aside)
    except OSError as error:
        if error.errno not in _NOT_MOVED:
            raise
        # So it was not moved, and there is nothing to bring back: it is gone, held fast, or would have to be copied.
        run.lake.write(MoveUndone(operation.slot, str(error), run.lake.now()))
        hint = "see who may move it, and that it is there; then scan and plan anew"
        raise Changed(f"{child.name!r} cannot be moved ({error.strerror})", hint=hint) from error
    sync_names(files, child.location, aside)


def _verify_aside(run: Run, operation: VerifyAside) -> None:
    """Compare all of a batch that are still on their way; the others are put back."""
    files, clock = run.lake.files, run.lake.clock
    batch = [Aside(entry, slot) for entry, slot in operation.tables if slot not in run.outcomes]
    started = clock.tick()
    parents = Examined(files, alone=True)  # none of these was read before the comparison ended

    def look(one: Aside) -> None:
        child = look_at(files, one.entry.child, in_quarantine(one.slot))
        one.before = child, *(look_at(files, parent, parent.location) for parent in one.entry.parents)

    share = dict(zip((one.slot for one in batch), shares([one.entry for one in batch]), strict=True))

    def take(one: Aside, compared: Comparison) -> None:
        seconds = (clock.tick() - started) * share[one.slot]
        run.verified[one.slot] = _verified(files, one, compared, parents, seconds)

    each(batch, look)
    ask(batch, lambda some: run.rebuilder.verify_many([_question(files, one) for one in some]), take)
    for one in batch:
        if one.error is not None:
            _put_back(run, one.entry, one.slot, one.error)


def _question(files: Files, one: Aside) -> Verify:
    entry = one.entry
    parents = tuple(placed(files, parent, parent.location) for parent in entry.parents)
    return Verify(entry.recipe, parents, placed(files, entry.child, in_quarantine(one.slot)))


def _verified(files: Files, one: Aside, compared: Comparison, parents: Examined, seconds: float) -> Verified:
    entry = one.entry
    refuse_different(entry, compared.differs)
    refuse_unexpected(entry, compared.content)
    child_look = examine(files, entry.child, in_quarantine(one.slot), alone=True)
    parent_looks = tuple(parents.look(parent) for parent in entry.parents)
    refuse_written(entry, one.before, (child_look, *parent_looks))
    return Verified(compared.content, seconds, child_look, parent_looks)


def refuse_different(entry: Entry, differs: str) -> None:
    """What the recipe makes of the parent must be the child: each row by its values, with its copies (HAZARDS 2–6)."""
    if differs:
        hint = "scan and plan anew; if that plan ends like this one, keep the table out of plans with --legal-hold"
        raise Changed(f"{entry.child.name!r} is not what its recipe makes: {differs}", hint=hint)


def refuse_unexpected(entry: Entry, content: Content) -> None:
    """Counts and digest must be those of the plan, since one day they are all there is to compare with (HAZARDS 15)."""
    if content != entry.expected:
        raise Changed(f"{entry.child.name!r} has other counts or another digest than planned", hint="plan anew")


def refuse_written(entry: Entry, before: tuple[Look, ...], after: tuple[Look, ...]) -> None:
    """What was written to while it was compared was not compared (HAZARDS 14)."""
    if before != after:
        raise Changed(f"{entry.child.name!r} or its parent was written to meanwhile", hint="wait for the writer")


def refuse_reappeared(files: Files, child: TableSeen) -> None:
    """Whoever writes to the table's old place while we hold the table has written to the table (HAZARDS 14)."""
    if files.stat(child.location) is not None:
        raise Changed(f"something came to lie at {child.location!r}", hint="move it away; the table then comes back")


def _commit(run: Run, operation: Commit) -> None:
    verified = run.verified.pop(operation.slot)
    _look_again(run, operation, verified)
    run.lake.write(Committed(operation.slot, verified.content, verified.seconds, run.lake.now()))
    try:  # once more after the record: a writer who came before the record is seen now at the latest
        _look_again(run, operation, verified)
    except Changed as error:
        run.lake.write(CommitWithdrawn(operation.slot, in_one_line(error), run.lake.now()))
        raise
    run.outcomes[operation.slot] = Applied(operation.entry.child.name, operation.slot, True, "")


def _look_again(run: Run, operation: Commit, verified: Verified) -> None:
    files, child = run.lake.files, operation.entry.child
    refuse_reappeared(files, child)
    refuse_moving_target(files, child, in_quarantine(operation.slot), verified.child_look)
    for parent, look in zip(operation.entry.parents, verified.parent_looks, strict=True):
        refuse_moving_target(files, parent, parent.location, look)
