"""`make bench-recipes`: which share of the proven edges gets which recipe, and what that takes.

The lineage of a generated lake tells which edges were made by SELECT … WHERE alone: from those a predicate is wanted.
Every recipe counted here was carried out and gave the child exactly. `python -m benchmarks.recipes S` runs one lake.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import lakes
from benchmarks.results import print_rows, save
from r2d2.app.recipe_jobs import infer_recipes
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.engine.spark.session import open_session
from r2d2.model.recipe import Recipe, to_sql
from r2d2.model.scan import Scan
from r2d2.report.edges import standing_edges
from r2d2.settings import load_settings
from r2d2.synthetic import GeneratedLake, generate_lake
from r2d2.synthetic.transform import Copy, KeepFields, SelectWhere, ShuffleRows, WidenTypes

MOST_EDGES = 250  # of either kind
SELECTS = (SelectWhere, KeepFields, Copy, ShuffleRows, WidenTypes)
BUILTIN = lakes.LakeSize("builtin", tables=120, scale_factor=0, seed=3)
Pair = tuple[str, str]


def main() -> None:
    wanted = sys.argv[1:] or ["builtin", "S"]
    for size in (BUILTIN, lakes.S, lakes.M):
        if size.name in wanted:
            run(size, verbose="-v" in sys.argv)


def run(size: lakes.LakeSize, *, verbose: bool = False) -> None:
    """Scan one lake and look for all its recipes."""
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as folder:
        made = _builtin(size, Path(folder)) if size is BUILTIN else lakes.lake(size)
        settings = load_settings({"state": f"{folder}/state", "recipe_parents": 0})
        with open_session(settings) as spark:
            scan = scan_lake(Workspace(settings, spark=spark), [str(made.path)])
            asked = some_edges(scan, made)
            print(f"lake {size.name}: {len(scan.graph or ())} edges, {len(asked)} of them tried", flush=True)
            started = time.perf_counter()
            found = infer_recipes(Workspace(settings, spark=spark), scan, only=asked)
            seconds = time.perf_counter() - started
    rows = list(_rows(scan, made, found, seconds))
    if verbose:
        print_rows(list(_missed(made, found)))
    about = {"tables": len(made.tables), "rows": made.rows, "bytes": made.size_bytes, "edges": len(scan.graph or ())}
    save(f"recipes-{size.name}", rows, lake=about)


def some_edges(scan: Scan, made: GeneratedLake) -> list[Pair]:
    """Edges that hold as bags: so many of those made by SELECT and of the others, drawn at random."""
    bags = sorted((edge.parent, edge.child) for edge in standing_edges(scan) if edge.bag)
    selects = made_by_select(made)
    by_select = [pair for pair in bags if pair in selects]
    others = [pair for pair in bags if pair not in selects]
    draw = random.Random(1)
    return [pair for kind in (by_select, others) for pair in draw.sample(kind, min(len(kind), MOST_EDGES))]


def _builtin(size: lakes.LakeSize, folder: Path) -> GeneratedLake:
    return generate_lake(folder / "made", tables=size.tables, rows=20_000, seed=size.seed)


def _rows(scan: Scan, made: GeneratedLake, found: Mapping[Pair, Any], seconds: float) -> Iterator[dict[str, Any]]:
    bags = [pair for pair, answer in found.items() if not _is_set_only(answer)]
    selects = made_by_select(made)
    for name, pairs in (
        ("made by SELECT … WHERE or a projection", [pair for pair in bags if pair in selects]),
        ("other edges that hold as bags", [pair for pair in bags if pair not in selects]),
        ("all edges that hold as bags", bags),
    ):
        kinds = Counter(found[pair].kind if isinstance(found[pair], Recipe) else "none" for pair in pairs)
        total = max(1, len(pairs))
        yield {
            "edges": name,
            "count": len(pairs),
            "projection": kinds["projection"] / total,
            "predicate": kinds["predicate"] / total,
            "without listing": (kinds["projection"] + kinds["predicate"]) / total,
            "listed rows": kinds["rows"] / total,
            "none": kinds["none"] / total,
            "bytes listed": sum(found[pair].selector_bytes for pair in pairs if isinstance(found[pair], Recipe)),
        }
    yield {"edges": f"seconds per edge: {seconds / max(1, len(bags)):.3g} (all: {seconds:.1f})", "count": len(bags)}


def _missed(made: GeneratedLake, found: Mapping[Pair, Any]) -> Iterator[dict[str, Any]]:
    """Edges made by SELECT that have no predicate."""
    steps = {table.name: table.steps for table in made.tables}
    for pair in sorted(made_by_select(made)):
        answer = found.get(pair)
        if isinstance(answer, Recipe) and answer.kind == "rows":
            yield {"parent": pair[0], "child": pair[1], "steps": steps[pair[1]], "sql": to_sql(answer, pair[0])}
        elif answer is not None and not isinstance(answer, Recipe) and not _is_set_only(answer):
            yield {"parent": pair[0], "child": pair[1], "steps": steps[pair[1]], "sql": answer.because}


def _is_set_only(answer: Any) -> bool:
    return not isinstance(answer, Recipe) and answer.because.startswith("contained as a set only")


def made_by_select(made: GeneratedLake) -> set[Pair]:
    """Pairs of an ancestor and a table that came from it by selections and changes of layout alone."""
    tables = {table.name: table for table in made.tables}
    pairs: set[Pair] = set()
    for table in made.tables:
        here = table
        while len(here.sources) == 1 and all(isinstance(step, SELECTS) for step in here.steps):
            here = tables[here.sources[0]]
            pairs.add((here.name, table.name))
    return pairs


if __name__ == "__main__":
    main()
