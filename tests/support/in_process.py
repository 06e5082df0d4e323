"""The pipeline on real files without Spark: the tasks' own functions, called one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from r2d2.app.lake_tools import discover_tables, lake_content
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import Hashing
from r2d2.engine.run.inline import Inline
from r2d2.errors import TableError
from r2d2.formats.merge import FilesProfile, Misfit, merge_files, require_one_table
from r2d2.formats.registry import format_of, read_bytes, read_slice, slice_range
from r2d2.lake.table_profile import table_profile
from r2d2.model.progress import Progress
from r2d2.model.scan import Scan
from r2d2.model.table import Problem, Profiled, Table
from r2d2.pipeline import Tools, run
from r2d2.settings import Settings
from r2d2.stores.local import LocalStore

KEY = bytes(range(32))
HASHING = Hashing(read_slice, KEY, 128, slice_range, read_bytes)


class Reader:
    """Tools for the pipeline, which note what was read."""

    def __init__(self) -> None:
        self.profiled: list[str] = []
        self.read: set[str] = set()
        self.bytes_read = 0
        self.contents: list[Content] = []
        self.tools = Tools(discover=discover_tables, profile=self._profile, content=self._content)

    def scan(self, lake: str, settings: Settings) -> Scan:
        """A scan from scratch."""
        return run([lake], settings=settings, tools=self.tools)

    def _profile(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Profiled:
        found, problems, apart = [], [], set()
        for table in tables:
            self.profiled.append(table.name)
            try:
                metadata = self._merged(table)
                found.append(
                    table_profile(
                        table, metadata, ignore_case=settings.ignore_case, partition_types=settings.partition_types
                    )
                )
            except Misfit as error:
                if table.by_names:
                    apart.add(table.location)
                else:
                    problems.append(Problem(table.name, str(error.args[0]), hint=error.hint))
            except TableError as error:
                problems.append(Problem(table.name, str(error.args[0]), hint=error.hint))
        return Profiled([table for table, _ in found], [profile for _, profile in found], problems, apart)

    def _merged(self, table: Table) -> FilesProfile:
        """All files' metadata; a file that cannot be read counts only if the others fit one another."""
        profiles, failure = [], None
        for file in table.files:
            try:
                profiles.append(format_of(table).profile(file.path, LocalStore()))
            except TableError as error:
                failure = failure or error
        if failure and not table.by_names:
            raise failure
        merged = require_one_table(merge_files(profiles), by_names=table.by_names)
        if failure:
            raise failure
        return merged

    def _content(self, scan: Scan, settings: Settings, progress: Progress) -> Content:
        whose = {file.path: table.name for table in scan.tables for file in table.files}

        def noting(part: Any, tokens: Any) -> Any:
            self.read.add(whose[part["path"]])
            self.bytes_read += part["bytes"]
            return read_slice(part, tokens)

        hashing = replace(HASHING, read=noting)
        content = lake_content(scan, Inline(), hashing)
        self.contents.append(content)
        return content
