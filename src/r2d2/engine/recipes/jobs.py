"""Recipes for many edges at once: one Spark job looks for them, one carries them out and compares.

A work item of the search is a parent with some of its children: the parent is read slice by slice, and once for all of
them where it is small. A work item of the comparison is a slice of a parent with all recipes that need it, or of a
child.
"""

from __future__ import annotations

import base64
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from r2d2.engine.recipes.carry_out import distinct_bundle, rebuild_bundle
from r2d2.engine.recipes.diff import differ_bundle
from r2d2.engine.recipes.notice_order import notice_order
from r2d2.engine.recipes.row_order import sequence_sum
from r2d2.engine.recipes.search import FindBoxes, search_bundle
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import BYTES_PER_TASK
from r2d2.engine.run.contract import ReaderDied, Task
from r2d2.model import predicate as predicates
from r2d2.model import recipe as recipes
from r2d2.model.recipe import ChosenRows, Order, Recipe, projection
from r2d2.model.work import (
    Differs,
    DifferWork,
    DistinctWork,
    Failed,
    FileSlice,
    FoundPredicate,
    FoundRows,
    PlaceSums,
    RebuildWork,
    RecipeWork,
    SearchWork,
    ShippedRecipe,
    SliceOrder,
    TableRows,
    Wrong,
)
from r2d2.model.work import Summed as SummedRows

Pair = tuple[int, int]  # parent, child
SEARCH_BYTES_PER_TASK = 64 << 20  # looking for a predicate costs several times a read
MOST_CHILDREN = 8  # of one parent in one work item
Sum = tuple[int, int, int]
Item = TypeVar("Item", SearchWork, RebuildWork, DistinctWork, DifferWork)
Answer = TypeVar("Answer", FoundPredicate | FoundRows | Failed, SummedRows | Wrong | Failed, Differs | Wrong | Failed)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a recipe made of its parent: how many rows, whether they are the child's, or why it could not be done."""

    rows: int
    same: bool
    wrong: str = ""
    order: Order | None = None  # that the recipe can give back; see Recipe
    lost_order: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """How the rows that a recipe makes differ from the child's; or why it could not be carried out."""

    rows: int = 0
    too_many: int = 0  # rows made that the child has not, or not as often
    too_few: int = 0
    example_too_many: Sequence[Mapping[str, str | None]] = ()
    example_too_few: Sequence[Mapping[str, str | None]] = ()
    wrong: str = ""
    order: Order | None = None  # see Rebuilt
    lost_order: str = ""

    @property
    def same(self) -> bool:
        """Whether the child came out, row for row."""
        return not (self.too_many or self.too_few or self.wrong)


