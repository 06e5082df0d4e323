"""Start reading here: SCAN, PLAN and UPDATE, each an ordered tuple of steps, and the functions that run them.

A step takes what is known so far and returns it with more known or fewer edges; every edge it drops keeps its
reason. What touches files or Spark comes in as tools, so that the steps themselves only decide. `r2d2.flows` feeds the
steps, `r2d2.steps` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType

from r2d2.flows import plan as planning
from r2d2.flows import scan as scanning
from r2d2.flows import update as updating
from r2d2.flows.plan import Planning, PlanStep, PlanTools
from r2d2.flows.step import Step, step_named, steps_before, steps_from
from r2d2.flows.tools import Content, Tools
from r2d2.flows.update import Update, UpdateStep, Updating
from r2d2.model.progress import News, Progress, silent
from r2d2.model.scan import Scan
from r2d2.model.table import Absent
from r2d2.settings import Settings

__all__ = [
    "PLAN",
    "SCAN",
    "UPDATE",
    "Content",
    "Step",
    "Tools",
    "plan",
    "run",
    "steps_for",
    "update",
    "words_of",
]

SCAN = (
    Step("discover", "looking for tables", "found", scanning.discover),
    Step("profile", "reading their metadata", "with readable metadata", scanning.profile),
    Step(
        "build_schema_graph",
        "comparing schemas",
        "where one schema holds the other",
        scanning.build_schema_graph,
    ),
    Step(
        "prune_by_minmax",
        "comparing ranges and nulls",
        "not ruled out by ranges, nulls or counts",
        scanning.prune_by_minmax,
    ),
    Step(
        "prune_by_content",
        "looking for sampled rows",
        "not ruled out by sampled rows",
        scanning.prune_by_content,
    ),
    Step("verify_containment", "comparing every row", "proven, row by row", scanning.verify_containment),
)

# A person reviews what PLAN proposes; `r2d2 apply`, `drill`, `purge` and `restore` follow.
PLAN: tuple[PlanStep, ...] = (
    Step("mark_deleted", "", "that are there", planning.mark_deleted),
    Step("infer_recipes", "looking for recipes", "with a recipe, or why there is none", planning.infer_recipes),
    Step("protect_tables", "", "that may go", planning.protect_tables),
    Step("price_edges", "", "with a price", planning.price_edges),
    Step("choose_deletions", "", "that are best deleted", planning.choose_deletions),
    Step("propose", "", "proposed, with what each saves", planning.propose),
)


def _again(name: str, run: Callable[[Updating, Tools, Settings, Progress], Updating]) -> UpdateStep:
    """A step of a scan, in the words that it has there, on what changed."""
    known = step_named(SCAN, name)
    return Step(name, known.doing, known.leaves, run)


UPDATE: tuple[UpdateStep, ...] = (
    _again("discover", updating.discover),
    _again("profile", updating.profile),
    Step("mark_deleted", "", "with the deleted ones that can be rebuilt", updating.mark_deleted),
    Step("find_changes", "", "that changed", updating.find_changes),
    Step("update_graph", "", "that stand now", updating.update_graph),
    _again("build_schema_graph", updating.build_schema_graph),
    _again("prune_by_minmax", updating.prune_changed),
    Step("leave_out_known", "", "whose rows have to be compared", updating.leave_out_known),
    Step("read_new_files", "", "whose new files can be read", updating.read_new_files),
    _again("prune_by_content", updating.prune_by_content),
    _again("verify_containment", updating.verify_containment),
    Step("put_together", "", "that stand now", updating.put_together),
)


def steps_for(settings: Settings) -> tuple[Step[Scan, Tools], ...]:
    """The steps of a scan: all, or without verification those of the paper."""
    return SCAN if settings.verify else steps_before(SCAN, "verify_containment")


def words_of(name: str) -> Step[Scan, Tools] | PlanStep | UpdateStep | None:
    """The step of that name in any flow, for the words that people see; None if there is none."""
    return next((step for flow in (SCAN, PLAN, UPDATE) for step in flow if step.name == name), None)


def run(roots: Sequence[str], *, settings: Settings, tools: Tools, progress: Progress = silent) -> Scan:
    """Take the lake under *roots* through every step of a scan."""
    scan = Scan(roots=tuple(roots), settings=settings.scan, in_force=asdict(settings))
    for step in steps_for(settings):
        scan = scanning.take(step, scan, tools, settings, progress)
    return scan


def plan(
    known: Planning,
    *,
    settings: Settings,
    tools: PlanTools,
    first: str = "mark_deleted",
    progress: Progress = silent,
) -> Planning:
    """Take a scan through the steps of a plan, from the step named *first* on."""
    for step in steps_from(PLAN, first):
        if step.doing:
            progress(News(step.doing))
        known = step.run(known, tools, settings, progress)
    return known


def update(
    old: Scan,
    *,
    settings: Settings,
    tools: Tools,
    rebuildable: Mapping[str, Absent] = MappingProxyType({}),
    progress: Progress = silent,
) -> Update:
    """Bring the last scan up to date. `tools.profile` is given only the tables that changed.

    *rebuildable* are tables that were deleted and can be rebuilt: they stay in the graph as they were, with the
    edges that the changes of others leave true. Their rows are not there to be asked.
    """
    scan = Scan(roots=old.roots, settings=settings.scan, in_force=asdict(settings))
    known = Updating(old, scan, rebuildable)
    for step in steps_before(UPDATE, "find_changes"):
        known = updating.take(step, known, tools, settings, progress)
    while True:
        done = known
        for step in steps_from(UPDATE, "find_changes"):
            if step.name != "verify_containment" or settings.verify:
                done = updating.take(step, done, tools, settings, progress)
        # A table that turns out to be unreadable has no edges, old or new: what was taken over of it goes as well.
        broken = {} if done.is_done else done.newly_broken
        if not broken:
            return done.result
        known = replace(known, broken={**known.broken, **broken})
