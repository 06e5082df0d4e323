"""Search for recipes and try them on the tables of a scan, with Spark."""

from __future__ import annotations

from collections.abc import Iterable

from r2d2.app.freshness import changed_tables, refuse_deleted
from r2d2.app.workspace import Workspace
from r2d2.engine.recipes.jobs import Difference, RecipeJobs
from r2d2.engine.spark.session import LazySession
from r2d2.errors import UserError
from r2d2.formats.registry import without_rebuild, without_row_lists
from r2d2.model.recipe import Recipe
from r2d2.model.scan import Scan
from r2d2.report.explain import find_table
from r2d2.steps import infer_recipes as step
from r2d2.steps.infer_recipes import NoRecipe
from r2d2.steps.leave_out_absent import leave_out_absent

Pair = tuple[str, str]  # parent, child


def infer_recipes(
    workspace: Workspace, scan: Scan, *, only: Iterable[Pair] | None = None, also: Iterable[Pair] = ()
) -> dict[Pair, Recipe | NoRecipe]:
    """By (parent, child) a recipe that was carried out and gave the child exactly, or why there is none.

    *only* names the edges to try; without it all proven edges are tried, with the smallest parents of each child,
    and those in *also*.
    """
    settings = workspace.settings
    wanted = None if only is None else [(_readable(scan, parent), _readable(scan, child)) for parent, child in only]
    scan = leave_out_absent(scan)
    number = scan.number_of
    pairs = None if wanted is None else [(number[parent], number[child]) for parent, child in wanted]
    with workspace.session() as session:
        found = step.infer_recipes(
            scan,
            jobs=_recipe_jobs(workspace, scan, session),
            most_parents=settings.recipe_parents,
            most_rows=settings.recipe_rows,
            only=pairs,
            also={(number[parent], number[child]) for parent, child in also},
            fixed=without_rebuild(scan.tables),
            unlisted=without_row_lists(scan.tables),
        )
    return {(scan.tables[p].name, scan.tables[c].name): answer for (p, c), answer in found.items()}


def try_recipe(
    workspace: Workspace, scan: Scan, recipe: Recipe, *, parent: str, child: str, examples: int = 0
) -> Difference:
    """Difference between the rows that a recipe makes of *parent* and *child*; with some *examples*, values and all."""
    names = _readable(scan, parent), _readable(scan, child)
    scan = leave_out_absent(scan)
    pair = scan.number_of[names[0]], scan.number_of[names[1]]
    if fixed := without_rebuild(scan.tables[number] for number in pair):
        raise UserError(next(iter(fixed.values())), hint="a recipe can be given for tables of other formats")
    if recipe.rows is not None and (unlisted := without_row_lists([scan.tables[pair[0]]])):
        raise UserError(unlisted[0], hint="give a condition instead of a list of rows")
    rows = scan.profiles[pair[1]].rows
    with workspace.session() as session:
        jobs = _recipe_jobs(workspace, scan, session)
        if rows is None or rows <= workspace.settings.recipe_rows:
            difference = jobs.differ(pair, recipe, examples=examples)
            if not difference.same:
                return difference
        outcome = jobs.rebuild({pair: recipe}).get(pair)
    if outcome is None or outcome.wrong:
        return Difference(wrong=outcome.wrong if outcome else "the parent or the child cannot be read")
    if rows is None:
        wrong = "" if outcome.same else "other rows than the child's"
        return Difference(outcome.rows, wrong=wrong, order=outcome.order, lost_order=outcome.lost_order)
    wrong = "" if outcome.same or outcome.rows != rows else "as many rows as the child, but other ones"
    too_many, too_few = max(0, outcome.rows - rows), max(0, rows - outcome.rows)
    return Difference(outcome.rows, too_many, too_few, wrong=wrong, order=outcome.order, lost_order=outcome.lost_order)


def _readable(scan: Scan, name: str) -> str:
    """The proper name of a table that is there."""
    table = scan.tables[find_table(scan, name)].name
    refuse_deleted(scan, table)
    return table


def _recipe_jobs(workspace: Workspace, scan: Scan, session: LazySession) -> RecipeJobs:
    changed = changed_tables(scan.tables)
    if changed:
        raise UserError(
            f"{changed[0]} has changed since the scan" + (f", and {len(changed) - 1:,} more" if changed[1:] else ""),
            hint="scan the lake again first",
        )
    return RecipeJobs(workspace.content(scan, session), step.find_boxes)
