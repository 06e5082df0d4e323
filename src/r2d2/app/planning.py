"""From a scan and its recipes to a proposal: prices, guards, the choice, and what it saves."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from r2d2.errors import UserError
from r2d2.lake.access_log import read_access_log, read_latencies, read_names
from r2d2.lake.filters import Patterns
from r2d2.lake.log_names import LogNames, elsewhere_in_lake
from r2d2.lake.owners import days_untouched, owners_of
from r2d2.lake.taken_apart import taken_apart
from r2d2.model.priced import Choice
from r2d2.model.prices import DAYS_PER_MONTH, Prices, Speed, Usage
from r2d2.model.proposal import CurvePoint, LogMatch, Proposal
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Absent, Table
from r2d2.prices import load_prices
from r2d2.settings import Settings
from r2d2.steps.choose_deletions import choose_deletions
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.prefer_tables import Preferences, prefer_tables
from r2d2.steps.price_edges import PricedEdges, Terms, price_edges
from r2d2.steps.propose import propose

Pair = tuple[int, int]  # parent, child
Recipes = Mapping[Pair, Recipe | NoRecipe]
WEEKS_PER_MONTH = DAYS_PER_MONTH / 7
CURVE_MONTHS = 12
CURVE_MAINTENANCE = (1.0, 5.0)  # privacy requests a week, as in the paper's figure


@dataclass(frozen=True, slots=True)
class Assumed:
    """Prices, use and preferences from the user's files, read before anything that takes long."""

    prices: Prices
    usage: tuple[Usage, ...]  # table by table
    access: LogMatch | None  # how well the access log fits the lake, if there is one
    logged_seconds: Mapping[Pair, float]  # of rebuilds
    preferences: Preferences
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Planned:
    """A proposal and what it was made from."""

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
    """The deletions that cost least, for what the settings assume.

    *given* are the pairs whose recipe a person gave. *measured_seconds* come from drills, which leave the start of
    Spark out. *parents_of_deleted* maps tables that something already deleted is rebuilt from to one such table: they
    must stay. *deleted* are tables of the scan that are gone: none of them goes again, and nothing is rebuilt from one.
    """
    gone = {scan.number_of[name] for name in deleted}
    recipes = {pair: NoRecipe("its parent is deleted") if pair[0] in gone else known for pair, known in recipes.items()}
    assumed = assumed or read_assumptions(scan, settings)
    drilled = {pair: settings.spark_start + seconds for pair, seconds in (measured_seconds or {}).items()}
    terms = Terms(
        prices=assumed.prices,
        speed=Speed(settings.read_speed * 1e6, settings.write_speed * 1e6, settings.spark_start),
        usage=assumed.usage,
        latency_seconds=settings.latency,
        months=settings.horizon,
        measured_seconds={**assumed.logged_seconds, **drilled},
    )
    guards = _Guards(scan, settings, parents_of_deleted or {}, now_ns or time.time_ns())
    must_keep = guards.must_keep() | dict.fromkeys(gone, "a table of this name is deleted, and not restored yet")
    priced = price_edges(scan, recipes=recipes, terms=terms, must_keep=must_keep, given=given)
    preferences = assumed.preferences
    choice = choose_deletions(
        priced.graph,
        time_limit_seconds=settings.solver_seconds,
        equals=preferences.groups,
        most_given_up=settings.prefer_cost,
    )
    proposal = propose(
        scan, priced=priced, choice=choice, recipes=recipes, terms=terms, preferences=preferences, given=given
    )
    notes = (*assumed.notes, *guards.unused())
    return Planned(
        proposal,
        priced,
        choice,
        terms,
        notes,
        access=assumed.access,
        young=guards.young(must_keep),
        min_age=settings.min_age,
    )


def without_left_out(planned: Planned, tables: Collection[str]) -> Planned:
    """The proposal less some tables that could not be put into a plan, so that its figures are those of the plan."""
    stay = tuple(line for line in planned.proposal.deletions if line.table not in tables)
    return replace(planned, proposal=replace(planned.proposal, deletions=stay), left_out=len(tables))


