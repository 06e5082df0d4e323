"""Start reading here: the steps, in order, and `run`, which takes a lake through them.

A step takes what is known so far and returns it with more known or fewer edges; every edge it drops keeps its
reason. What touches files or Spark comes in as `Tools`, so that the steps themselves only decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, Protocol

from r2d2.model.profile import TableProfile
from r2d2.model.progress import Reading
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.schema import Token
from r2d2.model.table import Discovery, Problem, Table
from r2d2.settings import Settings
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.prune_by_content import Content as Sampling
from r2d2.steps.prune_by_content import prune_by_content, rows_to_sample
from r2d2.steps.prune_by_minmax import prune_by_minmax
from r2d2.steps.verify_containment import Content as Comparing
from r2d2.steps.verify_containment import Missing, Pair, drop_unreadable, verify_containment


class Progress(Protocol):
    """Told how far a step is; the CLI draws it, tests collect it."""

    def __call__(self, step: str, done: int, total: int | None, *, unit: str = "", detail: str = "") -> None:
        """*done* of *total* (None: not known yet), counted in *unit*; *detail* says what else is known."""


def silent(step: str, done: int, total: int | None, *, unit: str = "", detail: str = "") -> None:
    """A progress that shows nothing, and that nobody need be asked for."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """Tables whose metadata could be had, with it, and the problems of the others."""

    tables: Sequence[Table]
    profiles: Sequence[TableProfile]
    problems: Sequence[Problem]


class Content(Sampling, Comparing, Protocol):
    """Whoever can read the tables' rows."""

    bytes_read: int  # so far
    kept_bytes_read: int  # of hashes that were kept from earlier runs

    def read_through(self, files: Mapping[int, Collection[str]], tokens: Mapping[int, Collection[Token]]) -> None:
        """Read some columns of some files of each table, to see that they can be read."""

    def problems(self) -> Sequence[Problem]:
        """The tables that could not be read so far."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What the pipeline needs of the world."""

    discover: Callable[[Sequence[str], Settings, Progress], Discovery]
    profile: Callable[[Sequence[Table], Settings, Progress], Profiled]
    content: Callable[[Scan, Settings, Callable[[Reading], None]], Content]


def _discover(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Which tables are there?"""
    listed_ns = time.time_ns()
    found = tools.discover(scan.roots, settings, progress)
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
    profiled = tools.profile(scan.tables, settings, progress)
    return replace(
        scan,
        tables=tuple(profiled.tables),
        profiles=tuple(profiled.profiles),
        problems=(*scan.problems, *profiled.problems),
    )


def _build_schema_graph(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Whose columns hold whose?"""
    return replace(scan, schema_graph=build_schema_graph(scan.profiles))


def _prune_by_minmax(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Which of these pairs do ranges, nulls and counts rule out?"""
    assert scan.schema_graph is not None
    pruned = prune_by_minmax(scan.schema_graph, profiles=scan.profiles, overlaps=scan.overlaps, bag=scan.bag)
    return replace(scan, graph=pruned)


def _prune_by_content(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """In which pairs is a sampled row of the child not in the parent?"""
    assert scan.graph is not None
    content = tools.content(scan, settings, Meter("prune_by_content", progress).read)
    asked = settings.epsilon > 0
    pruned = prune_by_content(
        scan.graph,
        profiles=scan.profiles,
        width=settings.columns,
        rows=sampled_rows(settings),
        uniform=asked or not settings.verify,  # a result that stands on samples must earn its guarantee
        content=content,
        small_too=not settings.verify,
        ranked=[profile for profile in scan.profiles if profile.table not in scan.absent],
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
        scan.graph, profiles=scan.profiles, content=content, bag=scan.bag, known=known, settled=meter.settle
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
        self._edges = f", {edges:,} of {total:,} edges decided"

    def read(self, reading: Reading) -> None:
        """So much has been read by the job that runs."""
        detail = f"{reading.files:,} of {reading.all_files:,} files{self._edges}"
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
    scan = Scan(roots=tuple(roots), settings=asdict(settings))
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
