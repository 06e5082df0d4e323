"""Small lakes made by hand, with sizes and edges but no files, for tests of prices and plans."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from r2d2.model.graph import Check, ContainmentGraph, Edges
from r2d2.model.prices import Prices
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.recipe import ChosenRows, Recipe, projection
from r2d2.model.scan import Scan
from r2d2.model.schema import Column, Schema
from r2d2.model.table import DataFile, Table
from r2d2.model.versions import FileVersion
from r2d2.steps.infer_recipes import NoRecipe

Pair = tuple[int, int]
DAY_NS = 86_400 * 10**9
NOW_NS = 1_000 * DAY_NS
PRICES = Prices(
    "test", "EUR", "nowhere", "2026", 1.0, 10_000 / 1024, 20_000 / 1024, 1, 1
)  # 1 a GiB to read, 2 to write
GIB = 1 << 30
SCHEMA = Schema.of([Column(("x",), "int64")])


def lake(
    sizes_gib: Mapping[str, float], edges: Sequence[tuple[str, str]], *, days_old: float = 100, rows: int = 1000
) -> Scan:
    """Tables of some sizes, each in one file, and proven edges (parent, child) between them."""
    names = list(sizes_gib)
    tables = tuple(_table(name, size, days_old) for name, size in sizes_gib.items())
    profiles = tuple(
        TableProfile(name, SCHEMA, rows, round(size * GIB), (ColumnStats(),)) for name, size in sizes_gib.items()
    )
    pairs = sorted((names.index(parent), names.index(child)) for parent, child in edges)
    count = len(pairs)
    standing = Edges(
        array("I", [parent for parent, _ in pairs]),
        array("I", [child for _, child in pairs]),
        array("B", [Check.COMPARED] * count),
        array("q", [0] * count),
        array("q", [0] * count),
        array("I", [child for _, child in pairs]),
    )
    graph = ContainmentGraph(tuple(names), standing, "verify_containment")
    return Scan(roots=("/lake",), tables=tables, profiles=profiles, graph=graph)


def _table(name: str, size_gib: float, days_old: float) -> Table:
    path = f"/lake/{name}"
    file = DataFile(path, round(size_gib * GIB), round(NOW_NS - days_old * DAY_NS), FileVersion(name, ""))
    return Table(name, "parquet", path, (file,))


def every_row(scan: Scan) -> dict[Pair, Recipe | NoRecipe]:
    """A whole projection for each edge."""
    assert scan.graph is not None
    standing = scan.graph.standing
    return {pair: Recipe(projection(SCHEMA)) for pair in zip(standing.parents, standing.children, strict=True)}


def listed_rows(size_bytes: int) -> Recipe:
    """A recipe that lists rows, with a list of that size."""
    return Recipe(projection(SCHEMA), rows=(ChosenRows("", 1, bytes(size_bytes)),))
