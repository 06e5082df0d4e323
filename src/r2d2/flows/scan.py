"""Steps of a scan: each takes the scan so far and returns it with more known or with fewer edges."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from r2d2.flows.step import Step
from r2d2.flows.tools import Content, Tools
from r2d2.model.containment import Missing
from r2d2.model.counted import counted
from r2d2.model.graph import NO_GRAPH, NO_SCHEMA_GRAPH
from r2d2.model.progress import News, Progress, named, through
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.table import Discovery
from r2d2.settings import Settings
from r2d2.steps import build_schema_graph as schemas
from r2d2.steps import prune_by_content as samples
from r2d2.steps import prune_by_minmax as ranges
from r2d2.steps import verify_containment as rows
from r2d2.steps.edges.ledger import Pair
from r2d2.steps.settle_tables import Known, settle_tables


def discover(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """List the tables."""
    listed_ns = time.time_ns()
    return listed(scan, tools.discover(scan.roots, settings, progress), listed_ns)


def listed(scan: Scan, found: Discovery, listed_ns: int) -> Scan:
    """The scan with the tables that were found in the lake, which was listed at this time."""
    return replace(
        scan,
        roots=found.roots,
        tables=found.tables,
        problems=found.problems,
        overlaps=found.overlaps,
        listed_ns=listed_ns,
    )


def profile(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Read the tables' metadata."""
    return profile_knowing(lambda tables: {}, scan, tools, settings, progress)


def profile_knowing(known: Known, scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Read the metadata of tables that are not *known*. Schemas may make several tables of one."""
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


def build_schema_graph(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Pair the tables whose columns hold those of others."""
    return replace(scan, schema_graph=schemas.build_schema_graph(scan.profiles, scan.containment))


def prune_by_minmax(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Drop the pairs that ranges, nulls and counts rule out."""
    pruned = ranges.prune_by_minmax(
        scan.schema_graph, profiles=scan.profiles, overlaps=scan.overlaps, containment=scan.containment
    )
    return replace(scan, graph=pruned)


def prune_by_content(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Drop the pairs where a sampled row of the child is missing in the parent."""
    content = tools.content(scan, settings, named(progress, "prune_by_content"))
    pruned = samples.prune_by_content(
        scan.graph,
        profiles=scan.profiles,
        width=settings.columns,
        rows=sampled_rows(settings),
        guaranteed=scan.samples_guarantee,
        content=content,
        containment=scan.containment,
        proof_follows=settings.verify,
        ranked=scan.ranked_profiles,
    )
    return noted(replace(scan, graph=pruned), content)


def sampled_rows(settings: Settings) -> int:
    """How many rows of each child are sampled."""
    if settings.epsilon > 0:
        return samples.rows_to_sample(missing_share=settings.epsilon, risk=settings.delta)
    return settings.rows


def verify_containment(scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Keep the pairs that hold row by row."""
    return verify_knowing({}, scan, tools, settings, progress)


def verify_knowing(
    known: Mapping[Pair, Missing], scan: Scan, tools: Tools, settings: Settings, progress: Progress
) -> Scan:
    """Verify where some edges outside the scan's graph are proven already."""
    decided = _Decided()
    content = tools.content(scan, settings, through(progress, decided.with_edges))
    verified = rows.verify_containment(
        scan.graph,
        profiles=scan.profiles,
        content=content,
        containment=scan.containment,
        known=known,
        progress=decided.note,
    )
    done = noted(replace(scan, graph=verified), content)
    unreadable = {problem.where for problem in done.problems if problem.needs_a_look}
    return replace(done, graph=rows.drop_unreadable(verified, unreadable))


class _Decided:
    """Adds the edges that a verification has decided to the news of the job that reads."""

    def __init__(self) -> None:
        self._edges = ""

    def note(self, news: News) -> None:
        """Take the news of the step: so many edges are decided."""
        self._edges = f", {news.done:,} of {counted(news.total or 0, 'edges')} decided"

    def with_edges(self, news: News) -> News:
        """The news of the job, as those of the step."""
        return replace(news, step="verify_containment", detail=news.detail + self._edges)


def noted(scan: Scan, content: Content) -> Scan:
    """The scan with the problems that reading its content has met; each table once."""
    known = {problem.where for problem in scan.problems if problem.needs_a_look}
    return replace(
        scan,
        problems=(*scan.problems, *(p for p in content.problems() if p.where not in known)),
        bytes_read=scan.bytes_read + content.bytes_read,
    )


def take(step: Step[Scan, Tools], scan: Scan, tools: Tools, settings: Settings, progress: Progress) -> Scan:
    """Run one step and add its line to the funnel."""
    progress(News(step.name))
    started = time.perf_counter()
    return with_line(step.name, step.run(scan, tools, settings, progress), started, progress)


def with_line(step: str, scan: Scan, started: float, progress: Progress) -> Scan:
    """The scan with a line in its funnel for a step that ended just now."""
    line = _funnel_line(step, scan, time.perf_counter() - started)
    progress(News(step, line.left, line.left))
    return replace(scan, funnel=(*scan.funnel, line))


def _funnel_line(step: str, scan: Scan, seconds: float) -> FunnelLine:
    """The number of tables, or later of edges, that a step leaves."""
    if scan.graph is not NO_GRAPH:
        return FunnelLine(step, len(scan.graph), "edges", seconds, scan.graph.dropped)
    if scan.schema_graph is not NO_SCHEMA_GRAPH:
        return FunnelLine(step, scan.schema_graph.edge_count, "edges", seconds)
    return FunnelLine(step, len(scan.tables), "tables", seconds)