@dataclass
class RecipeJobs:
    """Finds and tries recipes for the tables of a lake."""

    content: Content
    find: FindBoxes

    def search(self, edges: Sequence[Pair]) -> dict[Pair, Recipe]:
        """A recipe for each edge: a predicate where one was found, else the listed rows. Unread tables have none."""
        run = partial(search_bundle, hashing=self.content.hashing, find=self.find)
        task: Task[SearchWork, FoundPredicate | FoundRows | Failed]
        task = Task("search", run, _weight, SEARCH_BYTES_PER_TASK)
        answers = self._answers(lambda: list(self._search_pieces(edges)), task)
        return {(a["parent"], a["child"]): self._recipe(a) for a in answers if a["kind"] != "failed"}

    def rebuild(self, wanted: Mapping[Pair, Recipe]) -> dict[Pair, Rebuilt]:
        """Each recipe carried out on all of its parent and compared with all of its child."""
        numbered = list(wanted.items())
        hashing = self.content.hashing
        plain: Task[RebuildWork, SummedRows | Wrong | Failed]
        plain = Task("rebuild", partial(rebuild_bundle, hashing=hashing), _weight, BYTES_PER_TASK)
        once: Task[DistinctWork, SummedRows | Wrong | Failed]
        once = Task("distinct", partial(distinct_bundle, hashing=hashing), _weight, BYTES_PER_TASK)
        answers = self._answers(lambda: list(self._rebuild_pieces(numbered)), plain)
        answers += self._answers(lambda: list(self._distinct_pieces(numbered)), once)
        made, whole, wrong = _summed(answers)
        return {
            pair: _rebuilt(recipe, made.get(number, Summed()), whole.get(pair[1], Summed()), wrong.get(number, ""))
            for number, (pair, recipe) in enumerate(numbered)
            if not self.content.failed.keys() & set(pair)
        }

    def differ(self, pair: Pair, recipe: Recipe, *, examples: int = 0) -> Difference:
        """How the rows that one recipe makes differ from the child's, counted, with some *examples* of them."""
        parent = self.content.tables[pair[0]]
        paths = [relative_to(parent.location, part["path"]) for part in parent.slices]
        piece: DifferWork = {
            "kind": "differ",
            "table": pair[0],
            "slices": parent.slices,
            "listed": [_shipped(0, recipe, path)[2] for path in paths],
            "recipe": _shipped(0, recipe, "")[1],
            "distinct": recipe.distinct,
            "types": [(column.token, column.type_name) for column in parent.columns],
            "child": self._child(pair[1]),
            "examples": examples,
        }
        run = partial(differ_bundle, hashing=self.content.hashing)
        task: Task[DifferWork, Differs | Wrong | Failed] = Task("differ", run, _weight, BYTES_PER_TASK)
        answers = self._answers(lambda: [] if self.content.failed else [piece], task)
        return _difference(answers[0]) if answers else Difference(wrong="the parent or the child cannot be read")

    def _search_pieces(self, edges: Iterable[Pair]) -> Iterator[SearchWork]:
        children: defaultdict[int, list[int]] = defaultdict(list)
        for parent, child in edges:
            if not self.content.failed.keys() & {parent, child}:
                children[parent].append(child)
        for parent, all_of_them in children.items():
            for first in range(0, len(all_of_them), MOST_CHILDREN):
                yield {
                    "kind": "search",
                    "table": parent,
                    "slices": self.content.tables[parent].slices,
                    "tokens": self.content.tables[parent].tokens,
                    "children": [self._child(child) for child in all_of_them[first : first + MOST_CHILDREN]],
                }

    def _child(self, child: int) -> TableRows:
        content = self.content.tables[child]
        return {"table": child, "slices": content.slices, "tokens": content.tokens}

    def _recipe(self, answer: FoundPredicate | FoundRows) -> Recipe:
        columns = projection(self.content.tables[answer["child"]].columns)
        if answer["kind"] == "predicate":
            return Recipe(columns, predicates.from_json(answer["where"]), answer["distinct"])
        location = self.content.tables[answer["parent"]].location
        listed = [
            ChosenRows(relative_to(location, path), rows, base64.b64decode(bitmap))
            for path, rows, bitmap in answer["rows"]
        ]
        return Recipe(columns, rows=tuple(sorted(listed, key=lambda chosen: chosen.path)))

    def _rebuild_pieces(self, wanted: Sequence[tuple[Pair, Recipe]]) -> Iterator[RebuildWork]:
        of_parent: defaultdict[int, list[int]] = defaultdict(list)
        for number, ((parent, _), recipe) in enumerate(wanted):
            if not recipe.distinct:
                of_parent[parent].append(number)
        children: defaultdict[int, list[object]] = defaultdict(list)
        for (_, child), recipe in wanted:
            children[child] += [recipes.order_to_json(recipe.order)] if recipe.order else []
        for table in sorted(of_parent.keys() | children.keys()):
            if table in self.content.failed:
                continue
            content = self.content.tables[table]
            for part in content.slices:
                path = relative_to(content.location, part["path"])
                yield {
                    "kind": "rebuild",
                    "table": table,
                    "slice": part,
                    "recipes": [_shipped(number, wanted[number][1], path) for number in of_parent[table]],
                    "types": [(column.token, column.type_name) for column in content.columns],
                    "whole": content.tokens if table in children else [],
                    "asked": children.get(table, []),
                }

    def _distinct_pieces(self, wanted: Sequence[tuple[Pair, Recipe]]) -> Iterator[DistinctWork]:
        for number, ((parent, child), recipe) in enumerate(wanted):
            if recipe.distinct and parent not in self.content.failed:
                content = self.content.tables[parent]
                yield {
                    "kind": "distinct",
                    "table": parent,
                    "slices": content.slices,
                    "recipes": [_shipped(number, recipe, "")],
                    "types": [(column.token, column.type_name) for column in content.columns],
                    "most": self.content.tables[child].rows,
                }

    def _answers(self, pieces: Callable[[], list[Item]], task: Task[Item, Answer]) -> list[Answer]:
        """The answers of one job. A file that kills its reader costs its own table: the pieces are made again."""
        try:
            answers = self.content.executor.run(task, pieces())
        except ReaderDied as died:
            if not self._find_deadly(pieces()):
                raise died.reason
            answers = self.content.executor.run(task, pieces())
        for answer in answers:
            if answer["kind"] == "failed":
                self.content.failed.setdefault(answer["table"], (answer["because"], answer["hint"]))
        return [answer for answer in answers if answer["kind"] != "failed"]

    def _find_deadly(self, pieces: Iterable[RecipeWork]) -> bool:
        """Whether some slice kills whoever reads it; its table counts as failed from now on."""
        reads = [read for piece in pieces for read in _reads(piece)]
        deadly = self.content.find_deadly([part for _, part in reads])
        for place, why in deadly.items():
            self.content.failed.setdefault(reads[place][0], (why, ""))
        return bool(deadly)


