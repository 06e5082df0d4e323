"""Safe deletion put together: r2d2.safety decides and moves, Spark reads. Each function is one command on a lake."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from r2d2.app.absent import lake_root, refuse_gone, with_absent
from r2d2.app.api import changed_since
from r2d2.app.plan_file import Draft, PastDeletions, Told, content_of, draft_plan, past_deletions
from r2d2.app.planning import Planned, plan_lake, read_assumptions, without_left_out
from r2d2.app.recipe_book import recipes_for
from r2d2.app.recovering import recover_files
from r2d2.engine.second_reader.questions import Compared
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.engine.spark.session import LazySession
from r2d2.errors import R2D2Error, StateError, UserError
from r2d2.lake.discover import discover
from r2d2.model.scan import Scan
from r2d2.safety import apply as applying
from r2d2.safety import doctor as doctoring
from r2d2.safety import drill as drilling
from r2d2.safety import forget as forgetting
from r2d2.safety import purge as purging
from r2d2.safety import restore as restoring
from r2d2.safety import status as standing
from r2d2.safety.deleted import deleted
from r2d2.safety.errors import Busy, JournalDamaged, Refused, disk_error, in_one_line
from r2d2.safety.guards import LakeSize, check_plan, number_to_type, smaller_size
from r2d2.safety.locked_lake import Clock, Lake, posix_files, read_registry
from r2d2.safety.operations import CheckTables, Commit, MoveAside, Operation, UsePlan, VerifyAside, explain
from r2d2.safety.paths import SAFETY
from r2d2.safety.plan import Content, Plan, read_plan, write_plan
from r2d2.safety.ports import Compare, Comparison, Placed, Rebuild, Verify
from r2d2.safety.posix import PosixFiles
from r2d2.safety.preflight import Objection, objections, refuse_lake_above
from r2d2.safety.recovery import Recovered, open_lake
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from r2d2.steps.leave_out_absent import leave_out_absent
from r2d2.steps.prefer_tables import edges_from_preferred

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_SECONDS = 86_400.0


def quiet(what: str, done: int, total: int) -> None:
    """A progress that shows nothing."""


class ByValues:
    """Spark's readings in the words of safe deletion: what `r2d2.safety.ports.Rebuilder` asks for."""

    def __init__(self, rebuilder: SparkRebuilder, told: Told = quiet) -> None:
        self._rebuilder = rebuilder
        self._told = told
        self._rebuilt = 0
        self._expected = 0

    def expect(self, tables: int) -> None:
        """So many are to be rebuilt, unless their copies are whole."""
        self._expected = tables

    def verify_many(self, asked: Sequence[Verify]) -> list[Comparison | R2D2Error]:
        """Run each recipe on its parent and compare with the child."""
        return [_comparison(one) for one in self._rebuilder.verify_many(asked)]

    def rebuild_many(self, asked: Sequence[Rebuild]) -> list[tuple[str, ...] | R2D2Error]:
        """Write what each recipe makes of its parent."""
        self._told("rebuilding", self._rebuilt, self._expected)
        self._rebuilt += len(asked)
        return list(self._rebuilder.rebuild_many(asked))

    def compare_many(self, asked: Sequence[Compare]) -> list[Comparison | R2D2Error]:
        """Compare tables on disk, two by two."""
        return [_comparison(one) for one in self._rebuilder.compare_many(asked)]

    def measure_many(self, tables: Sequence[Placed]) -> list[Content | R2D2Error]:
        """Counts and digest of tables on disk."""
        measured = self._rebuilder.measure_many(tables)
        return [one if isinstance(one, R2D2Error) else content_of(one) for one in measured]


def _comparison(compared: Compared | R2D2Error) -> Comparison | R2D2Error:
    return compared if isinstance(compared, R2D2Error) else Comparison(compared.differs, content_of(compared.content))


