"""How can each contained table be rebuilt from its parents (section 5.1, where a person says it)?

Decided here: which edges are worth trying, when the whole projection will do, and what a comparison of the rebuilt
table with the child means. A recipe is believed only after it was carried out and gave the child, row for row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Protocol

from r2d2.model.counted import counted
from r2d2.model.graph import Check, Edges
from r2d2.model.literal import Literal
from r2d2.model.predicate import And, Between, Or, Predicate
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.recipe import Order, Recipe, projection
from r2d2.model.scan import Scan
from r2d2.model.schema import Column
from r2d2.steps.predicates.boxes import Box
from r2d2.steps.predicates.fitting import Marked
from r2d2.steps.predicates.search import find_predicate

Pair = tuple[int, int]  # parent, child
NOT_TRIED = "not tried"  # so begins the reason of an edge that may have a recipe


@dataclass(frozen=True, slots=True)
class NoRecipe:
    """Why an edge has none: it cannot enter a plan."""

    because: str


Answer = Recipe | NoRecipe


class Outcome(Protocol):
    """Result of carrying out a recipe on its parent."""

    @property
    def rows(self) -> int:
        """Rows it made."""

    @property
    def same(self) -> bool:
        """Whether they are the child's, each as often."""

    @property
    def wrong(self) -> str:
        """Why it could not be carried out; empty if it could."""

    @property
    def order(self) -> Order | None:
        """The order of the child's rows that the recipe can give back."""

    @property
    def lost_order(self) -> str:
        """The one that it cannot, in words."""


class Rebuilding(Protocol):
    """Reader of the tables; those that cannot be read are left out of its answers."""

    def search(self, edges: Sequence[Pair]) -> Mapping[Pair, Recipe]:
        """A likely recipe for each edge: a predicate, or listed rows."""

    def rebuild(self, wanted: Mapping[Pair, Recipe]) -> Mapping[Pair, Outcome]:
        """Each recipe carried out on the whole parent and compared with the whole child."""


def infer_recipes(
    scan: Scan,
    *,
    jobs: Rebuilding,
    most_parents: int,
    most_rows: int,
    only: Iterable[Pair] | None = None,
    also: Collection[Pair] = (),
    fixed: Mapping[int, str] = MappingProxyType({}),
    unlisted: Mapping[int, str] = MappingProxyType({}),
) -> dict[Pair, Answer]:
    """A checked recipe for each proven edge of the scan (or *only* for these), or the reason why there is none.

    A child with several parents is tried with the *most_parents* smallest (0: all of them) and with the smallest that
    is itself in no other; one of more than *most_rows* rows is not searched for a predicate beyond what its metadata
    says. Edges in *also* are tried whatever other parents the child has. *fixed* are tables, by number with the reason,
    that are neither rebuilt nor rebuilt from; *unlisted* those whose rows no recipe can list.
    """
    answers: dict[Pair, Answer] = {}
    wanted = list(only) if only is not None else None
    proven = list(_proven(scan, answers, wanted, fixed))
    tried = proven if wanted is not None else list(_cheapest(scan, proven, most_parents, answers, also))
    likely = {pair: recipe for pair in tried if (recipe := _plain_recipe(scan, pair, most_rows)) is not None}
    likely |= jobs.search([pair for pair in tried if pair not in likely])
    outcomes = jobs.rebuild(likely)
    for pair in tried:
        answer = _judged(scan, pair, likely.get(pair), outcomes.get(pair))
        lists_rows = isinstance(answer, Recipe) and answer.rows is not None
        answers[pair] = NoRecipe(unlisted[pair[0]]) if lists_rows and pair[0] in unlisted else answer
    return answers


def find_boxes(**given: Any) -> tuple[Box, ...] | None:
    """`find_predicate` as the tasks call it."""
    return find_predicate(Marked(**given))


def _proven(
    scan: Scan, answers: dict[Pair, Answer], only: Sequence[Pair] | None, fixed: Mapping[int, str]
) -> Iterator[Pair]:
    """The edges that hold as bags, every row compared; the others get their reason."""
    edges = scan.graph.standing
    places = {pair: place for place, pair in enumerate(zip(edges.parents, edges.children, strict=True))}
    for pair in places if only is None else only:
        reason = fixed.get(pair[1]) or fixed.get(pair[0]) or _not_proven(edges, places.get(pair))
        if reason:
            answers[pair] = NoRecipe(reason)
        else:
            yield pair


