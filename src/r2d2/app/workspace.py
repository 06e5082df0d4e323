"""One command's workspace: settings, state, Spark, clock and progress; and the lake, opened and recovered once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from r2d2.app.by_values import ByValues
from r2d2.app.child_tasks import hashing_with
from r2d2.app.deletions import (
    Deletions,
    open_deletions,
    past_deletions,
    recover_files,
    recover_root,
)
from r2d2.app.lake_tools import lake_content, lake_tools
from r2d2.engine.rows.content import Content
from r2d2.engine.run.spark import SparkExecutor
from r2d2.engine.second_reader.rebuilder import SparkRebuilder
from r2d2.engine.spark.session import LazySession
from r2d2.errors import R2D2Error, StateError, UserError
from r2d2.flows.plan import NO_DELETIONS, PastDeletions
from r2d2.model.counted import counted
from r2d2.model.progress import Progress, silent
from r2d2.model.scan import Scan
from r2d2.pipeline import Tools
from r2d2.safety.errors import Busy, JournalDamaged, disk_error, in_one_line
from r2d2.safety.files import refuse_remote
from r2d2.safety.locked_lake import Clock, Lake, posix_files
from r2d2.safety.paths import SAFETY
from r2d2.safety.posix import PosixFiles
from r2d2.safety.recovery import Recovered, open_lake
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from r2d2.steps.leave_out_absent import leave_out_absent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Opened:
    """A locked lake, and what recovery did before the command began."""

    lake: Lake
    rebuilder: ByValues
    recovered: tuple[Recovered, ...]
    session: LazySession


class Workspace:
    """Everything that a command works with. One serves one command; its answers do not change meanwhile."""

    def __init__(
        self,
        settings: Settings,
        *,
        spark: SparkSession | None = None,
        clock: Clock | None = None,
        lake: str = "",
        progress: Progress = silent,
    ) -> None:
        """Take *spark* as a session to use, never to stop; *lake* as the lake's folder, if not the newest scan's."""
        self.settings = settings
        self.store = StateStore(settings.state)
        self.spark = spark
        self.clock = clock or Clock()
        self.progress = progress
        self._lake = lake
        self._newest: Scan | None = None
        self._scan: Scan | None = None

    def newest(self) -> Scan:
        """The newest scan in the state folder, as it was saved."""
        if self._newest is None:
            self._newest = self.store.load()
        return self._newest

    def scan(self) -> Scan:
        """The newest scan with the tables marked that are deleted now."""
        return self.marked(self.newest())

    def scan_of_present(self) -> Scan:
        """The newest scan without the tables that are deleted."""
        return leave_out_absent(self.scan())

    def marked(self, scan: Scan) -> Scan:
        """The scan with its deleted tables marked; as it is where the journal cannot be read.

        `update` and `doctor` name a damaged journal; showing a graph goes on. The newest scan is marked once.
        """
        if scan is not self._newest:
            return self._mark(scan)
        if self._scan is None:
            self._scan = self._mark(scan)
        return self._scan

    def _mark(self, scan: Scan) -> Scan:
        try:
            with self.deletions(scan) as found:
                if found is None:
                    return scan
                findings = found.findings(deep=False) if found.registry.active else ()
                return replace(scan, absent=found.absent(scan, findings))
        except (R2D2Error, OSError):
            return scan

    @contextmanager
    def deletions(self, scan: Scan) -> Iterator[Deletions | None]:
        """Open the lake of a scan and recover it; None where no table can have been deleted.

        That is so with several roots, and with a lake that is elsewhere.
        """
        try:
            root = lake_root(scan)
        except UserError:
            self.recover(scan.roots)
            yield None
            return
        with open_deletions(root) as found:
            yield found

    def recover(self, roots: Sequence[str]) -> None:
        """Finish or undo what a crash left half-way under *roots*, and log it."""
        for root in roots:
            recover_root(root)

    def past_deletions(self, scan: Scan) -> PastDeletions:
        """Earlier deletions by the tables of *scan*, which may be without the deleted ones, from the journal of now.

        Planning takes long: what was deleted meanwhile counts.
        """
        try:
            with posix_files(lake_root(scan)) as files:
                return past_deletions(scan, Deletions(files).registry, files.root)
        except UserError:  # several roots, or a lake that is elsewhere: nothing was ever deleted there
            return NO_DELETIONS

    def session(self, *, works: bool = False) -> LazySession:
        """A Spark session that starts when it is first used; *works* for one that reads whole tables."""
        return LazySession(self.settings, self.spark, works=works)

    def tools(self, session: LazySession, *, hash_bits: int = 128, **how: int) -> Tools:
        """The world as the steps of a scan need it; *how* is handed on to `lake_tools`."""
        return lake_tools(session, self.store.key(), hash_bits=hash_bits, **how)

    def content(self, scan: Scan, session: LazySession) -> Content:
        """Access to the rows of a scan's tables."""
        return lake_content(scan, SparkExecutor(session), hashing_with(self.store.key()))

    def root(self) -> str:
        """The lake's folder: as given, or that of the newest scan."""
        if self._lake:
            return self._lake
        hint = "--lake DIR names the lake's folder, --state DIR a folder with a scan of it"
        try:
            return lake_root(self.newest())
        except StateError as error:
            raise StateError(str(error.args[0]), hint=hint) from error
        except UserError as error:
            raise UserError(str(error.args[0]), hint=hint) from error

    @contextmanager
    def looking(self) -> Iterator[PosixFiles]:
        """Open the lake for reading; a file that may not be read is an error of one sentence."""
        with posix_files(self.root()) as files:
            _refuse_part(files)
            try:
                yield files
            except OSError as error:
                raise disk_error(error) from error

    def recovered(self, files: PosixFiles) -> tuple[Recovered, ...]:
        """Recover a lake that is open for reading, if nobody else is at work; say what stands in the way."""
        try:
            return recover_files(files)
        except (Busy, JournalDamaged):  # status and doctor say it in their own words
            return ()
        except R2D2Error as error:
            return (Recovered("", "", in_one_line(error)),)

    @contextmanager
    def locked(self, files: PosixFiles) -> Iterator[Opened]:
        """Lock a lake and recover it. Spark starts only if something is read."""
        with self.session(works=True) as session, open_lake(files, self.clock) as (lake, recovered):
            yield Opened(lake, ByValues(SparkRebuilder(session), self.progress), recovered, session)

    @contextmanager
    def locked_if_touched(self) -> Iterator[Opened | None]:
        """Lock and recover the lake; None if nothing was ever deleted there, and nothing is written then."""
        with self.looking() as files:
            if files.stat(SAFETY) is None:
                yield None
                return
            with self.locked(files) as opened:
                yield opened

    @contextmanager
    def locked_lake(self) -> Iterator[Opened]:
        """Lock and recover the lake; refuse one where nothing was ever deleted."""
        with self.locked_if_touched() as opened:
            if opened is None:
                raise UserError(f"nothing was ever deleted in {self.root()}", hint="--lake DIR names the lake's folder")
            yield opened


def lake_root(scan: Scan) -> str:
    """The one folder that holds all tables of a scan: where safe deletion works."""
    for root in scan.roots:
        refuse_remote(root)
        refuse_gone(root)
    if len(scan.roots) != 1 or not os.path.isdir(scan.roots[0]):
        raise UserError(
            f"tables are deleted in one folder at a time, and the scan has {counted(len(scan.roots), 'roots')}"
            if len(scan.roots) != 1
            else f"{scan.roots[0]} is no folder of tables",
            hint="scan the folder that holds them all, with a state of its own: --state DIR",
        )
    return os.path.realpath(scan.roots[0])


def refuse_gone(root: str) -> None:
    """Refuse a lake that was scanned and is no longer there."""
    if "://" not in root and not os.path.lexists(root):
        raise UserError(f"{root} is not there any more", hint="is its disk mounted? If it was moved, scan it there")


def _refuse_part(files: PosixFiles) -> None:
    """Refuse a folder inside a lake: the lake's journal lies above it."""
    above = files.lies_above(SAFETY)
    if above is not None and not os.path.lexists(os.path.join(files.root, SAFETY)):
        raise UserError(f"{files.root} is a folder of the lake {above}", hint=f"--lake {above} names that")
