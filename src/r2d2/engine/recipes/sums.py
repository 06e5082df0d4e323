"""Sums over the rows that a recipe makes, held against those over the child's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from r2d2.engine.recipes.notice_order import notice_order
from r2d2.engine.recipes.row_order import sequence_sum
from r2d2.model.recipe import Order, Recipe
from r2d2.model.work import Failed, PlaceSums, SliceOrder, Wrong
from r2d2.model.work import Summed as SummedRows

Sum = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Result of running a recipe: the number of rows, whether they equal the child's, or the reason of a failure."""

    rows: int
    same: bool
    wrong: str = ""
    order: Order | None = None  # that the recipe can give back; see Recipe
    lost_order: str = ""


@dataclass(slots=True)
class Summed:
    """Sums over all slices of a table or of a recipe's result, with the order that each slice reports."""

    total: Sum = (0, 0, 0)
    parts: list[PlaceSums] = field(default_factory=list)
    orders: list[SliceOrder] = field(default_factory=list)

    def add(self, answer: SummedRows) -> None:
        """Add the answer of a task."""
        rows, first, second = ((a + b) % 2**64 for a, b in zip(self.total, answer["sum"], strict=True))
        self.total = rows, first, second
        self.parts += answer["parts"]
        self.orders += answer["orders"]


def summed(
    answers: Iterable[SummedRows | Wrong | Failed],
) -> tuple[dict[int, Summed], dict[int, Summed], dict[int, str]]:
    """The sums by recipe, the sums by table, and by recipe why it could not be carried out."""
    made: defaultdict[int, Summed] = defaultdict(Summed)
    whole: defaultdict[int, Summed] = defaultdict(Summed)
    wrong: dict[int, str] = {}
    for answer in answers:
        if answer["kind"] == "wrong":
            wrong[answer["recipe"]] = answer["because"]
        elif answer["kind"] == "sum":
            (made if answer["of"] == "recipe" else whole)[answer["number"]].add(answer)
    return made, whole, wrong


def rebuilt_by(recipe: Recipe, made: Summed, child: Summed, wrong: str) -> Rebuilt:
    """Compare the sums of output and child; if they are equal, find the order of the rows."""
    rows = made.total[0]
    if wrong or made.total != child.total:
        return Rebuilt(rows, False, wrong)
    as_in_parent = not recipe.distinct and sequence_sum(made.parts) == sequence_sum(child.parts)
    found = notice_order(recipe, child.orders, rows=rows, as_in_parent=as_in_parent)
    return Rebuilt(rows, not found.wrong, found.wrong, found.order, found.lost)