def _not_proven(edges: Edges, place: int | None) -> str:
    if place is None:
        return "the child is not contained in the parent, as far as the scan found"
    if edges.check[place] < Check.COMPARED:
        return "not proven: scan again without --no-verify"
    copies = edges.missing_copies[place]
    if copies < 0:
        return "it was not counted whether the parent has each row as often as the child"
    return (
        f"contained as a set only: the parent lacks {counted(copies, 'copies')} of the child's rows" if copies else ""
    )


def _cheapest(
    scan: Scan, pairs: Iterable[Pair], most: int, answers: dict[Pair, Answer], also: Collection[Pair]
) -> Iterator[Pair]:
    """Per child the edges from its smallest parents, and from the smallest that stays whatever is chosen, since
    nothing holds it; the others get their reason.
    """
    parents_of: defaultdict[int, list[int]] = defaultdict(list)
    for parent, child in pairs:
        parents_of[child].append(parent)
    for child, parents in parents_of.items():
        parents.sort(key=lambda parent: (scan.profiles[parent].size_bytes, parent))
        staying = next((parent for parent in parents if parent not in parents_of), None)
        for rank, parent in enumerate(parents):
            if most and rank >= most and parent != staying and (parent, child) not in also:
                answers[parent, child] = NoRecipe(f"{NOT_TRIED}: the child has {most} smaller parents")
            else:
                yield parent, child


def _plain_recipe(scan: Scan, pair: Pair, most_rows: int) -> Recipe | None:
    """A recipe that needs no search: every row of the parent, none, or, for a large child, its box; None: search."""
    parent, child = (scan.profiles[table] for table in pair)
    columns = projection(child.schema)
    if child.rows is not None and child.rows == parent.rows:
        return Recipe(columns)
    if child.rows == 0:
        return Recipe(columns, Or(()))
    if child.rows is None or child.rows <= most_rows:
        return None
    return Recipe(columns, stated_box(parent=parent, child=child))


def _judged(scan: Scan, pair: Pair, recipe: Recipe | None, outcome: Outcome | None) -> Answer:
    if recipe is None or outcome is None:
        return NoRecipe("the parent or the child could not be read")
    if outcome.same:
        return replace(recipe, order=outcome.order, lost_order=outcome.lost_order)
    if outcome.wrong:
        return NoRecipe(outcome.wrong)
    rows = scan.profiles[pair[1]].rows
    theirs = "rows" if rows is None else f"{rows:,}"
    return NoRecipe(f"the {recipe.kind} recipe makes {counted(outcome.rows, 'rows')}, not the child's {theirs}")


def stated_box(*, parent: TableProfile, child: TableProfile) -> Predicate:
    """The child's exact bounds where they are tighter than the parent's: all that its metadata says."""
    parts = []
    for column, stats in zip(child.schema.columns, child.stats, strict=True):
        low, high = _literal(stats.low, column), _literal(stats.high, column)
        if low and high and stats.low_exact and stats.high_exact and _tighter(stats, parent.column(column)):
            parts.append(Between(column.token, low, high))
    return And(tuple(parts))


def _tighter(child: ColumnStats, parent: ColumnStats | None) -> bool:
    return parent is None or (child.low, child.high, child.nulls) != (parent.low, parent.high, parent.nulls)


def _literal(bound: int | float | Decimal | bytes | None, column: Column) -> Literal | None:
    """A bound of a profile as a constant of a predicate."""
    match column.kind, bound:
        case "number", int() | float() | Decimal():
            return Literal({int: "int", float: "float", Decimal: "decimal"}[type(bound)], bound)
        case "bool", int():
            return Literal("bool", bool(bound))
        case "string", bytes():
            return Literal("string", bound.decode("utf-8", "surrogateescape"))
        case "binary", bytes():
            return Literal("binary", bound)
        case "date" | "timestamp" | "timestamp with zone", int():
            return Literal(column.kind, bound)
    return None
