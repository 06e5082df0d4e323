"""Start reading here: the steps, in order, and `run`, which takes a lake through them.

A step takes what is known so far and returns it with more known or fewer edges; every edge it drops keeps its
reason. What touches files or Spark comes in as `Tools`, so that the steps themselves only decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, Protocol

from r2d2.model.containment import Missing
from r2d2.model.counted import counted
from r2d2.model.progress import Reading
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.schema import Token
from r2d2.model.table import Discovery, Problem, Profiled, Table
from r2d2.settings import Settings
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.prune_by_content import Content as Sampling
from r2d2.steps.prune_by_content import prune_by_content, rows_to_sample
from r2d2.steps.prune_by_minmax import prune_by_minmax
from r2d2.steps.settle_tables import Known, settle_tables
from r2d2.steps.verify_containment import Content as Comparing
from r2d2.steps.verify_containment import Pair, drop_unreadable, verify_containment


class Progress(Protocol):
    """Told how far a step is; the CLI draws it, tests collect it."""

    def __call__(self, step: str, done: int, total: int | None, *, unit: str = "", detail: str = "") -> None:
        """*done* of *total* (None: not known yet), counted in *unit*; *detail* says what else is known."""


def silent(step: str, done: int, total: int | None, *, unit: str = "", detail: str = "") -> None:
    """Progress callback that does nothing."""


class Content(Sampling, Comparing, Protocol):
    """Whoever can read the tables' rows."""

    bytes_read: int  # so far
    kept_bytes_read: int  # of hashes that were kept from earlier runs

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
    """What the pipeline needs of the world."""

    discover: Discover
    profile: Callable[[Sequence[Table], Settings, Progress], Profiled]
    content: Callable[[Scan, Settings, Callable[[Reading], None]], Content]


