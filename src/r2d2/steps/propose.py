"""From a choice to a proposal: each deletion with its figures and its risk, and why other contained tables stay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from r2d2.model.plan import Deletion, Kept, Proposal, Risk
from r2d2.model.priced import Choice
from r2d2.model.prices import GIB
from r2d2.model.recipe import Recipe, to_sql
from r2d2.model.scan import Scan
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.price_edges import PricedEdges, Rebuild, Terms, maintenance_cost, storage_cost

Pair = tuple[int, int]  # parent, child
OFTEN_PER_MONTH = 4.0  # a table that is read about weekly will be missed


def propose(
    scan: Scan,
    *,
    priced: PricedEdges,
    choice: Choice,
    recipes: Mapping[Pair, Recipe | NoRecipe],
    terms: Terms,
) -> Proposal:
    """The choice as a person reviews it."""
    deletions = [_deletion(scan, pair, priced, recipes, terms) for pair in _pairs(choice)]
    deletions.sort(key=lambda line: (-line.saved, line.table))
    prices = terms.prices
    return Proposal(
        deletions=tuple(deletions),
        kept=tuple(_kept(scan, priced, choice)),
        lake_tables=len(scan.tables),
        lake_bytes=scan.size_bytes,
        lake_cost=choice.retain_all / terms.months,
        currency=prices.currency,
        prices=f"{prices.name}, {prices.date}, {prices.source}",
        storage_per_gib=prices.storage_per_gib_month,
        read_per_gib=prices.read_per_byte * GIB,
        write_per_gib=prices.write_per_byte * GIB,
        proven=choice.proven,
        gap=choice.gap,
    )


def _pairs(choice: Choice) -> list[Pair]:
    return [(parent, child) for child, parent in choice.rebuilds()]


def _deletion(
    scan: Scan,
    pair: Pair,
    priced: PricedEdges,
    recipes: Mapping[Pair, Recipe | NoRecipe],
    terms: Terms,
) -> Deletion:
    parent, child = pair
    recipe, rebuild, profile = recipes[pair], priced.rebuilds[pair], scan.profiles[child]
    assert isinstance(recipe, Recipe)
    usage = terms.usage[child]
    risk, because = _risk(recipe, rebuild, usage.accesses_per_month, terms)
    return Deletion(
        table=scan.tables[child].name,
        parent=scan.tables[parent].name,
        recipe=recipe.kind,
        sql=to_sql(recipe, scan.tables[parent].name),
        rows=profile.rows,
        size_bytes=profile.size_bytes,
        storage_saved=storage_cost(profile, terms) / terms.months,
        maintenance_saved=maintenance_cost(child, profile, terms) / terms.months,
        scans_saved=usage.maintenance_per_month,
        rebuild_cost=rebuild.cost,
        rebuilds_expected=usage.accesses_per_month,
        rebuild_seconds=rebuild.seconds,
        measured=rebuild.measured,
        listing_cost=recipe.selector_bytes * terms.prices.storage_per_byte_month,
        risk=risk,
        risk_because=because,
    )


def _risk(recipe: Recipe, rebuild: Rebuild, accesses: float, terms: Terms) -> tuple[Risk, str]:
    """The worst of what can be said of it, in one sentence."""
    if accesses >= OFTEN_PER_MONTH:
        return Risk.HIGH, f"it is read {accesses:,.1f} times a month"
    if 2 * rebuild.seconds > terms.latency_seconds:
        return Risk.HIGH, f"a rebuild takes {rebuild.seconds:,.0f} s of the {terms.latency_seconds:,.0f} s allowed"
    if recipe.kind == "rows":
        return Risk.MEDIUM, "its rows are listed by place: the parent's files must stay exactly as they are"
    if recipe.kind == "predicate":
        return Risk.MEDIUM, "a condition picks its rows out of the parent's"
    return Risk.LOW, "every row of its parent is a row of it"


def _kept(scan: Scan, priced: PricedEdges, choice: Choice) -> Iterator[Kept]:
    """The tables that are contained in another and stay, with the reason."""
    assert scan.graph is not None
    gone = set(choice.deleted)
    fallen: defaultdict[int, list[str]] = defaultdict(list)
    for (_, child), because in priced.fallen.items():
        fallen[child].append(because)
    usable = set(priced.graph.children)
    for child in sorted(set(scan.graph.standing.children) - gone):
        reasons = [choice.kept_because[child]] if child in usable else sorted(set(fallen[child]))
        yield Kept(scan.tables[child].name, "; ".join(reasons[:2]) or choice.kept_because[child])
