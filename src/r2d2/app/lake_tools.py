"""What the pipeline needs of the world: the tables of a lake, what their metadata say, and their rows, by Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from r2d2.app.right_here import NotHere, compare_here, is_little, read_here, run_here
from r2d2.engine.rows.compare_tables import Pair
from r2d2.engine.rows.content import Answer, Content, TableContent
from r2d2.engine.rows.hash_slices import Hashing, Piece
from r2d2.engine.run.tasks import run_tasks
from r2d2.engine.run.udp_progress import Address, listen
from r2d2.engine.spark.session import LazySession
from r2d2.errors import TableError
from r2d2.formats.merge import FilesProfile
from r2d2.formats.parquet.ranges import slice_range
from r2d2.formats.parquet.read import read_slice, slices
from r2d2.lake.deadly_slices import deadly_slices
from r2d2.lake.discover import discover
from r2d2.lake.read_metadata import Metadata, read_metadata
from r2d2.lake.table_profile import table_profile
from r2d2.model.containment import Missing
from r2d2.model.profile import TableProfile
from r2d2.model.progress import Done, Reading
from r2d2.model.scan import Scan
from r2d2.model.table import DataFile, Discovery, Problem, Profiled, Table
from r2d2.model.versions import FileVersion
from r2d2.pipeline import Progress, Tools, silent
from r2d2.settings import Settings

READ_SECONDS = 300.0  # a slice that takes longer to read, when one of them has killed a reader, is called deadly
FILES_AT_HAND = 200  # footers that are read sooner here than by a job of Spark's …
FILES_MEANWHILE = 2_000  # … and while it starts


def lake_tools(
    session: LazySession,
    key: bytes,
    *,
    hash_bits: int = 128,
    shown: bool = False,
    at_hand: int = 0,
    meanwhile: int = 0,
) -> Tools:
    """What the pipeline needs of the world.

    With *shown*, running jobs tell how far they are. The metadata of up to *at_hand* files is read without Spark, that
    of up to *meanwhile* files while it starts.
    """
    return Tools(
        discover=discover_tables,
        profile=_Profiler(session, at_hand, meanwhile),
        content=partial(_content, session, hashing_with(key, hash_bits), shown),
    )


def discover_tables(
    roots: Sequence[str], settings: Settings, progress: Progress, *, apart: Collection[str] = ()
) -> Discovery:
    """The tables below some folders, as the settings have them; the files of folders *apart* do not fit together."""
    return discover(
        roots,
        include=settings.include,
        exclude=settings.exclude,
        folder_tables=settings.folder_table,
        split=settings.split,
        apart=apart,
        progress=lambda tables: progress("discover", tables, None),
    )


class _Profiler:
    """Profiles from the files' metadata."""

    def __init__(self, session: LazySession, at_hand: int = 0, meanwhile: int = 0) -> None:
        self._session = session
        self._at_hand = at_hand
        self._meanwhile = 0 if session.is_open else meanwhile
        self._seen: dict[tuple[str, FileVersion], FilesProfile] = {}  # of files in folders that were taken apart

    def __call__(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Profiled:
        if not tables:
            return Profiled((), (), ())
        progress("profile", 0, len(tables))
        metadata = self._metadata(tables, settings, progress)
        problems, done = metadata.problems, []
        for table in tables:
            if table.name in metadata.merged:
                try:
                    done.append(
                        table_profile(
                            table,
                            metadata.merged[table.name],
                            ignore_case=settings.ignore_case,
                            partition_types=settings.partition_types,
                        )
                    )
                except TableError as error:
                    problems.append(Problem(table.name, str(error.args[0]), hint=error.hint))
        return Profiled(
            [table for table, _ in done], [profile for _, profile in done], problems, frozenset(metadata.apart)
        )

    def _metadata(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Metadata:
        """What the files' metadata say; that of files in folders that were taken apart is known already."""
        known = {t.name: self._seen[key] for t in tables if t.is_file and (key := _state(t.files[0])) in self._seen}
        metadata = self._read([table for table in tables if table.name not in known], settings, progress)
        states = {file.path: _state(file) for table in tables for file in table.files}
        self._seen = {states[path]: profile for path, profile in metadata.of_files.items()}
        metadata.merged |= known
        return metadata

    def _read(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Metadata:
        """The metadata of few files is read here, which is sooner than a job of Spark's."""
        if not tables:
            return Metadata()
        files = sum(len(table.files) for table in tables)
        if files <= self._meanwhile:
            self._session.begin()
        if files <= max(self._at_hand, self._meanwhile):
            with suppress(NotHere):
                return read_metadata(tables, run_tasks=_right_here, timeout_seconds=settings.footer_timeout)
        with listen(self._session(), None if progress is silent else partial(_tell_files, progress, files)) as address:
            run = partial(run_tasks, self._session(), report_to=address)
            return read_metadata(tables, run_tasks=run, timeout_seconds=settings.footer_timeout)


def _state(file: DataFile) -> tuple[str, FileVersion]:
    return file.path, file.version


def _right_here(
    pieces: Sequence[Any], *, task: Callable[[Any], Iterable[str]], weight: Callable[[Any], float], per_task: float
) -> list[str]:
    """All pieces in one bundle, in one process."""
    assert isinstance(task, partial)
    return read_here(pieces, seconds=task.keywords["timeout_seconds"])


def _tell_files(progress: Progress, files: int, done: Done) -> None:
    progress("profile", done.pieces, files, unit="files")


class LakeContent(Content):
    """The content of a lake's tables, and what could not be read of it."""

    def __init__(
        self,
        scan: Scan,
        session: LazySession,
        hashing: Hashing,
        report: Callable[[Reading], None] | None,
    ) -> None:
        tables = _Contents(scan)
        find_deadly = partial(deadly_slices, timeout_seconds=READ_SECONDS)
        super().__init__(session, tables, hashing, find_deadly, report=report)
        self._names = [table.name for table in scan.tables]
        self._here = False

    def _watched(self, pieces: Sequence[Piece], job: Callable[[Sequence[Piece], Address | None], Answer]) -> Answer:
        """Little work does not wait for Spark to start. If nothing comes of it, Spark is asked."""
        if isinstance(self.spark, LazySession) and not self.spark.is_open and is_little(pieces):
            self._here = True
            try:
                return job(pieces, None)
            except NotHere:
                pass
            finally:
                self._here = False
        return super()._watched(pieces, job)

    def run_pieces(
        self, pieces: Sequence[Piece], task: Callable[[Any], Iterable[str]], report_to: Address | None
    ) -> list[str]:
        """The answers of a task about some pieces."""
        if not self._here:
            return super().run_pieces(pieces, task, report_to)
        assert isinstance(task, partial)
        return run_here(task.func.__name__, pieces, key=self.hashing.key, bits=self.hashing.bits)

    def count_missing(
        self, pieces: Sequence[Piece], edges: Mapping[int, Sequence[Pair]], report_to: Address | None
    ) -> tuple[dict[Pair, Missing], list[str]]:
        """What is missing over each edge, and notes."""
        if not self._here:
            return super().count_missing(pieces, edges, report_to)
        hashing = self.hashing
        return compare_here(pieces, edges, key=hashing.key, bits=hashing.bits)

    def problems(self) -> list[Problem]:
        """The tables that could not be read so far."""
        return [Problem(self._names[n], because, hint=hint) for n, (because, hint) in sorted(self.failed.items())]


class _Contents(Sequence[TableContent]):
    """Where the rows of each table of a scan are; worked out when it is asked."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._known: dict[int, TableContent] = {}

    def __len__(self) -> int:
        return len(self._scan.tables)

    def __getitem__(self, number: Any) -> Any:
        if number not in self._known:
            self._known[number] = table_content(self._scan.tables[number], self._scan.profiles[number], self._scan)
        return self._known[number]


def _content(
    session: LazySession,
    hashing: Hashing,
    shown: bool,
    scan: Scan,
    settings: Settings,
    report: Callable[[Reading], None],
) -> LakeContent:
    return LakeContent(scan, session, hashing, report if shown else None)


def hashing_with(key: bytes, bits: int = 128) -> Hashing:
    """How rows become hashes under a state's key."""
    return Hashing(read_slice, key, bits, slice_range)


def table_content(table: Table, profile: TableProfile, scan: Scan) -> TableContent:
    """Where the rows of a table of a scan are."""
    types = {column.token[0]: column.type_name for column in profile.schema.columns if len(column.token) == 1}
    fold = scan.settings.ignore_case
    raw_types = {key: types[key.casefold() if fold else key] for file in table.files for key, _ in file.partition}
    return TableContent(tuple(slices(table.files, raw_types, fold_case=fold)), profile.schema.columns, table.location)
