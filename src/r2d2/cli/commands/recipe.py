"""`r2d2 recipe`: show, give, infer or forget how a child is rebuilt from a parent."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings


@click.group()
def recipe() -> None:
    """Show, give, infer or forget how CHILD is rebuilt from PARENT."""


@recipe.command()
@click.argument("parent")
@click.argument("child")
@with_settings("recipe show")
@AS_JSON
@QUIET
def show(parent: str, child: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Show the recipe that is kept for CHILD from PARENT; exit code 1 if it is out of date or there is none."""
    from r2d2.app.recipes import look_up
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show_recipe import show_entry

    entry = look_up(Workspace(settings_from(given)), parent=parent, child=child)
    show_entry(entry, as_json=as_json)
    return int(not entry.current or entry.stored.recipe is None)


@recipe.command("set")
@click.argument("parent")
@click.argument("child")
@click.argument("recipe_or_select", metavar="FILE|SELECT")
@click.option("--show-values", is_flag=True, help="show a few rows that are too many or too few, values and all")
@with_settings("recipe")
@AS_JSON
@QUIET
def give(
    parent: str, child: str, recipe_or_select: str, show_values: bool, as_json: bool, quiet: bool, **given: Any
) -> int:
    """Try your own recipe on the data, and keep it if it rebuilds CHILD exactly; exit code 1 if it does not.

    It is a file with a recipe in JSON, or a text such as 'SELECT a, b FROM parent WHERE a > 5'.
    """
    from r2d2.app import recipes
    from r2d2.app.read_recipe import recipe_text
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show_recipe import show_trial

    text = recipe_text(recipe_or_select)
    workspace = Workspace(settings_from(given))
    parent, child = recipes.table_names(workspace, parent=parent, child=child)
    made, difference = recipes.give(workspace, text, parent=parent, child=child, show_values=show_values)
    show_trial(made, difference, parent=parent, child=child, as_json=as_json)
    return int(not difference.same)


@recipe.command()
@click.argument("parent", required=False)
@click.argument("child", required=False)
@with_settings("recipe")
@AS_JSON
@QUIET
def infer(parent: str | None, child: str | None, as_json: bool, quiet: bool, **given: Any) -> int:
    """Find recipes for all proven edges of the last scan, or for one, and keep those that rebuild exactly."""
    from r2d2.app import recipes
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show_recipe import show_inferred
    from r2d2.errors import UserError

    if parent and not child:
        raise UserError("PARENT is given without CHILD", hint="give both, or none for all edges")
    if not (quiet or as_json):
        click.echo("r2d2: looking for recipes", err=True)
    found = recipes.infer(Workspace(settings_from(given)), only=[(parent, child)] if parent and child else None)
    show_inferred(found, as_json=as_json)
    return int(bool(parent) and found[0].recipe is None)


@recipe.command()
@click.argument("parent")
@click.argument("child")
@with_settings("recipe forget")
@AS_JSON
@QUIET
def forget(parent: str, child: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Remove the recipe that is kept for CHILD from PARENT; exit code 1 if there was none."""
    from r2d2.app import recipes
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show_recipe import show_forgotten

    gone = recipes.forget(Workspace(settings_from(given)), parent=parent, child=child)
    show_forgotten(gone, parent=parent, child=child, as_json=as_json)
    return int(not gone)