@dataclass(frozen=True, slots=True)
class Opened:
    """A lake for one command, and what recovery did before it began."""

    lake: Lake
    rebuilder: ByValues
    recovered: tuple[Recovered, ...]
    session: LazySession


@contextmanager
def opened(
    root: str, settings: Settings, *, spark: SparkSession | None = None, told: Told = quiet, clock: Clock | None = None
) -> Iterator[Opened]:
    """Lock a lake and recover it. Spark starts only if something is read."""
    with (
        posix_files(root) as files,
        LazySession(settings, spark, works=True) as session,
        open_lake(files, clock) as (lake, recovered),
    ):
        yield Opened(lake, ByValues(SparkRebuilder(session), told), recovered, session)


@contextmanager
def _opened_if_touched(root: str, settings: Settings, *, spark: SparkSession | None, told: Told) -> Iterator[Opened]:
    if _is_untouched(root):
        raise UserError(f"nothing was ever deleted in {root}", hint="--lake DIR names the lake's folder")
    with opened(root, settings, spark=spark, told=told) as here:
        yield here


def root_of(settings: Settings, given: str = "") -> str:
    """The lake's folder: as given, or that of the newest scan in the state."""
    if given:
        return given
    hint = "--lake DIR names the lake's folder, --state DIR a folder with a scan of it"
    try:
        return lake_root(StateStore(settings.state).load())
    except StateError as error:
        raise StateError(str(error.args[0]), hint=hint) from error
    except UserError as error:
        raise UserError(str(error.args[0]), hint=hint) from error


def make_plan(
    settings: Settings, *, out: str = "", spark: SparkSession | None = None, told: Told = quiet
) -> tuple[Planned, Draft | None]:
    """What is best deleted; with *out*, also as a plan in a file that can be applied."""
    if out:
        _refuse_unwritable(out)
    known = with_absent(StateStore(settings.state).load())
    scan = leave_out_absent(known)
    for root in scan.roots:
        refuse_gone(root)
    assumed = read_assumptions(scan, settings, deleted=known.absent)
    told("looking for recipes", 0, 0)
    also = edges_from_preferred(scan, assumed.preferences)
    book = recipes_for(scan, settings, also=also, deleted=known.absent, spark=spark)
    recipes, notes = book.recipes, (*book.notes, *_stale(scan))

    def planned_with(past: dict[str, Any]) -> Planned:
        found = plan_lake(scan, recipes, settings, assumed=assumed, given=book.given, **past)
        return replace(found, absent=known.absent, notes=(*found.notes, *notes))

    if not out:
        return planned_with(_past(scan)), None
    with posix_files(lake_root(scan)) as files, LazySession(settings, spark, works=True) as session:
        refuse_lake_above(files)
        planned = planned_with(_as_arguments(past_deletions(scan, files)))
        rebuilder = SparkRebuilder(session)
        draft = draft_plan(scan, recipes, planned, files=files, rebuilder=rebuilder, told=told)
    if draft.plan is not None:
        write_plan(draft.plan, out)
    return without_left_out(planned, {one.table for one in draft.left_out}), draft


def _refuse_unwritable(out: str) -> None:
    """Before the hours of planning, not after them."""
    if os.path.exists(out):
        raise UserError(f"{out} exists already", hint="a plan is never replaced: give another name, or remove it")
    folder = os.path.dirname(os.path.abspath(out))
    if not os.path.isdir(folder):
        raise UserError(f"there is no folder {folder}", hint="make it, or give another name with --out")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"nothing may be written to {folder}", hint="give another name with --out")


def _stale(scan: Scan) -> list[str]:
    """What a person should know who plans with an old scan."""
    changed = [table.name for table in scan.tables if changed_since(table)]
    if not changed:
        return []
    more = f" and {len(changed) - 1:,} more have" if changed[1:] else " has"
    return [f"{changed[0]}{more} changed since the scan, and cannot go as planned: run `r2d2 update` first"]


