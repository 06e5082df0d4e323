"""Tools of a scan: access to files and rows, and progress, as the steps are given them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from r2d2.model.counted import counted
from r2d2.model.progress import Reading
from r2d2.model.scan import Scan
from r2d2.model.schema import Token
from r2d2.model.table import Discovery, Problem, Profiled, Table
from r2d2.settings import Settings
from r2d2.steps.edges.ledger import Content as Comparing
from r2d2.steps.prune_by_content import Content as Sampling


class Progress(Protocol):
    """Callback on how far a step is; the CLI draws it, tests collect it."""

    def __call__(self, step: str, done: int, total: int | None, *, unit: str = "", detail: str = "") -> None:
        """*done* of *total* (None: not known yet), counted in *unit*; *detail* says what else is known."""


def silent(step: str, done: int, total: int | None, *, unit: str = "", detail: str = "") -> None:
    """Progress callback that does nothing."""


class Meter:
    """Progress of a step that reads rows: bytes from the running job, edges from the step."""

    def __init__(self, step: str, progress: Progress) -> None:
        self._step = step
        self._progress = progress
        self._edges = ""

    def settle(self, edges: int, total: int) -> None:
        """Note that so many edges are decided."""
        self._edges = f", {edges:,} of {counted(total, 'edges')} decided"

    def read(self, reading: Reading) -> None:
        """Report how much the running job has read."""
        detail = f"{reading.files:,} of {counted(reading.all_files, 'files')}{self._edges}"
        self._progress(self._step, reading.bytes, reading.all_bytes, unit="bytes", detail=detail)


class Content(Sampling, Comparing, Protocol):
    """Reader of the tables' rows."""

    bytes_read: int  # so far

    def read_through(self, files: Mapping[int, Collection[str]], tokens: Mapping[int, Collection[Token]]) -> None:
        """Read some columns of some files of each table, to see that they can be read."""

    def problems(self) -> Sequence[Problem]:
        """The tables that could not be read so far."""


class Discover(Protocol):
    """Function that lists the tables of a lake."""

    def __call__(
        self, roots: Sequence[str], settings: Settings, progress: Progress, *, apart: Collection[str] = ()
    ) -> Discovery:
        """The tables below some folders. *apart*: folders, by path, whose files are known not to fit one another."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Access to the world for the steps of a scan or an update."""

    discover: Discover
    profile: Callable[[Sequence[Table], Settings, Progress], Profiled]
    content: Callable[[Scan, Settings, Callable[[Reading], None]], Content]
