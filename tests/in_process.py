"""The pipeline on real files without Spark: the tasks' own functions, called one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from r2d2.engine.compare_tables import Pair, compare_at_once
from r2d2.engine.hash_slices import Hashing, Piece
from r2d2.errors import TableError
from r2d2.lake.merge import merge_files
from r2d2.lake.read_slice import read_slice
from r2d2.lake.slice_range import slice_range
from r2d2.lake.source import source_named
from r2d2.lake.table_profile import table_profile
from r2d2.lake_tools import LakeContent, discover_tables
from r2d2.model.scan import Scan
from r2d2.model.table import Problem, Table
from r2d2.pipeline import Profiled, Progress, Tools, run, silent
from r2d2.settings import Settings

KEY = bytes(range(32))
HASHING = Hashing(read_slice, KEY, 128, slice_range)


class PlainContent(LakeContent):
    """Reads with the functions that Spark's tasks call."""

    def run_pieces(
        self, pieces: Sequence[Piece], task: Callable[[Any], Iterable[str]], report_to: Any = None
    ) -> list[str]:
        return list(task(json.loads(json.dumps(pieces))))

    def count_missing(
        self, pieces: Sequence[Piece], edges: Mapping[int, Sequence[Pair]], report_to: Any = None
    ) -> tuple[dict[Pair, tuple[int, int]], list[str]]:
        return compare_at_once(json.loads(json.dumps(pieces)), edges=edges, hashing=self.hashing)


class Reader:
    """Tools for the pipeline, which note what was read."""

    def __init__(self) -> None:
        self.profiled: list[str] = []
        self.read: set[str] = set()
        self.bytes_read = 0
        self.tools = Tools(discover=discover_tables, profile=self._profile, content=self._content)

    def scan(self, lake: str, settings: Settings) -> Scan:
        """A scan from scratch."""
        return run([lake], settings=settings, tools=self.tools, progress=silent)

    def _profile(self, tables: Sequence[Table], settings: Settings, progress: Progress) -> Profiled:
        found, problems = [], []
        for table in tables:
            self.profiled.append(table.name)
            try:
                metadata = merge_files(source_named(table.source).profile_file(file.path) for file in table.files)
                found.append(
                    table_profile(
                        table, metadata, ignore_case=settings.ignore_case, partition_types=settings.partition_types
                    )
                )
            except TableError as error:
                problems.append(Problem(table.name, str(error.args[0]), hint=error.hint))
        return Profiled([table for table, _ in found], [profile for _, profile in found], problems)

    def _content(self, scan: Scan, settings: Settings, report: Any) -> PlainContent:
        reader = self

        class Noting(PlainContent):
            def _survive(self, pieces: Sequence[Piece], job: Any) -> Any:
                reader.read |= {scan.tables[piece["table"]].name for piece in pieces}
                reader.bytes_read += sum(piece["slice"]["bytes"] for piece in pieces)
                return super()._survive(pieces, job)

        return Noting(scan, None, HASHING, None)  # type: ignore[arg-type]