def _past(scan: Scan) -> dict[str, Any]:
    """What earlier deletions say, where a lake can have any."""
    try:
        with posix_files(lake_root(scan)) as files:
            return _as_arguments(past_deletions(scan, files))
    except UserError:  # several roots, or a lake that is elsewhere: nothing was ever deleted there
        return {}


def _as_arguments(past: PastDeletions) -> dict[str, Any]:
    return {
        "measured_seconds": past.measured_seconds,
        "parents_of_deleted": past.parents_of_deleted,
        "deleted": past.deleted,
    }


@dataclass(frozen=True, slots=True)
class Preview:
    """What applying a plan would do, and what stands against it now."""

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
    path: str, settings: Settings, *, approved_by: str, typed: int | None, empty_too: bool, with_tables: bool
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
        quiet_seconds, now = settings.quiet_period, time.time()
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
    plan: Plan,
    settings: Settings,
    *,
    approval: applying.Approval,
    spark: SparkSession | None = None,
    told: Told = quiet,
    clock: Clock | None = None,
) -> tuple[tuple[Recovered, ...], tuple[applying.Applied, ...]]:
    """Apply a plan to its lake."""
    counted = Counter[type[Operation]]()

    def progress(operation: Operation) -> None:
        if isinstance(operation, UsePlan):
            here.session()  # where Spark does not start, the plan is not used up
        if type(operation) in _SAID:
            told(_SAID[type(operation)], counted[type(operation)], len(plan.entries))
            counted[type(operation)] += len(operation.tables) if isinstance(operation, VerifyAside) else 1

    with opened(plan.lake_root, settings, spark=spark, clock=clock) as here:
        done = applying.apply(
            here.lake,
            plan,
            rebuilder=here.rebuilder,
            approval=approval,
            count_lake=lambda: count_lake(here.lake.files.root),
            quiet_seconds=settings.quiet_period,
            progress=progress,
        )
        return here.recovered, done


_SAID: dict[type[Operation], str] = {
    CheckTables: "checking every byte",
    MoveAside: "moving to quarantine",
    VerifyAside: "comparing values",
    Commit: "recording",
}


def _is_untouched(root: str) -> bool:
    """Whether nothing was ever deleted there: then nothing is to be done, and no folder to be left behind."""
    with _looking(root) as files:
        return files.stat(SAFETY) is None


def drill_tables(
    root: str, settings: Settings, tables: Sequence[str], *, spark: SparkSession | None = None, told: Told = quiet
) -> tuple[tuple[Recovered, ...], tuple[drilling.Drill, ...]]:
    """Rebuild deleted tables on trial: these, or all."""
    if not tables and _is_untouched(root):
        return (), ()
    with _opened_if_touched(root, settings, spark=spark, told=told) as here:
        away = deleted(here.lake.registry)
        here.rebuilder.expect(len(tables) or len(away))
        if away:
            told("starting Spark", 0, 0)
            here.session()  # how long a rebuild takes is recorded, and this is no part of it
        return here.recovered, drilling.drill(here.lake, rebuilder=here.rebuilder, tables=tables or None)


def purge_tables(
    root: str, settings: Settings, *, clock: Clock | None = None
) -> tuple[tuple[Recovered, ...], tuple[purging.Purge, ...]]:
    """Free the space of tables in quarantine whose time is over and that can be rebuilt."""
    if _is_untouched(root):
        return (), ()
    with opened(root, settings, clock=clock) as here:
        return here.recovered, purging.purge(here.lake, retention_seconds=settings.retention * DAY_SECONDS)


def restore_tables(
    root: str,
    settings: Settings,
    tables: Sequence[str] | None,
    *,
    to: str = "",
    spark: SparkSession | None = None,
    told: Told = quiet,
) -> tuple[tuple[Recovered, ...], tuple[restoring.Restore, ...]]:
    """Bring deleted tables back: these, or all (None); with *to*, copies into another folder."""
    with _opened_if_touched(root, settings, spark=spark, told=told) as here:
        here.rebuilder.expect(len(tables or deleted(here.lake.registry)))
        if not to:
            return here.recovered, restoring.restore(here.lake, rebuilder=here.rebuilder, tables=tables)
        with posix_files(_made(to, here.lake.files.root)) as there:
            return here.recovered, restoring.restore(here.lake, rebuilder=here.rebuilder, tables=tables, to=there)