def relative_to(location: str, path: str) -> str:
    """A file of a table by its place below the table's folder, with /; "" for a table that is one file.

    >>> relative_to("/lake/t", "/lake/t/day=1/part-0.parquet"), relative_to("/lake/t.parquet", "/lake/t.parquet")
    ('day=1/part-0.parquet', '')
    """
    return "" if path == location else os.path.relpath(path, location).replace(os.sep, "/")


def _shipped(number: int, recipe: Recipe, path: str) -> ShippedRecipe:
    """A recipe with what it lists of one file only."""
    if recipe.rows is None:
        return number, recipes.to_json(recipe), ""
    bitmap = next((chosen.bitmap for chosen in recipe.rows if chosen.path == path), b"")
    bare = recipes.to_json(Recipe(recipe.columns, rows=()))
    return number, bare, base64.b64encode(bitmap).decode()


def _reads(piece: RecipeWork) -> list[tuple[int, FileSlice]]:
    """The slices that a piece reads, each with its table."""
    if piece["kind"] == "rebuild":
        return [(piece["table"], piece["slice"])]
    own = [(piece["table"], part) for part in piece["slices"]]
    return own + [(child["table"], part) for child in _children(piece) for part in child["slices"]]


def _children(piece: RecipeWork) -> Sequence[TableRows]:
    if piece["kind"] == "search":
        return piece["children"]
    return [piece["child"]] if piece["kind"] == "differ" else []


def _weight(piece: RecipeWork) -> float:
    children = max(1, len(_children(piece)))
    return float(sum(part["bytes"] for _, part in _reads(piece)) * (1 + children / 4) + 1)


def _difference(answer: Differs | Wrong | Failed) -> Difference:
    if answer["kind"] != "difference":
        return Difference(wrong=answer["because"])
    too_many, too_few = answer.get("example_too_many", ()), answer.get("example_too_few", ())
    return Difference(answer["rows"], answer["too_many"], answer["too_few"], too_many, too_few)


@dataclass(slots=True)
class Summed:
    """Sums over all slices of a table or of a recipe's result, with the order that each slice reports."""

    total: Sum = (0, 0, 0)
    parts: list[PlaceSums] = field(default_factory=list)
    orders: list[SliceOrder] = field(default_factory=list)

    def add(self, answer: SummedRows) -> None:
        """Take in what a task says."""
        rows, first, second = ((a + b) % 2**64 for a, b in zip(self.total, answer["sum"], strict=True))
        self.total = rows, first, second
        self.parts += answer["parts"]
        self.orders += answer["orders"]


def _summed(
    answers: Iterable[SummedRows | Wrong | Failed],
) -> tuple[dict[int, Summed], dict[int, Summed], dict[int, str]]:
    made: defaultdict[int, Summed] = defaultdict(Summed)
    whole: defaultdict[int, Summed] = defaultdict(Summed)
    wrong: dict[int, str] = {}
    for answer in answers:
        if answer["kind"] == "wrong":
            wrong[answer["recipe"]] = answer["because"]
        elif answer["kind"] == "sum":
            (made if answer["of"] == "recipe" else whole)[answer["number"]].add(answer)
    return made, whole, wrong


def _rebuilt(recipe: Recipe, made: Summed, child: Summed, wrong: str) -> Rebuilt:
    """Whether the rows are the child's; only then is it asked in which order they stand."""
    rows = made.total[0]
    if wrong or made.total != child.total:
        return Rebuilt(rows, False, wrong)
    as_in_parent = not recipe.distinct and sequence_sum(made.parts) == sequence_sum(child.parts)
    found = notice_order(recipe, child.orders, rows=rows, as_in_parent=as_in_parent)
    return Rebuilt(rows, not found.wrong, found.wrong, found.order, found.lost)
