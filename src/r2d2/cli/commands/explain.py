"""`r2d2 explain`: say why a table is, or is not, contained in another."""

from __future__ import annotations

from typing import Any

import click

from r2d2.cli.options import AS_JSON, QUIET, settings_from, with_settings


@click.command(short_help="Say why a table is, or is not, contained in another.")
@click.argument("parent")
@click.argument("child")
@with_settings("explain")
@click.option("--verbose", "-v", is_flag=True, help="every reason of a check that has several")
@AS_JSON
@QUIET
def explain(parent: str, child: str, verbose: bool, as_json: bool, quiet: bool, **given: Any) -> int:
    """Say why CHILD is, may be or cannot be contained in PARENT."""
    from r2d2.app import explain as app
    from r2d2.app.workspace import Workspace
    from r2d2.cli.show import show_explanation

    explanation = app.explain(Workspace(settings_from(given)), parent=parent, child=child)
    show_explanation(explanation, as_json=as_json, verbose=verbose)
    return 0
