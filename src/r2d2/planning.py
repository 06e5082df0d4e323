"""From a scan and its recipes to a proposal: prices, guards, the choice, and what it saves."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from r2d2.lake.access_log import read_access_log, read_latencies
from r2d2.lake.filters import Patterns
from r2d2.lake.owners import days_untouched, owners_of
from r2d2.model.plan import CurvePoint, Proposal
from r2d2.model.priced import Choice
from r2d2.model.prices import DAYS_PER_MONTH, Speed, Usage
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Absent, Table
from r2d2.prices import load_prices
from r2d2.settings import Settings
from r2d2.steps.choose_deletions import choose_deletions
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.price_edges import PricedEdges, Terms, price_edges
from r2d2.steps.propose import propose

Pair = tuple[int, int]  # parent, child
Recipes = Mapping[Pair, Recipe | NoRecipe]
WEEKS_PER_MONTH = DAYS_PER_MONTH / 7
CURVE_MONTHS = 12
CURVE_MAINTENANCE = (1.0, 5.0)  # privacy requests a week, as in the paper's figure


@dataclass(frozen=True, slots=True)
class Planned:
    """A proposal and what it was made from."""

    proposal: Proposal
    priced: PricedEdges
    choice: Choice
    terms: Terms
    notes: tuple[str, ...]  # what the person should know about the input
    absent: Mapping[str, Absent] = field(default_factory=dict)  # tables that are deleted already


def plan_lake(
    scan: Scan,
    recipes: Recipes,
    settings: Settings,
    *,
    measured_seconds: Mapping[Pair, float] | None = None,
    parents_of_deleted: Mapping[str, str] | None = None,
    deleted: Collection[str] = (),
    now_ns: int | None = None,
) -> Planned:
    """The deletions that cost least, for what the settings assume.

    *measured_seconds* come from drills. *parents_of_deleted* maps tables that something already deleted is rebuilt from
    to one such table: they must stay. *deleted* are tables of the scan that are gone: none of them goes again, and
    nothing is rebuilt from one.
    """
    gone = {scan.number_of[name] for name in deleted}
    recipes = {pair: NoRecipe("its parent is deleted") if pair[0] in gone else known for pair, known in recipes.items()}
    usage, notes = _usage(scan, settings)
    terms = Terms(
        prices=load_prices(settings.prices),
        speed=Speed(settings.read_speed * 1e6, settings.write_speed * 1e6),
        usage=usage,
        latency_seconds=settings.latency,
        months=settings.horizon,
        measured_seconds=_logged_seconds(scan, settings) | dict(measured_seconds or {}),
    )
    guards = _Guards(scan, settings, parents_of_deleted or {}, now_ns or time.time_ns())
    must_keep = guards.must_keep() | dict.fromkeys(gone, "a table of this name is deleted, and not restored yet")
    priced = price_edges(scan, recipes=recipes, terms=terms, must_keep=must_keep)
    choice = choose_deletions(priced.graph, time_limit_seconds=settings.solver_seconds)
    proposal = propose(scan, priced=priced, choice=choice, recipes=recipes, terms=terms)
    return Planned(proposal, priced, choice, terms, (*notes, *guards.unused()))


def savings_curve(scan: Scan, recipes: Recipes, settings: Settings) -> list[CurvePoint]:
    """What the best plan saves month by month, for one and for five privacy requests a week (section 6.6)."""
    points = []
    for maintenance in CURVE_MAINTENANCE:
        asked = replace(settings, access="", maintenance_per_week=maintenance, horizon=1.0)
        proposal = plan_lake(scan, recipes, asked).proposal
        points += [
            CurvePoint(month, maintenance, len(proposal.deletions), month * proposal.saved, proposal.currency)
            for month in range(1, CURVE_MONTHS + 1)
        ]
    return points


def _logged_seconds(scan: Scan, settings: Settings) -> dict[Pair, float]:
    return read_latencies(settings.latencies, tables=scan.number_of) if settings.latencies else {}


def _usage(scan: Scan, settings: Settings) -> tuple[list[Usage], list[str]]:
    """How often each table is read, table by table; and names in the log that are no table of the lake."""
    default = Usage(settings.accesses_per_week * WEEKS_PER_MONTH, settings.maintenance_per_week * WEEKS_PER_MONTH)
    if not settings.access:
        return [default] * len(scan.tables), []
    seen, unknown = read_access_log(
        settings.access, tables=scan.number_of, default=default, excluded_readers=settings.exclude_reader
    )
    usage = [seen.get(number, default) for number in range(len(scan.tables))]
    if not unknown:
        return usage, []
    return usage, [f"{len(unknown):,} names in {settings.access} are no table of this lake, such as {unknown[0]}"]


class _Guards:
    """Which tables must stay, whatever is saved."""

    def __init__(self, scan: Scan, settings: Settings, parents_of_deleted: Mapping[str, str], now_ns: int) -> None:
        names = [table.name for table in scan.tables]
        self._scan = scan
        self._settings = settings
        self._protected = Patterns(settings.protect, known=names)
        self._held = Patterns(settings.legal_hold, known=names)
        self._parents_of_deleted = parents_of_deleted
        self._now_ns = now_ns
        self._shares = {one: other for pair in scan.overlaps for one, other in (pair, pair[::-1])}

    def must_keep(self) -> dict[int, str]:
        """By table number the strongest reason to keep it."""
        reasons = ((number, next(self._reasons(number), None)) for number in range(len(self._scan.tables)))
        return {number: because for number, because in reasons if because is not None}

    def unused(self) -> Iterator[str]:
        """What was asked for and guards nothing."""
        yield from (f"--protect {glob} matches no table" for glob in self._protected.unused)
        yield from (f"--legal-hold {glob} matches no table" for glob in self._held.unused)

    def _reasons(self, number: int) -> Iterator[str]:
        """The strongest first."""
        table = self._scan.tables[number]
        is_held, is_protected = self._held.match(table.name), self._protected.match(table.name)
        if is_held:
            yield "it is under legal hold"
        if is_protected:
            yield "it is protected"
        if table.name in self._parents_of_deleted:
            yield f"{self._parents_of_deleted[table.name]}, which was deleted, is rebuilt from it"
        yield from self._entangled(table)
        owners = set(self._settings.protect_owner)
        if owners and (theirs := owners & owners_of(table)):
            yield f"it belongs to {min(theirs)}"
        days = days_untouched(table, now_ns=self._now_ns)
        if days < self._settings.min_age:
            must = f"must be left alone for {self._settings.min_age:g}"
            yield f"it was written to {max(days, 0):.1f} days ago, and {must} (--min-age)"
        if self._scan.profiles[number].rows == 0 and not self._settings.plan_empty:
            yield "it is empty (--plan-empty takes such tables, too)"

    def _entangled(self, table: Table) -> Iterator[str]:
        """What lies in the way of deleting the files of this table and of no other (HAZARDS 1, 8)."""
        if table.unexplained:
            yield f"its folder also holds {table.unexplained[0]}, which is no part of it"
        if table.aliases:
            yield f"it is also known as {table.aliases[0]}"
        if table.name in self._shares:
            yield f"it shares files with {self._shares[table.name]}"
