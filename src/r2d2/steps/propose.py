"""From a choice to a proposal: each deletion with its figures and its risk, and why other contained tables stay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from r2d2.model.priced import Choice
from r2d2.model.prices import GIB
from r2d2.model.proposal import Deletion, EqualKept, Kept, Proposal, Risk
from r2d2.model.recipe import Recipe, order_text, to_sql
from r2d2.model.scan import Scan
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.prefer_tables import Preferences
from r2d2.steps.price_edges import PricedEdges, Rebuild, Terms, in_seconds, maintenance_cost, storage_cost

Pair = tuple[int, int]  # parent, child
SHOWN_REASONS = 2
OFTEN_PER_MONTH = 4.0  # a table that is read about weekly will be missed


def propose(
    scan: Scan,
    *,
    priced: PricedEdges,
    choice: Choice,
    recipes: Mapping[Pair, Recipe | NoRecipe],
    terms: Terms,
    preferences: Preferences,
    given: Collection[Pair] = (),
) -> Proposal:
    """The choice as a person reviews it; *given* are the pairs whose recipe a person gave."""
    deletions = [
        replace(
            _deletion(scan, pair, priced, recipes, terms),
            given=pair in given,
            equal_kept=_equal_kept(pair, preferences, priced, choice),
        )
        for pair in _pairs(choice)
    ]
    deletions.sort(key=lambda line: (-line.saved, line.table))
    prices = terms.prices
    return Proposal(
        deletions=tuple(deletions),
        kept=tuple(_kept(scan, priced, choice, given)),
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
        given_up=choice.given_up / terms.months,
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
        takes, allowed = in_seconds(rebuild.seconds), in_seconds(terms.latency_seconds)
        return Risk.HIGH, f"a rebuild takes {takes} of the {allowed} allowed"
    if recipe.lost_order:
        return Risk.MEDIUM, f"the order of its rows will not come back: {recipe.lost_order}"
    if recipe.kind == "rows":
        return Risk.MEDIUM, "its rows are listed by place: the parent's files must stay exactly as they are"
    if recipe.kind == "predicate":
        return Risk.MEDIUM, "a condition picks its rows out of the parent's"
    order = f"; they come back sorted by {order_text(recipe.order)}" if recipe.order else ""
    return Risk.LOW, f"every row of its parent is a row of it{order}"


def _equal_kept(pair: Pair, preferences: Preferences, priced: PricedEdges, choice: Choice) -> EqualKept | None:
    """The equal table that stays in place of a deleted one: its parent, or the preferred of those that stay."""
    parent, child = pair
    group = preferences.group_of.get(child, ())
    kept = [parent] if parent in group else [table for table in group if choice.kept_because[table]]
    if not kept:
        return None
    return preferences.why(kept=kept[0], gone=child, must_keep=priced.graph.must_keep)


def _kept(scan: Scan, priced: PricedEdges, choice: Choice, given: Collection[Pair]) -> Iterator[Kept]:
    """The tables that are contained in another, or have a given recipe, and stay, with the reason."""
    gone = set(choice.deleted)
    fallen: defaultdict[int, list[str]] = defaultdict(list)
    for (_, child), because in priced.fallen.items():
        fallen[child].append(because)
    usable = set(priced.graph.children)
    for child in sorted({*scan.graph.standing.children, *(child for _, child in given)} - gone):
        reasons = [choice.kept_because[child]] if child in usable else sorted(set(fallen[child]))
        reasons = reasons or [choice.kept_because[child]]
        yield Kept(scan.tables[child].name, _first(reasons), tuple(reasons))


def _first(reasons: Sequence[str]) -> str:
    """The first reasons, and how many more there are."""
    more = len(reasons) - SHOWN_REASONS
    some = "; ".join(reasons[:SHOWN_REASONS])
    return some if more <= 0 else f"{some} (and {more:,} more reason{'' if more == 1 else 's'})"
