"""`r2d2 generate`: make a synthetic lake."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from r2d2.cli.options import AS_JSON, QUIET


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
@AS_JSON
@QUIET
def generate(
    folder: Path, tables: int, rows: int, seed: int, roots: Sequence[str], truth: bool, as_json: bool, quiet: bool
) -> int:
    """Make a synthetic lake in FOLDER/lake, with its lineage beside it (section 6.1.1 of the paper)."""
    from r2d2.cli.progress import shown
    from r2d2.cli.show import show_generated
    from r2d2.model.progress import News
    from r2d2.synthetic import generate_lake, lake_truth, write_truth

    start = roots[0] if len(roots) == 1 and roots[0] in ("builtin", "tpch") else (list(roots) or "builtin")
    with shown(quiet=quiet or as_json) as progress:

        def made(done: int, total: int) -> None:
            progress(News("making tables", done, total))

        lake = generate_lake(folder, tables=tables, rows=rows, seed=seed, roots=start, progress=made)
    if truth:
        edges = lake_truth(lake.path, tables=[table.name for table in lake.tables])
        write_truth(edges, folder / "truth.json")
    show_generated(lake, truth=folder / "truth.json" if truth else None, as_json=as_json)
    return 0
