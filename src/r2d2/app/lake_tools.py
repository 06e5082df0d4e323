"""Tools for the pipeline: they list the tables of a lake, read their metadata, and give access to their rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import cast, overload

from r2d2.app.child_tasks import child_program, hashing_with, is_little, reading_metadata
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.rows.table_content import TableContent
from r2d2.engine.run.child_process import ChildProcess
from r2d2.engine.run.contract import Executor, last_try
from r2d2.engine.run.little_first import LittleFirst
from r2d2.engine.run.spark import SparkExecutor
from r2d2.engine.spark.session import LazySession
from r2d2.errors import TableError
from r2d2.formats.merge import FilesProfile
from r2d2.formats.registry import format_of
from r2d2.lake.deadly_slices import deadly_slices
from r2d2.lake.discover import discover
from r2d2.lake.read_metadata import Metadata, gather_metadata, metadata_work
from r2d2.lake.table_profile import table_profile
from r2d2.model.profile import TableProfile
from r2d2.model.progress import News, Progress, silent, through
from r2d2.model.scan import Scan
from r2d2.model.table import DataFile, Discovery, Problem, Profiled, Table
from r2d2.model.versions import FileVersion
from r2d2.model.work import MetadataWork, ShippedSlice
from r2d2.pipeline import Tools
from r2d2.settings import Settings

READ_SECONDS = 300.0  # a slice that takes longer to read, when one of them has killed a reader, is called deadly
FILES_AT_HAND = 200  # footers that are read sooner here than by a job of Spark's …
FILES_MEANWHILE = 2_000  # … and while it starts


def lake_tools(
    session: LazySession,
    key: bytes,
    *,
    hash_bits: int = 128,
    at_hand: int = 0,
    meanwhile: int = 0,
) -> Tools:
    """Tools of the pipeline for a lake on disk.

    The metadata of up to *at_hand* files is read without Spark, that of up to *meanwhile* files while it starts.
    """
    return Tools(
        discover=discover_tables,
        profile=_Profiler(session, at_hand, meanwhile),
        content=partial(_content, session, hashing_with(key, hash_bits)),
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
        progress=progress,
    )


class _Profiler:
    """Profiles from the files' metadata."""

    def __init__(self, session: LazySession, at_hand: int = 0, meanwhile: int = 0) -> None:
        self._session = session
        self._at_hand = at_hand
        self._meanwhile = 0 if session.is_open else meanwhile
        self._executor = LittleFirst(ChildProcess(child_program), SparkExecutor(session), self._are_few)
        self._seen: dict[tuple[str, FileVersion], FilesProfile] = {}  # of files in folders that were taken apart

    def __call__(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Profiled:
        if not tables:
            return Profiled((), (), ())
        progress(News("profile", 0, len(tables)))
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
        """The metadata of the files; that of files in folders that were taken apart is known already."""
        known = {t.name: self._seen[key] for t in tables if t.is_file and (key := _state(t.files[0])) in self._seen}
        metadata = self._read([table for table in tables if table.name not in known], settings, progress)
        states = {file.path: _state(file) for table in tables for file in table.files}
        self._seen = {states[path]: profile for path, profile in metadata.of_files.items()}
        metadata.merged |= known
        return metadata

    def _read(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Metadata:
        """Read the metadata of few files at hand, which is sooner than a job of Spark's."""
        if not tables:
            return Metadata()
        files = sum(len(table.files) for table in tables)
        if files <= self._meanwhile:
            self._session.begin()
        reading = through(progress, lambda news: News("profile", news.pieces, files, "files"))
        return read_metadata(tables, self._executor, timeout_seconds=settings.footer_timeout, progress=reading)

    def _are_few(self, items: Sequence[object]) -> bool:
        files = sum(len(item["paths"]) for item in cast(Sequence[MetadataWork], items))
        return files <= max(self._at_hand, self._meanwhile)


def read_metadata(
    tables: Sequence[Table], executor: Executor, *, timeout_seconds: float, progress: Progress = silent
) -> Metadata:
    """Read the metadata of all files and merge it by table."""
    with last_try():
        answers = executor.run(reading_metadata(timeout_seconds), metadata_work(tables), progress)
    return gather_metadata(tables, answers)


def _state(file: DataFile) -> tuple[str, FileVersion]:
    return file.path, file.version


def lake_content(scan: Scan, executor: Executor, hashing: Hashing, progress: Progress = silent) -> Content:
    """The content of a lake's tables, read by an executor."""
    find_deadly = partial(deadly_slices, timeout_seconds=READ_SECONDS)
    return Content(executor, _Contents(scan), hashing, find_deadly, progress=progress)


def little_first(session: LazySession) -> Executor:
    """The executor that does not wait for Spark to start where there is little to read."""

    def is_sooner_here(items: Sequence[object]) -> bool:
        return not session.is_open and is_little(items)

    return LittleFirst(ChildProcess(child_program), SparkExecutor(session), is_sooner_here)


class _Contents(Sequence[TableContent]):
    """Where the rows of each table of a scan are; worked out when it is asked."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._known: dict[int, TableContent] = {}

    def __len__(self) -> int:
        return len(self._scan.tables)

    @overload
    def __getitem__(self, number: int) -> TableContent: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[TableContent]: ...
    def __getitem__(self, number: int | slice) -> TableContent | Sequence[TableContent]:
        if isinstance(number, slice):
            return [self[place] for place in range(len(self))[number]]
        if number not in self._known:
            self._known[number] = table_content(self._scan.tables[number], self._scan.profiles[number], self._scan)
        return self._known[number]


def _content(session: LazySession, hashing: Hashing, scan: Scan, settings: Settings, progress: Progress) -> Content:
    return lake_content(scan, little_first(session), hashing, progress)


def table_content(table: Table, profile: TableProfile, scan: Scan) -> TableContent:
    """Where the rows of a table of a scan are."""
    types = {column.token[0]: column.type_name for column in profile.schema.columns if len(column.token) == 1}
    fold = scan.settings.ignore_case
    raw_types = {key: types[key.casefold() if fold else key] for file in table.files for key, _ in file.partition}
    parts = cast(tuple[ShippedSlice, ...], tuple(format_of(table).slices(table.files, raw_types, fold_case=fold)))
    return TableContent(parts, profile.schema.columns, table.location, table.name)
