"""Steps of a plan: from the newest scan to a proposal of deletions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from r2d2.flows.step import Step
from r2d2.model.priced import Choice
from r2d2.model.prices import Prices, Speed, Usage
from r2d2.model.progress import Progress
from r2d2.model.proposal import LogMatch, Proposal
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.model.table import Absent
from r2d2.settings import Settings
from r2d2.steps import choose_deletions as choosing
from r2d2.steps import price_edges as pricing
from r2d2.steps import propose as proposing
from r2d2.steps import protect_tables as protecting
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.leave_out_absent import leave_out_absent
from r2d2.steps.prefer_tables import Preferences, edges_from_preferred
from r2d2.steps.price_edges import PricedEdges, Terms
from r2d2.steps.protect_tables import Guards, Protected

Pair = tuple[int, int]  # parent and child, numbered as in the scan
Recipes = Mapping[Pair, Recipe | NoRecipe]


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
class PastDeletions:
    """Earlier deletions by the tables of a scan, as far as a plan depends on them."""

    measured_seconds: Mapping[Pair, float]  # how long the last drill took, without the start of Spark
    parents_of_deleted: Mapping[str, str]  # tables that must stay, and a deleted one that needs each
    deleted: frozenset[str]  # tables of the scan that are gone: none goes again, and nothing is rebuilt from one


NO_DELETIONS = PastDeletions({}, {}, frozenset())


@dataclass(frozen=True, slots=True)
class KnownRecipes:
    """Recipes of the pairs that a plan can rest on."""

    recipes: Recipes
    given: frozenset[Pair]  # pairs whose recipe a person gave; some of them are no edges of the scan
    notes: tuple[str, ...] = ()  # given recipes that no longer fit


NO_RECIPES = KnownRecipes({}, frozenset())
NOTHING_PROTECTED = Protected({}, frozenset())


@dataclass(frozen=True, slots=True)
class PlanTools:
    """Access to the world for the steps of a plan."""

    mark_deleted: Callable[[Scan], Scan]
    assume: Callable[[Scan, Collection[str]], Assumed]  # the second: names of deleted tables
    recipes: Callable[[Scan, Collection[Pair], Collection[str]], KnownRecipes]  # the second: pairs to try as well
    past: Callable[[Scan], PastDeletions]
    guards: Callable[[Scan, PastDeletions], Guards]


@dataclass(frozen=True, slots=True)
class Planning:
    """A plan on its way; each step fills in its part."""

    scan: Scan
    absent: Mapping[str, Absent] = field(default_factory=dict)  # tables that are deleted already
    assumed: Assumed | None = None
    known: KnownRecipes = NO_RECIPES
    past: PastDeletions = NO_DELETIONS
    protected: Protected = NOTHING_PROTECTED
    terms: Terms | None = None
    priced: PricedEdges | None = None
    choice: Choice | None = None
    proposal: Proposal | None = None

    @property
    def recipes(self) -> Recipes:
        """The recipes, none of them from a table that is gone."""
        gone = {self.scan.number_of[name] for name in self.past.deleted}
        found = self.known.recipes
        return {pair: NoRecipe("its parent is deleted") if pair[0] in gone else one for pair, one in found.items()}


PlanStep = Step[Planning, PlanTools]


def mark_deleted(plan: Planning, tools: PlanTools, settings: Settings, progress: Progress) -> Planning:
    """Leave the tables that are there, and remember those that are deleted."""
    marked = tools.mark_deleted(plan.scan)
    return replace(plan, scan=leave_out_absent(marked), absent=marked.absent)


def infer_recipes(plan: Planning, tools: PlanTools, settings: Settings, progress: Progress) -> Planning:
    """Collect recipes; edges without one are tried now. The user's files are read first: they may be wrong."""
    assumed = plan.assumed or tools.assume(plan.scan, plan.absent)
    also = edges_from_preferred(plan.scan, assumed.preferences)
    return replace(plan, assumed=assumed, known=tools.recipes(plan.scan, also, plan.absent))


def protect_tables(plan: Planning, tools: PlanTools, settings: Settings, progress: Progress) -> Planning:
    """Find the tables that must stay."""
    past = tools.past(plan.scan)
    guards = tools.guards(plan.scan, past)
    return replace(plan, past=past, protected=protecting.protect_tables(plan.scan, guards))


def price_edges(plan: Planning, tools: PlanTools, settings: Settings, progress: Progress) -> Planning:
    """Price every edge: what its child costs to keep, and to rebuild from its parent."""
    assert plan.assumed is not None
    drilled = {pair: settings.spark_start + seconds for pair, seconds in plan.past.measured_seconds.items()}
    terms = Terms(
        prices=plan.assumed.prices,
        speed=Speed(settings.read_speed * 1e6, settings.write_speed * 1e6, settings.spark_start),
        usage=plan.assumed.usage,
        latency_seconds=settings.latency,
        months=settings.horizon,
        measured_seconds={**plan.assumed.logged_seconds, **drilled},
    )
    priced = pricing.price_edges(
        plan.scan, recipes=plan.recipes, terms=terms, must_keep=plan.protected.because, given=plan.known.given
    )
    return replace(plan, terms=terms, priced=priced)


def choose_deletions(plan: Planning, tools: PlanTools, settings: Settings, progress: Progress) -> Planning:
    """Choose the deletions that cost least (Opt-Ret, section 5.2)."""
    assert plan.priced is not None and plan.assumed is not None
    choice = choosing.choose_deletions(
        plan.priced.graph,
        time_limit_seconds=settings.solver_seconds,
        equals=plan.assumed.preferences.groups,
        most_given_up=settings.prefer_cost,
    )
    return replace(plan, choice=choice)


def propose(plan: Planning, tools: PlanTools, settings: Settings, progress: Progress) -> Planning:
    """Say of each contained table why it goes or stays, and what that saves."""
    assert plan.priced is not None and plan.choice is not None and plan.terms is not None and plan.assumed is not None
    proposal = proposing.propose(
        plan.scan,
        priced=plan.priced,
        choice=plan.choice,
        recipes=plan.recipes,
        terms=plan.terms,
        preferences=plan.assumed.preferences,
        given=plan.known.given,
    )
    return replace(plan, proposal=proposal)
