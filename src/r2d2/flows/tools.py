"""Tools of a scan: access to files and rows, and progress, as the steps are given them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from r2d2.model.progress import Progress
from r2d2.model.scan import Scan
from r2d2.model.schema import Token
from r2d2.model.table import Discovery, Problem, Profiled, Table
from r2d2.settings import Settings
from r2d2.steps.edges.ledger import Content as Comparing
from r2d2.steps.prune_by_content import Content as Sampling


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
    content: Callable[[Scan, Settings, Progress], Content]
