"""Propose deletions for a scan whose recipes are known."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from r2d2.app.assumptions import read_assumptions
from r2d2.flows.plan import (
    Assumed,
    KnownRecipes,
    Pair,
    PastDeletions,
    Planning,
    PlanTools,
    Recipes,
)
from r2d2.formats.registry import without_rebuild
from r2d2.lake.filters import Patterns
from r2d2.lake.owners import owners_of
from r2d2.lake.taken_apart import taken_apart
from r2d2.model.priced import Choice
from r2d2.model.proposal import CurvePoint, LogMatch, Proposal
from r2d2.model.scan import Scan
from r2d2.model.table import Absent, Table
from r2d2.pipeline import plan
from r2d2.settings import Settings
from r2d2.steps.price_edges import PricedEdges, Terms
from r2d2.steps.protect_tables import Guards

CURVE_MONTHS = 12
CURVE_MAINTENANCE = (1.0, 5.0)  # privacy requests a week, as in the paper's figure


@dataclass(frozen=True, slots=True)
class Planned:
    """A proposal and its foundations."""

    proposal: Proposal
    priced: PricedEdges
    choice: Choice
    terms: Terms
    notes: tuple[str, ...]  # what the person should know about the input
    absent: Mapping[str, Absent] = field(default_factory=dict)  # tables that are deleted already
    access: LogMatch | None = None  # how well the access log fits the lake, if there is one
    young: frozenset[str] = frozenset()  # tables that stay because of --min-age
    min_age: float = 0.0  # in days
    left_out: int = 0  # tables that were chosen and could not be put into a plan


def plan_lake(
    scan: Scan,
    recipes: Recipes,
    settings: Settings,
    *,
    assumed: Assumed | None = None,
    given: Collection[Pair] = (),
    measured_seconds: Mapping[Pair, float] | None = None,
    parents_of_deleted: Mapping[str, str] | None = None,
    deleted: Collection[str] = (),
    now_ns: int | None = None,
) -> Planned:
    """The deletions that cost least, for the assumptions in the settings; see `PastDeletions` for the past.

    *given* are the pairs whose recipe a person gave.
    """
    past = PastDeletions(measured_seconds or {}, parents_of_deleted or {}, frozenset(deleted))
    known = Planning(
        scan,
        assumed=assumed or read_assumptions(scan, settings),
        known=KnownRecipes(recipes, frozenset(given)),
    )
    tools = PlanTools(
        mark_deleted=lambda scan: scan,
        assume=lambda scan, deleted: read_assumptions(scan, settings, deleted=deleted),
        recipes=lambda scan, also, deleted: known.known,
        past=lambda scan: past,
        guards=lambda scan, past: guards_of(scan, settings, past, now_ns=now_ns),
    )
    return planned(plan(known, settings=settings, tools=tools, first="protect_tables"), settings)


def planned(done: Planning, settings: Settings) -> Planned:
    """The result of all steps of a plan."""
    assert done.assumed and done.proposal and done.priced and done.choice and done.terms
    return Planned(
        done.proposal,
        done.priced,
        done.choice,
        done.terms,
        (*done.assumed.notes, *_unused(done.scan, settings), *done.known.notes),
        absent=done.absent,
        access=done.assumed.access,
        young=done.protected.young,
        min_age=settings.min_age,
    )


def guards_of(scan: Scan, settings: Settings, past: PastDeletions, *, now_ns: int | None = None) -> Guards:
    """The facts that keep tables: the user's wishes, earlier deletions, owners, folders that may be one table."""
    return Guards(
        held=frozenset(_matched(settings.legal_hold, scan)),
        protected=frozenset(_matched(settings.protect, scan)),
        parents_of_deleted=past.parents_of_deleted,
        deleted=past.deleted,
        fixed=without_rebuild(scan.tables),
        taken_apart=taken_apart(scan.tables, roots=scan.roots, split=scan.settings.split),
        protected_owner=lambda table: _protected_owner(table, frozenset(settings.protect_owner)),
        min_age_days=settings.min_age,
        now_ns=now_ns or time.time_ns(),
        empty_too=settings.plan_empty,
    )


def _protected_owner(table: Table, owners: frozenset[str]) -> str:
    return min(owners & owners_of(table), default="") if owners else ""


def _matched(globs: Collection[str], scan: Scan) -> Iterator[str]:
    """Names of the tables that a glob matches."""
    patterns = _patterns(globs, scan)
    return (table.name for table in scan.tables if patterns.match(table.name))


def _patterns(globs: Collection[str], scan: Scan) -> Patterns:
    return Patterns(tuple(globs), known=[table.name for table in scan.tables])


def _unused(scan: Scan, settings: Settings) -> Iterator[str]:
    """A note on each wish that guards nothing."""
    for option, globs in (("--protect", settings.protect), ("--legal-hold", settings.legal_hold)):
        patterns = _patterns(globs, scan)
        for table in scan.tables:
            patterns.match(table.name)
        yield from (f"{option} {glob} matches no table" for glob in patterns.unused)


def without_left_out(planned: Planned, tables: Collection[str]) -> Planned:
    """The proposal less some tables that could not be put into a plan, so that its figures are those of the plan."""
    stay = tuple(line for line in planned.proposal.deletions if line.table not in tables)
    return replace(planned, proposal=replace(planned.proposal, deletions=stay), left_out=len(tables))


def savings_curve(
    scan: Scan, recipes: Recipes, settings: Settings, *, given: Collection[Pair] = ()
) -> list[CurvePoint]:
    """The savings of the best plan month by month, for one and for five privacy requests a week (section 6.6)."""
    points = []
    for maintenance in CURVE_MAINTENANCE:
        asked = replace(settings, access="", access_names="", maintenance_per_week=maintenance, horizon=1.0)
        proposal = plan_lake(scan, recipes, asked, given=given).proposal
        points += [
            CurvePoint(month, maintenance, len(proposal.deletions), month * proposal.saved, proposal.currency)
            for month in range(1, CURVE_MONTHS + 1)
        ]
    return points
