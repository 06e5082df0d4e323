"""The commands. Each reads its options, calls one function, and shows what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

import click

from r2d2.cli.options import settings_from, with_settings

Command = TypeVar("Command", bound=Callable[..., Any])

_JSON = click.option("--json", "as_json", is_flag=True, help="machine-readable output; the shapes are documented")
_QUIET = click.option("--quiet", "-q", is_flag=True, help="no progress, only the result")


@click.command()
@click.argument("lake", nargs=-1, required=True, metavar="LAKE...")
@with_settings("scan")
@_JSON
@_QUIET
def scan(lake: Sequence[str], as_json: bool, quiet: bool, **given: Any) -> int:
    """Find the tables under LAKE and which may be contained in which."""
    from r2d2.api import scan_lake
    from r2d2.cli.progress import shown
    from r2d2.cli.show import show_scan

    settings = settings_from(given)
    with shown(quiet=quiet or as_json) as progress:
        found = scan_lake(lake, settings, progress=progress)
    show_scan(found, state=settings.state, as_json=as_json)
    return int(found.needs_a_look)


@click.command()
@with_settings("edges")
@click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", help="how to print them"
)
@click.option("--all", "everything", is_flag=True, help="the pairs that were dropped too, and why")
@_JSON
@_QUIET
def edges(form: str, everything: bool, as_json: bool, quiet: bool, **given: Any) -> int:
    """List the containment edges of the last scan."""
    from r2d2.cli.show import show_edges
    from r2d2.report.edges import dropped_edges, standing_edges
    from r2d2.state.store import StateStore

    found = StateStore(settings_from(given).state).load()
    rows = chain(standing_edges(found), dropped_edges(found)) if everything else standing_edges(found)
    show_edges(rows, "json" if as_json else form)
    return 0


@click.command()
@click.argument("parent")
@click.argument("child")
@with_settings("explain")
@_JSON
@_QUIET
def explain(parent: str, child: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Say why CHILD is, may be or cannot be contained in PARENT."""
    from r2d2.cli.show import show_explanation
    from r2d2.report.explain import explain as explain_pair
    from r2d2.state.store import StateStore

    found = StateStore(settings_from(given).state).load()
    show_explanation(explain_pair(found, parent=parent, child=child), as_json=as_json)
    return 0


ALL = (scan, edges, explain)
