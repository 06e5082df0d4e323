"""Recipes for many edges at once: one Spark job searches for them, one runs and compares them.

A work item of the search is a parent with some of its children: the parent is read slice by slice, and once for all of
them where it is small. A work item of the comparison is a slice of a parent with all recipes that need it, or of a
child.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from r2d2.engine.recipes.carry_out import distinct_bundle, rebuild_bundle
from r2d2.engine.recipes.diff import differ_bundle
from r2d2.engine.recipes.search import FindBoxes, search_bundle
from r2d2.engine.recipes.sums import Rebuilt, Summed, rebuilt_by, summed
from r2d2.engine.recipes.work_items import reads_of, relative_to, shipped, weight_of
from r2d2.engine.rows.content import Content
from r2d2.engine.rows.hash_slices import BYTES_PER_TASK
from r2d2.engine.run.contract import ReaderDied, Task, last_try
from r2d2.model import predicate as predicates
from r2d2.model import recipe as recipes
from r2d2.model.recipe import ChosenRows, Order, Recipe, projection
from r2d2.model.work import (
    Differs,
    DifferWork,
    DistinctWork,
    Failed,
    FoundPredicate,
    FoundRows,
    RebuildWork,
    RecipeWork,
    SearchWork,
    TableRows,
    Wrong,
)
from r2d2.model.work import Summed as SummedRows

Pair = tuple[int, int]  # parent, child
SEARCH_BYTES_PER_TASK = 64 << 20  # searching for a predicate costs several times as much as reading
MOST_CHILDREN = 8  # of one parent in one work item
Item = TypeVar("Item", SearchWork, RebuildWork, DistinctWork, DifferWork)
Answer = TypeVar("Answer", FoundPredicate | FoundRows | Failed, SummedRows | Wrong | Failed, Differs | Wrong | Failed)


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between the rows of a recipe and the child's, or the reason that it could not be run."""

    rows: int = 0
    too_many: int = 0  # output rows that the child does not have, or has less often
    too_few: int = 0
    example_too_many: Sequence[Mapping[str, str | None]] = ()
    example_too_few: Sequence[Mapping[str, str | None]] = ()
    wrong: str = ""
    order: Order | None = None  # see Rebuilt
    lost_order: str = ""

    @property
    def same(self) -> bool:
        """Whether the output equals the child, row for row."""
        return not (self.too_many or self.too_few or self.wrong)


@dataclass
class RecipeJobs:
    """Search and trial of recipes for the tables of a lake."""

    content: Content
    find: FindBoxes

    def search(self, edges: Sequence[Pair]) -> dict[Pair, Recipe]:
        """A recipe for each edge: a predicate if one was found, else listed rows. Unreadable tables are left out."""
        run = partial(search_bundle, hashing=self.content.hashing, find=self.find)
        task: Task[SearchWork, FoundPredicate | FoundRows | Failed]
        task = Task("search", run, weight_of, SEARCH_BYTES_PER_TASK)
        answers = self._answers(lambda: list(self._search_pieces(edges)), task)
        return {(a["parent"], a["child"]): self._recipe(a) for a in answers if a["kind"] != "failed"}

    def rebuild(self, wanted: Mapping[Pair, Recipe]) -> dict[Pair, Rebuilt]:
        """Run each recipe on all of its parent, and compare the output with all of its child."""
        numbered = list(wanted.items())
        hashing = self.content.hashing
        plain: Task[RebuildWork, SummedRows | Wrong | Failed]
        plain = Task("rebuild", partial(rebuild_bundle, hashing=hashing), weight_of, BYTES_PER_TASK)
        once: Task[DistinctWork, SummedRows | Wrong | Failed]
        once = Task("distinct", partial(distinct_bundle, hashing=hashing), weight_of, BYTES_PER_TASK)
        answers = self._answers(lambda: list(self._rebuild_pieces(numbered)), plain)
        answers += self._answers(lambda: list(self._distinct_pieces(numbered)), once)
        made, whole, wrong = summed(answers)
        return {
            pair: rebuilt_by(recipe, made.get(number, Summed()), whole.get(pair[1], Summed()), wrong.get(number, ""))
            for number, (pair, recipe) in enumerate(numbered)
            if not self.content.failed.keys() & set(pair)
        }

    def differ(self, pair: Pair, recipe: Recipe, *, examples: int = 0) -> Difference:
        """Count the differences between the rows of one recipe and the child's, with some *examples*."""
        parent = self.content.tables[pair[0]]
        paths = [relative_to(parent.location, part["path"]) for part in parent.slices]
        piece: DifferWork = {
            "kind": "differ",
            "table": pair[0],
            "slices": parent.slices,
            "listed": [shipped(0, recipe, path)[2] for path in paths],
            "recipe": shipped(0, recipe, "")[1],
            "distinct": recipe.distinct,
            "types": [(column.token, column.type_name) for column in parent.columns],
            "child": self._child(pair[1]),
            "examples": examples,
        }
        run = partial(differ_bundle, hashing=self.content.hashing)
        task: Task[DifferWork, Differs | Wrong | Failed] = Task("differ", run, weight_of, BYTES_PER_TASK)
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
                    "recipes": [shipped(number, wanted[number][1], path) for number in of_parent[table]],
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
                    "recipes": [shipped(number, recipe, "")],
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
            with last_try():
                answers = self.content.executor.run(task, pieces())
        for answer in answers:
            if answer["kind"] == "failed":
                self.content.failed.setdefault(answer["table"], (answer["because"], answer["hint"]))
        return [answer for answer in answers if answer["kind"] != "failed"]

    def _find_deadly(self, pieces: Iterable[RecipeWork]) -> bool:
        """Whether there is a crashing slice; its table counts as failed from now on."""
        reads = [read for piece in pieces for read in reads_of(piece)]
        deadly = self.content.find_deadly([part for _, part in reads])
        for place, why in deadly.items():
            self.content.failed.setdefault(reads[place][0], (why, ""))
        return bool(deadly)


def _difference(answer: Differs | Wrong | Failed) -> Difference:
    if answer["kind"] != "difference":
        return Difference(wrong=answer["because"])
    too_many, too_few = answer.get("example_too_many", ()), answer.get("example_too_few", ())
    return Difference(answer["rows"], answer["too_many"], answer["too_few"], too_many, too_few)
