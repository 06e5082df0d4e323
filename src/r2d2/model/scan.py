"""The scan: results of a run so far. Each step takes one and returns one with more results."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from r2d2.model.containment import EXACT_BAG, EXACT_SET, Containment
from r2d2.model.graph import NO_GRAPH, NO_SCHEMA_GRAPH, ContainmentGraph, SchemaGraph
from r2d2.model.profile import TableProfile
from r2d2.model.scan_settings import ScanSettings
from r2d2.model.table import Absent, Problem, Table


@dataclass(frozen=True, slots=True)
class FunnelLine:
    """One step of the funnel: tables or edges left after it, counts of dropped ones by reason, and its seconds."""

    step: str
    left: int
    unit: str  # "tables" or "edges"
    seconds: float
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Scan:
    """Results of the steps so far. Tables, profiles and table numbers run in the same order."""

    roots: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    problems: tuple[Problem, ...] = ()
    overlaps: frozenset[tuple[str, str]] = frozenset()
    profiles: tuple[TableProfile, ...] = ()
    schema_graph: SchemaGraph = NO_SCHEMA_GRAPH
    graph: ContainmentGraph = NO_GRAPH
    funnel: tuple[FunnelLine, ...] = ()
    settings: ScanSettings = field(default_factory=ScanSettings)
    in_force: Mapping[str, object] = field(default_factory=dict)  # all settings of the run, for the record
    session_seconds: float = 0.0  # how long Spark took to start
    run: str = ""  # the run's name in the state folder
    listed_ns: int = 0  # start of listing the files: files written later may have changed since
    bytes_read: int = 0  # bytes of the slices whose rows were read, counted at each read
    since_runs: tuple[str, ...] = ()  # earlier runs that proved edges that still hold
    since: array[int] = field(default_factory=lambda: array("I"))  # for each standing edge, its place in since_runs
    absent: Mapping[str, Absent] = field(default_factory=dict)  # deleted tables that are still part of the graph
    unsampled: frozenset[str] = frozenset()  # the tables that were absent when rows were sampled

    def standing_since(self, edge: int) -> str:
        """The run that decided the standing edge at this place; no later change could affect it."""
        earlier = edge < len(self.since) and self.since[edge] < len(self.since_runs)
        return self.since_runs[self.since[edge]] if earlier else self.run

    @cached_property
    def number_of(self) -> Mapping[str, int]:
        """The number of each table by name, and by its aliases."""
        names = {alias: number for number, table in enumerate(self.tables) for alias in table.aliases}
        return names | {table.name: number for number, table in enumerate(self.tables)}

    @property
    def bag(self) -> bool:
        """Whether copies of a row were counted."""
        return self.settings.bag

    @property
    def containment(self) -> Containment:
        """The containment policy of its edges."""
        return EXACT_BAG if self.settings.bag else EXACT_SET

    @property
    def sample_rows(self) -> int:
        """Number of rows sampled from each child."""
        return self.settings.rows

    @property
    def ranked_profiles(self) -> list[TableProfile]:
        """The profiles from which the columns of samples were chosen."""
        return [profile for profile in self.profiles if profile.table not in self.unsampled]

    @property
    def samples_guarantee(self) -> bool:
        """Whether samples satisfy Theorem 4.2: on request, and whenever the result rests on them."""
        return self.settings.epsilon > 0 or not self.settings.verify

    @property
    def probe_width(self) -> int | None:
        """Most columns in which a sampled row was looked up; None: in all columns of its table."""
        return None if self.samples_guarantee else self.settings.columns

    @property
    def needs_a_look(self) -> bool:
        """Whether a part of the lake could not be scanned."""
        return any(problem.needs_a_look for problem in self.problems)

    @property
    def rows(self) -> int:
        """Rows of all tables in the lake, as far as known."""
        return sum(profile.rows or 0 for profile in self.profiles if profile.table not in self.absent)

    @property
    def size_bytes(self) -> int:
        """Bytes of all tables in the lake."""
        return sum(profile.size_bytes for profile in self.profiles if profile.table not in self.absent)
