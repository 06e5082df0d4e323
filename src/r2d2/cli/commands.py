"""The commands. Each reads its options, calls one function, and shows what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import click

from r2d2.cli.delete import apply, doctor, drill, forget, purge, restore, status
from r2d2.cli.living import find, update
from r2d2.cli.options import settings_from, with_settings
from r2d2.cli.plan import plan
from r2d2.cli.recipe import recipe

Command = TypeVar("Command", bound=Callable[..., Any])

_JSON = click.option("--json", "as_json", is_flag=True, help="machine-readable output; the shapes are documented")
_QUIET = click.option("--quiet", "-q", is_flag=True, help="no progress, only the result")


@click.command(short_help="Find which tables of a lake are contained in which.")
@click.argument("lake", nargs=-1, required=True, metavar="LAKE...")
@with_settings("scan")
@_JSON
@_QUIET
def scan(lake: Sequence[str], as_json: bool, quiet: bool, **given: Any) -> int:
    """Find the tables under LAKE and which may be contained in which."""
    from r2d2.app.api import scan_lake
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
    from r2d2.app.absent import with_absent
    from r2d2.cli.show import show_edges
    from r2d2.report.edges import dropped_edges, standing_edges
    from r2d2.state.store import StateStore

    found = with_absent(StateStore(settings_from(given).state).load())
    rows = chain(standing_edges(found), dropped_edges(found)) if everything else standing_edges(found)
    show_edges(rows, "json" if as_json else form)
    return 0


@click.command(short_help="Say why a table is, or is not, contained in another.")
@click.argument("parent")
@click.argument("child")
@with_settings("explain")
@_JSON
@_QUIET
def explain(parent: str, child: str, as_json: bool, quiet: bool, **given: Any) -> int:
    """Say why CHILD is, may be or cannot be contained in PARENT."""
    from r2d2.app.absent import with_absent
    from r2d2.app.api import explain_pair
    from r2d2.cli.show import show_explanation
    from r2d2.state.store import StateStore

    settings = settings_from(given)
    found = with_absent(StateStore(settings.state).load())
    explanation = explain_pair(found, parent=parent, child=child, show_values=settings.show_values)
    show_explanation(explanation, as_json=as_json)
    return 0


@click.command(short_help="Make a synthetic lake, to try things on.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--tables", default=60, show_default=True, help="how many tables, roots included")
@click.option("--rows", default=20_000, show_default=True, help="rows of the biggest root")
@click.option("--seed", default=1, show_default=True, help="the same seed makes the same lake")
@click.option(
    "--roots",
    multiple=True,
    metavar="PATH|builtin|tpch",
    help="Parquet files or folders to start from (may be repeated), builtin, or tpch [default: builtin]",
)
@click.option("--truth", is_flag=True, help="compare every pair by brute force and write truth.json (slow)")
@_JSON
@_QUIET
def generate(
    folder: Path, tables: int, rows: int, seed: int, roots: Sequence[str], truth: bool, as_json: bool, quiet: bool
) -> int:
    """Make a synthetic lake in FOLDER/lake, with its lineage beside it (section 6.1.1 of the paper)."""
    from r2d2.cli.progress import counted
    from r2d2.cli.show import show_generated
    from r2d2.synthetic import generate_lake, lake_truth, write_truth

    start = roots[0] if len(roots) == 1 and roots[0] in ("builtin", "tpch") else (list(roots) or "builtin")
    with counted("making tables", quiet=quiet or as_json) as progress:
        lake = generate_lake(folder, tables=tables, rows=rows, seed=seed, roots=start, progress=progress)
    if truth:
        edges = lake_truth(lake.path, tables=[table.name for table in lake.tables])
        write_truth(edges, folder / "truth.json")
    show_generated(lake, truth=folder / "truth.json" if truth else None, as_json=as_json)
    return 0


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("r2d2-demo"),
    show_default=True,
    help="where the demo's lake and results go; what an earlier demo left there is replaced",
)
@with_settings("demo")
@_JSON
@_QUIET
def demo(folder: Path, as_json: bool, quiet: bool, **given: Any) -> int:
    """Make a small lake, find what is contained in what, and show it."""
    from r2d2.cli.demo import run_demo

    given["state"] = given["state"] or str(folder / "state")
    return run_demo(folder, settings_from(given), as_json=as_json, quiet=quiet)


ALL: tuple[click.Command, ...] = (
    demo,
    scan,
    update,
    edges,
    explain,
    find,
    recipe,
    plan,
    apply,
    drill,
    purge,
    restore,
    forget,
    status,
    doctor,
    generate,
)
