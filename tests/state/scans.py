"""Scans made without a lake, what a pipeline would leave of random tables, and states that keep them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from r2d2.model.graph import Edges
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.schema import Column, Schema
from r2d2.model.table import DataFile, Problem, Table
from r2d2.model.versions import FileVersion
from r2d2.settings import Settings
from r2d2.state.store import StateStore
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.prune_by_minmax import prune_by_minmax

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES = {
    "int64": st.integers(-(2**63), 2**64),
    "float64": st.floats(allow_nan=False),
    "decimal(38,2)": st.decimals(allow_nan=False, allow_infinity=False),
    "string": st.binary(max_size=70),
    "date": st.integers(-(10**7), 10**7),
    "timestamp(us,UTC)": st.integers(-(2**70), 2**70),
    "list<int64>": st.nothing(),
}
COUNTS = st.integers(0, 2**40)
IN_FORCE = Settings(include=("a*", "b"), keep_runs=7)


@st.composite
def column_stats(draw: st.DrawFn, type_name: str, rows: int) -> ColumnStats:
    nulls = draw(st.none() | st.integers(0, rows))
    if type_name.startswith("list") or nulls == rows:
        return ColumnStats(nulls)
    low, high = sorted(draw(st.lists(VALUES[type_name], min_size=2, max_size=2)))
    return ColumnStats(nulls, draw(st.sampled_from([low, None])), high, False, draw(st.booleans()))


@st.composite
def data_files(draw: st.DrawFn, location: str) -> DataFile:
    partition = draw(st.lists(st.tuples(NAMES, st.none() | NAMES), max_size=2))
    groups = draw(st.lists(st.tuples(COUNTS, COUNTS), max_size=3))
    version = FileVersion(draw(NAMES), draw(NAMES), draw(st.booleans()))
    return DataFile(
        f"{location}/{draw(NAMES)}",
        draw(COUNTS),
        draw(st.integers(0, 2**62)),
        version,
        tuple(partition),
        tuple(groups),
    )


@st.composite
def scans(draw: st.DrawFn) -> Scan:
    tables, profiles = [], []
    for name in draw(st.lists(NAMES, unique=True, max_size=6)):
        location = f"/lake/{name}"
        files = tuple(draw(st.lists(data_files(location), max_size=3)))
        aliases, unexplained = (tuple(draw(st.lists(NAMES, max_size=2))) for _ in range(2))
        tables.append(Table(name, "parquet", location, files, aliases, unexplained))
        rows = draw(st.integers(0, 5))
        tokens = draw(st.sets(st.sampled_from([("a",), ("a", "b"), ("a.b",), ("ü `",), ("",)]), max_size=4))
        schema = Schema.of(Column(token, draw(st.sampled_from(list(VALUES)))) for token in tokens)
        stats = tuple(draw(column_stats(column.type_name, rows)) for column in schema.columns)
        profiles.append(TableProfile(name, schema, rows, draw(COUNTS), stats))
    problems = st.builds(Problem, NAMES, NAMES, st.just("") | NAMES, st.sampled_from(["unreadable", "notice"]))
    overlaps = {tuple(sorted((a.name, b.name))) for a in tables for b in tables if a is not b and draw(st.booleans())}
    scan = made_of(tables, profiles, overlaps=frozenset(overlaps), problems=tuple(draw(st.lists(problems, max_size=2))))
    return draw(checked(scan))


@st.composite
def checked(draw: st.DrawFn, scan: Scan) -> Scan:
    """The same with something known of each edge, and some edges ruled out."""
    assert scan.graph is not None
    kept = [draw(st.booleans()) for _ in range(len(scan.graph))]

    def pick(wanted: bool) -> Edges:
        assert scan.graph is not None
        places = [place for place, keep in enumerate(kept) if keep is wanted]
        standing = scan.graph.standing
        counts = [draw(st.lists(st.integers(-1, 2**60), min_size=len(places), max_size=len(places))) for _ in range(2)]
        return Edges(
            array("I", [standing.parents[place] for place in places]),
            array("I", [standing.children[place] for place in places]),
            array("B", [draw(st.integers(0, 4)) for _ in places]),
            array("q", counts[0]),
            array("q", counts[1]),
            array("I", [standing.children[place] for place in places]),
        )

    graph = replace(scan.graph, standing=pick(True), ruled_out=pick(False))
    runs = tuple(draw(st.lists(NAMES, max_size=2, unique=True)))
    since = draw(st.lists(st.integers(0, len(runs)), min_size=len(graph), max_size=len(graph)) | st.just([]))
    times = {"listed_ns": draw(st.integers(0, 2**62)), "bytes_read": draw(COUNTS)}
    return replace(scan, graph=graph, since_runs=runs, since=array("I", since), **times)


def content(scan: Scan) -> dict[str, Any]:
    """All there is in a scan, as plain values that compare."""
    return asdict(scan)


def made_of(
    tables: Sequence[Table],
    profiles: Sequence[TableProfile],
    *,
    overlaps: frozenset[tuple[str, ...]] = frozenset(),
    problems: tuple[Problem, ...] = (),
) -> Scan:
    """What the steps make of these profiles."""
    schema_graph = build_schema_graph(profiles)
    graph = prune_by_minmax(schema_graph, profiles=profiles, overlaps=overlaps)  # type: ignore[arg-type]
    return Scan(
        roots=("/lake", "/other ü"),
        tables=tuple(tables),
        problems=problems,
        overlaps=overlaps,  # type: ignore[arg-type]
        profiles=tuple(profiles),
        schema_graph=schema_graph,
        graph=graph,
        session_seconds=3.5,
        funnel=(FunnelLine("discover", len(tables), "tables", 0.25), FunnelLine("x", 1, "edges", 1e-9, {"range": 3})),
        settings=IN_FORCE.scan,
        in_force=asdict(IN_FORCE),
    )


def plain_scan(count: int = 3, *, mark: int = 0) -> Scan:
    """Some tables of the same two columns; *mark* tells one scan from another."""
    tables, profiles = [], []
    schema = Schema.of([Column(("id",), "int64"), Column(("price", "net"), "decimal(9,2)")])
    for number in range(count):
        name = f"folder/t{number}"
        file = DataFile(
            f"/lake/{name}/part-0.parquet", 100 + mark, 7, FileVersion(f"1:{number}", ""), (("day", "01"),), ((5, 60),)
        )
        tables.append(Table(name, "parquet", f"/lake/{name}", (file,)))
        stats = (ColumnStats(0, 0, 9, True, True), ColumnStats(1, Decimal("0.50"), Decimal("1.50"), True, False))
        profiles.append(TableProfile(name, schema, 5, 100 + mark, stats))
    return made_of(tables, profiles)


def save(folder: Path, scan: Scan, keep: int = 2) -> Scan:
    """Keep a scan in a state folder; the scan with the name it got there."""
    store = StateStore(folder)
    with store.locked():
        return replace(scan, run=store.save(scan, keep=keep))


def everything_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