def forget_tables(
    root: str, settings: Settings, tables: Sequence[str], *, approved_by: str
) -> tuple[tuple[Recovered, ...], tuple[forgetting.Forget, ...]]:
    """Give up tables that are lost: no command speaks of them any more, but for `status`."""
    with _opened_if_touched(root, settings, spark=None, told=quiet) as here:
        return here.recovered, forgetting.forget(here.lake, tables=tables, approved_by=approved_by)


def _made(folder: str, lake_root: str) -> str:
    """The folder, which is made if it is not there."""
    if f"{os.path.realpath(folder)}/".startswith(f"{lake_root}/{SAFETY}/"):
        raise Refused(f"{folder} is in the safety folder", hint="restore to another folder")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made ({error.strerror})", hint="give another folder with --to") from error
    return folder


def status_of(root: str, settings: Settings) -> tuple[tuple[Recovered, ...], standing.Status]:
    """What is deleted, where it is, and when it can go for good."""
    return _after_recovery(
        root, lambda files: standing.status(files, retention_seconds=settings.retention * DAY_SECONDS)
    )


def doctor_of(root: str, *, deep: bool) -> tuple[tuple[Recovered, ...], tuple[doctoring.Finding, ...]]:
    """Everything that could be wrong with what was deleted."""
    recovered, found = _after_recovery(root, lambda files: doctoring.doctor(files, deep=deep))
    known = {one.table for one in found if one.severity == doctoring.BAD}
    left = [one for one in recovered if not one.did and one.table and one.table not in known]
    hint = "put that right; the next command then settles it, and `r2d2 restore` rebuilds it if it can"
    stuck = (doctoring.Finding(doctoring.BAD, "pending", one.table, one.because, hint) for one in left)
    return recovered, (*found, *stuck)


def endangered(scan: Scan, changed: Collection[str]) -> tuple[doctoring.Finding, ...]:
    """What is wrong with tables that were deleted here; every byte is read if a parent of one is in *changed*."""
    try:
        with posix_files(lake_root(scan)) as files:
            parents = past_deletions(scan, files).parents_of_deleted
            found = doctoring.doctor(files, deep=not parents.keys().isdisjoint(changed))
    except UserError:  # several roots, or a lake that is elsewhere: nothing was ever deleted there
        return ()
    return tuple(one for one in found if one.severity == doctoring.BAD)


def _after_recovery(root: str, look: Callable[[PosixFiles], Any]) -> tuple[tuple[Recovered, ...], Any]:
    """Recover, if something is half-way and nobody else is at work, then look: whatever recovery could not do."""
    with _looking(root) as files:
        recovered: tuple[Recovered, ...] = ()
        try:
            recovered = recover_files(files)
        except (Busy, JournalDamaged):  # whoever looks is told by what they look at
            pass
        except R2D2Error as error:
            recovered = (Recovered("", "", in_one_line(error)),)
        return recovered, look(files)


def _refuse_part(files: PosixFiles) -> None:
    """Who asks in a folder of a lake would be told that nothing is deleted there."""
    above = files.lies_above(SAFETY)
    if above is not None and not os.path.lexists(os.path.join(files.root, SAFETY)):
        raise UserError(f"{files.root} is a folder of the lake {above}", hint=f"--lake {above} names that")


@contextmanager
def _looking(root: str) -> Iterator[PosixFiles]:
    """The files of a lake for somebody who only looks: what they may not read is said, and is no bug."""
    with posix_files(root) as files:
        _refuse_part(files)
        try:
            yield files
        except OSError as error:
            raise disk_error(error) from error