def _discover(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Which tables are there?"""
    listed_ns = time.time_ns()
    return listed(scan, tools.discover(scan.roots, settings, progress), listed_ns)


def listed(scan: Scan, found: Discovery, listed_ns: int) -> Scan:
    """The scan with what was found in the lake, which was listed at this time."""
    return replace(
        scan,
        roots=found.roots,
        tables=found.tables,
        problems=found.problems,
        overlaps=found.overlaps,
        listed_ns=listed_ns,
    )


def _profile(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """What does their metadata say?"""
    return profile_knowing(lambda tables: {}, scan, tools, settings, progress)


def profile_knowing(known: Known, scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """The step where some tables and their profiles may be *known*. Schemas may make several tables of one."""
    found, profiled = settle_tables(
        Discovery(scan.roots, scan.tables, scan.problems, scan.overlaps),
        profile=lambda tables: tools.profile(tables, settings, progress),
        discover_again=lambda apart: tools.discover(scan.roots, settings, progress, apart=apart),
        known=known,
    )
    return replace(
        listed(scan, found, scan.listed_ns),
        tables=tuple(profiled.tables),
        profiles=tuple(profiled.profiles),
        problems=(*found.problems, *profiled.problems),
    )


def _build_schema_graph(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Whose columns hold whose?"""
    return replace(scan, schema_graph=build_schema_graph(scan.profiles, scan.containment))


def _prune_by_minmax(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Which of these pairs do ranges, nulls and counts rule out?"""
    assert scan.schema_graph is not None
    pruned = prune_by_minmax(
        scan.schema_graph, profiles=scan.profiles, overlaps=scan.overlaps, containment=scan.containment
    )
    return replace(scan, graph=pruned)


def _prune_by_content(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """In which pairs is a sampled row of the child not in the parent?"""
    assert scan.graph is not None
    content = tools.content(scan, settings, Meter("prune_by_content", progress).read)
    pruned = prune_by_content(
        scan.graph,
        profiles=scan.profiles,
        width=settings.columns,
        rows=sampled_rows(settings),
        guaranteed=scan.samples_guarantee,
        content=content,
        containment=scan.containment,
        small_too=not settings.verify,
        ranked=scan.ranked_profiles,
    )
    return noted(replace(scan, graph=pruned), content)


def sampled_rows(settings: Settings) -> int:
    """How many rows of each child are sampled."""
    if settings.epsilon > 0:
        return rows_to_sample(missing_share=settings.epsilon, risk=settings.delta)
    return settings.rows


def _verify_containment(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Which of what is left holds, row by row?"""
    return verify_knowing({}, scan, tools, settings, progress)


def verify_knowing(
    known: Mapping[Pair, Missing], scan: Scan, tools: Tools, settings: Settings, progress: Progress
) -> Scan:
    """The step where some edges outside the scan's graph are proven already."""
    assert scan.graph is not None
    meter = Meter("verify_containment", progress)
    content = tools.content(scan, settings, meter.read)
    verified = verify_containment(
        scan.graph,
        profiles=scan.profiles,
        content=content,
        containment=scan.containment,
        known=known,
        settled=meter.settle,
    )
    done = noted(replace(scan, graph=verified), content)
    unreadable = {problem.where for problem in done.problems if problem.needs_a_look}
    return replace(done, graph=drop_unreadable(verified, unreadable))


class Meter:
    """Puts together what is known of how far a step is that reads rows."""

    def __init__(self, step: str, progress: Progress) -> None:
        self._step = step
        self._progress = progress
        self._edges = ""

    def settle(self, edges: int, total: int) -> None:
        """So many edges are decided."""
        self._edges = f", {edges:,} of {counted(total, 'edges')} decided"

    def read(self, reading: Reading) -> None:
        """So much has been read by the job that runs."""
        detail = f"{reading.files:,} of {counted(reading.all_files, 'files')}{self._edges}"
        self._progress(self._step, reading.bytes, reading.all_bytes, unit="bytes", detail=detail)


def noted(scan: Scan, content: Content) -> Scan:
    """With the problems that reading the content has met; each table once."""
    known = {problem.where for problem in scan.problems if problem.needs_a_look}
    return replace(
        scan,
        problems=(*scan.problems, *(p for p in content.problems() if p.where not in known)),
        bytes_read=scan.bytes_read + content.bytes_read,
        kept_bytes_read=scan.kept_bytes_read + content.kept_bytes_read,
    )


class Step(NamedTuple):
    """A name for people, and what it does."""

    name: str
    run: Callable[[Scan, Tools, Settings, Progress], Scan]


STEPS = (
    Step("discover", _discover),
    Step("profile", _profile),
    Step("build_schema_graph", _build_schema_graph),
    Step("prune_by_minmax", _prune_by_minmax),
    Step("prune_by_content", _prune_by_content),
    Step("verify_containment", _verify_containment),
)


def steps_for(settings: Settings) -> tuple[Step, ...]:
    """The steps of a run: all, or without verification those of the paper."""
    return STEPS if settings.verify else STEPS[:-1]


def run(roots: Sequence[str], *, settings: Settings, tools: Tools, progress: Progress) -> Scan:
    """Take the lake under *roots* through every step."""
    scan = Scan(roots=tuple(roots), settings=settings.scan, in_force=asdict(settings))
    for step in steps_for(settings):
        scan = take(step, scan, tools, settings, progress)
    return scan


def take(step: Step, scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """One step, with its line in the funnel."""
    progress(step.name, 0, None)
    started = time.perf_counter()
    scan = step.run(scan, tools, settings, progress)
    line = _funnel_line(step.name, scan, time.perf_counter() - started)
    progress(step.name, line.left, line.left)
    return replace(scan, funnel=(*scan.funnel, line))


def _funnel_line(step: str, scan: Scan, seconds: float) -> FunnelLine:
    """What is left after a step: tables at first, then edges."""
    if scan.graph is not None:
        return FunnelLine(step, len(scan.graph), "edges", seconds, scan.graph.dropped)
    if scan.schema_graph is not None:
        return FunnelLine(step, scan.schema_graph.edge_count, "edges", seconds)
    return FunnelLine(step, len(scan.tables), "tables", seconds)
