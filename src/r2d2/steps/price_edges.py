"""Price every rebuild, in money and time (section 5.1). Edges that are too slow or have no recipe fall.

`C_e = r s_p + w s_q` and `L_e = r_l s_p + w_l s_q`; a recipe that lists rows also costs the storage of its list.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from r2d2.model.graph import ContainmentGraph
from r2d2.model.priced import PricedGraph
from r2d2.model.prices import Prices, Speed, Usage
from r2d2.model.profile import TableProfile
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.steps.infer_recipes import NoRecipe

Pair = tuple[int, int]  # parent, child


@dataclass(frozen=True, slots=True)
class Rebuild:
    """One rebuild of a child from a parent."""

    cost: float  # C_e
    seconds: float  # L_e
    measured: bool  # the seconds are those of a drill


@dataclass(frozen=True, slots=True)
class Terms:
    """Assumptions about money and time."""

    prices: Prices
    speed: Speed
    usage: Sequence[Usage]  # table by table
    latency_seconds: float  # Th: no rebuild may take longer
    months: float = 1.0  # the billing period
    measured_seconds: Mapping[Pair, float] = field(default_factory=dict)  # by drills


@dataclass(frozen=True, slots=True)
class PricedEdges:
    """The graph to choose from, what one rebuild over each of its edges takes, and why other edges fell."""

    graph: PricedGraph
    rebuilds: Mapping[Pair, Rebuild]
    fallen: Mapping[Pair, str]


def price_edges(
    scan: Scan,
    *,
    recipes: Mapping[Pair, Recipe | NoRecipe],
    terms: Terms,
    must_keep: Mapping[int, str],
    given: Collection[Pair] = (),
) -> PricedEdges:
    """The edges that a deletion could rest on, with their prices; the others with the reason why they fell.

    *given* are pairs whose recipe a person gave. It was carried out and made the child exactly, so it counts even
    where the scan found no edge: columns may be renamed (section 5.1).
    """
    fallen: dict[Pair, str] = {}
    rebuilds: dict[Pair, Rebuild] = {}
    expected: list[float] = []
    for pair in _edges(scan, given):
        recipe = recipes.get(pair, NoRecipe("no recipe has been looked for"))
        if isinstance(recipe, NoRecipe):
            fallen[pair] = recipe.because
            continue
        rebuild = price_rebuild(pair, scan.profiles, terms)
        if rebuild.seconds >= terms.latency_seconds:
            fallen[pair] = _too_slow(rebuild, terms)
            continue
        rebuilds[pair] = rebuild
        listed = recipe.selector_bytes * terms.prices.storage_per_byte_month * terms.months
        expected.append(rebuild.cost * terms.usage[pair[1]].accesses_per_month * terms.months + listed)
    graph = PricedGraph(
        tables=tuple(table.name for table in scan.tables),
        retain_cost=array("d", [retain_cost(n, profile, terms) for n, profile in enumerate(scan.profiles)]),
        parents=array("I", [parent for parent, _ in rebuilds]),
        children=array("I", [child for _, child in rebuilds]),
        rebuild_cost=array("d", expected),
        must_keep=must_keep,
    )
    return PricedEdges(graph, rebuilds, fallen)


def _edges(scan: Scan, given: Collection[Pair]) -> Iterator[Pair]:
    """The edges that stand, then the given pairs that are none."""
    yield from zip(scan.graph.standing.parents, scan.graph.standing.children, strict=True)
    yield from sorted(pair for pair in given if not _stands(scan.graph, pair))


def _stands(graph: ContainmentGraph, pair: Pair) -> bool:
    found = graph.find(*pair)
    return found is not None and found[0] is graph.standing


def price_rebuild(pair: Pair, profiles: Sequence[TableProfile], terms: Terms) -> Rebuild:
    """The parent is read whole and the child written."""
    read_bytes, written_bytes = profiles[pair[0]].size_bytes, profiles[pair[1]].size_bytes
    cost = terms.prices.read_per_byte * read_bytes + terms.prices.write_per_byte * written_bytes
    measured = terms.measured_seconds.get(pair)
    seconds = terms.speed.seconds(read_bytes=read_bytes, written_bytes=written_bytes) if measured is None else measured
    return Rebuild(cost, seconds, measured is not None)


def retain_cost(number: int, profile: TableProfile, terms: Terms) -> float:
    """Cost of keeping a table over the billing period: (C_s + C_m f_v) S_v."""
    return storage_cost(profile, terms) + maintenance_cost(number, profile, terms)


def storage_cost(profile: TableProfile, terms: Terms) -> float:
    """C_s S_v over the billing period."""
    return terms.prices.storage_per_byte_month * profile.size_bytes * terms.months


def maintenance_cost(number: int, profile: TableProfile, terms: Terms) -> float:
    """C_m f_v S_v over the billing period: each maintenance operation reads the table once."""
    times = terms.usage[number].maintenance_per_month * terms.months
    return terms.prices.scan_per_byte * times * profile.size_bytes


def _too_slow(rebuild: Rebuild, terms: Terms) -> str:
    how = "took" if rebuild.measured else "would take"
    takes, allowed = in_seconds(rebuild.seconds), in_seconds(terms.latency_seconds)
    return f"rebuilding it {how} {takes}, and less than {allowed} is allowed (--latency)"


def in_seconds(seconds: float) -> str:
    """A time with as many digits as it takes to tell it from 0 s.

    >>> in_seconds(0), in_seconds(0.0012), in_seconds(14.04), in_seconds(3600)
    ('0 s', '0.0012 s', '14 s', '3,600 s')
    """
    return f"{seconds:,.0f} s" if seconds == 0 or seconds >= 100 else f"{seconds:.2g} s"