def savings_curve(
    scan: Scan, recipes: Recipes, settings: Settings, *, given: Collection[Pair] = ()
) -> list[CurvePoint]:
    """What the best plan saves month by month, for one and for five privacy requests a week (section 6.6)."""
    points = []
    for maintenance in CURVE_MAINTENANCE:
        asked = replace(settings, access="", access_names="", maintenance_per_week=maintenance, horizon=1.0)
        proposal = plan_lake(scan, recipes, asked, given=given).proposal
        points += [
            CurvePoint(month, maintenance, len(proposal.deletions), month * proposal.saved, proposal.currency)
            for month in range(1, CURVE_MONTHS + 1)
        ]
    return points


def read_assumptions(scan: Scan, settings: Settings, *, deleted: Collection[str] = ()) -> Assumed:
    """Read prices and logs; UserError says what is wrong with one. *deleted* are tables that the scan is without."""
    prices = load_prices(settings.prices)
    seconds = read_latencies(settings.latencies, tables=scan.number_of) if settings.latencies else {}
    usage, access = _usage(scan, settings, deleted)
    preferred = Patterns(settings.prefer, known=[table.name for table in scan.tables])
    for table in scan.tables:
        preferred.match(table.name)
    preferences = prefer_tables(
        scan,
        reads_per_month=None if access is None else [one.accesses_per_month for one in usage],
        is_preferred=preferred.match,
    )
    notes = [f"--prefer {glob} matches no table" for glob in preferred.unused]
    if access is not None and access.unknown:
        names, are = ("name", "is") if len(access.unknown) == 1 else ("names", "are")
        notes.append(
            f"{len(access.unknown):,} {names} in {access.file} {are} no table of this lake, such as "
            f"{access.unknown[0] or '(empty)'}"
        )
    return Assumed(prices, tuple(usage), access, seconds, preferences, tuple(notes))


def _usage(scan: Scan, settings: Settings, deleted: Collection[str]) -> tuple[list[Usage], LogMatch | None]:
    """How often each table is read, table by table; and how well the access log fits the lake."""
    default = Usage(settings.accesses_per_week * WEEKS_PER_MONTH, settings.maintenance_per_week * WEEKS_PER_MONTH)
    if not settings.access:
        if settings.access_names:
            raise UserError("--access-names maps the names of an access log", hint="give the log with --access FILE")
        return [default] * len(scan.tables), None
    known = {problem.where for problem in scan.problems}.union(deleted)
    names = LogNames(
        scan.number_of,
        given=read_names(settings.access_names) if settings.access_names else None,
        is_elsewhere=elsewhere_in_lake(scan.roots, known),
    )
    seen, match = read_access_log(
        settings.access, names=names, default=default, excluded_readers=settings.exclude_reader
    )
    return [seen.get(number, default) for number in range(len(scan.tables))], match


_YOUNG = "(--min-age)"  # so ends the reason to keep a table that was written to lately


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
        self._apart = taken_apart(scan.tables, roots=scan.roots, split=scan.settings.split)
        self._shares = {one: other for pair in scan.overlaps for one, other in (pair, pair[::-1])}

    def must_keep(self) -> dict[int, str]:
        """By table number the strongest reason to keep it."""
        reasons = ((number, next(self._reasons(number), None)) for number in range(len(self._scan.tables)))
        return {number: because for number, because in reasons if because is not None}

    def young(self, must_keep: Mapping[int, str]) -> frozenset[str]:
        """The tables that --min-age alone keeps."""
        return frozenset(
            self._scan.tables[number].name for number, because in must_keep.items() if because.endswith(_YOUNG)
        )

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
            yield f"it was written to {max(days, 0):.1f} days ago, and {must} {_YOUNG}"
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
        if table.name in self._apart:
            folder = shlex.quote(self._apart[table.name])
            yield f"it is named like a part of a larger table; `r2d2 scan --split {folder}` says that it is none"
