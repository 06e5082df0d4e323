"""Collect the recipes that a plan can rest on: those in the state, and inferred ones for edges without an answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from r2d2.app.recipes import infer, is_current
from r2d2.app.workspace import Workspace
from r2d2.flows.plan import KnownRecipes, Pair
from r2d2.model.recipe import GIVEN
from r2d2.model.scan import Scan
from r2d2.state.recipes import RecipeStore, StoredRecipe
from r2d2.steps.infer_recipes import NOT_TRIED, NoRecipe


def recipes_for(
    workspace: Workspace, scan: Scan, *, also: Iterable[Pair] = (), deleted: Collection[str] = ()
) -> KnownRecipes:
    """Look up the recipe of each edge of the scan, and those that a person gave for other pairs.

    Edges without an answer are tried now, and so are those in *also* that were left out for smaller parents. The scan
    is one of tables that are there; recipes for *deleted* tables are neither used nor missed.
    """
    stored = list(RecipeStore(workspace.settings.state).all())
    known = {(one.parent, one.child): one for one in stored if is_current(scan, one)}
    wanted = [(scan.tables[parent].name, scan.tables[child].name) for parent, child in also]
    untried = [pair for pair in wanted if pair in known and known[pair].because.startswith(NOT_TRIED)]
    found: list[StoredRecipe] = []
    if any(pair not in known for pair in scan.graph.edges()):
        found = infer(workspace, also=wanted)
    elif untried:
        found = infer(workspace, only=untried)
    known |= {(one.parent, one.child): one for one in found}
    number = scan.number_of
    numbered = {(number[parent], number[child]): one for (parent, child), one in known.items()}
    return KnownRecipes(
        {pair: one.recipe or NoRecipe(one.because) for pair, one in numbered.items()},
        frozenset(pair for pair, one in numbered.items() if one.origin == GIVEN and one.recipe is not None),
        tuple(_outdated(scan, stored, deleted)),
    )


def _outdated(scan: Scan, stored: Iterable[StoredRecipe], deleted: Collection[str]) -> Iterator[str]:
    """One line about the given recipes that no longer fit, if there are any."""
    old = [
        one
        for one in stored
        if one.origin == GIVEN and not is_current(scan, one) and not {one.parent, one.child} & set(deleted)
    ]
    if not old:
        return
    first, more = old[0], f" (and {len(old) - 1:,} more)" if old[1:] else ""
    yield (
        f"the recipe given for {first.child} from {first.parent}{more} no longer fits: {_changed(scan, first)} since "
        "it was tried. Give it again with `r2d2 recipe set`, or drop it with `r2d2 recipe forget`"
    )


def _changed(scan: Scan, stored: StoredRecipe) -> str:
    """Name the table that makes a recipe out of date, and say how."""
    for name, version in ((stored.parent, stored.parent_version), (stored.child, stored.child_version)):
        if name not in scan.number_of:
            return f"{name} has gone"
        if scan.tables[scan.number_of[name]].version != version:
            return f"{name} has changed"
    return "a table has changed"
