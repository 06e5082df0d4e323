"""`make bench-pipeline`: ours end to end against DuckDB, Spark edge by edge, and one pass over every byte.

All in one run on the same machine, so that the ratios mean something. `python -m benchmarks.pipeline S` runs one lake.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import lakes
from benchmarks.results import save
from benchmarks.spark_baselines import clp_per_edge, except_all
from r2d2.app.lake import Lake, open_state
from r2d2.app.lake_tools import table_content
from r2d2.engine.run.bundles import pack
from r2d2.lake.table_profile import partition_type

SAMPLE_EDGES = 20
CORES = os.cpu_count() or 1
Pair = tuple[str, str]


def main() -> None:
    wanted = sys.argv[1:] or ["S", "M"]
    for size in (lakes.S, lakes.M):
        if size.name in wanted:
            run(size)


def run(size: lakes.LakeSize) -> None:
    """Everything about one lake."""
    made = lakes.lake(size)
    print(
        f"lake {size.name}: {len(made.tables)} tables, {made.rows:,} rows, {made.size_bytes / 1e6:,.0f} MB", flush=True
    )
    _read_every_byte(made.path)
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as state:
        whole, answer = ours(made.path, state)
        lake = open_state(state)
        rows = list(_rows(lake, made.path, whole, answer))
    about = {"tables": len(made.tables), "rows": made.rows, "bytes": made.size_bytes, "funnel": answer["funnel"]}
    save(f"pipeline-{size.name}", rows, lake=about)


def _read_every_byte(folder: Path) -> None:
    """Whoever is measured first must not be the one that waits for the disk."""
    for path in folder.rglob("*.parquet"):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def _rows(lake: Lake, folder: Path, whole: float, answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    inside = sum(line["seconds"] for line in answer["funnel"]) - answer["session_seconds"]

    def row(what: str, seconds: float, note: str = "") -> dict[str, Any]:
        result = {"what": what, "seconds": seconds, "times ours": seconds / whole, "note": note}
        print(result, flush=True)
        return result

    yield row("ours, end to end", whole, f"{answer['edges']} edges")
    yield row("ours, without session start", inside)
    for line in answer["funnel"]:
        yield row(f"  {line['step']}", line["seconds"], f"{line['left']} {line['unit']}")
    yield row("  waiting for the session, within the steps", answer["session_seconds"])
    once = one_pass(lake)
    yield row("one pass: read and hash every byte once", once, f"ours without session: {inside / once:.2f} times")
    schema, standing = schema_pairs(lake), [(e.parent, e.child) for e in lake.edges()]
    minmax = minmax_pairs(lake)
    seconds, truth = duckdb_pairs(folder, lake, schema)
    missing, wrong = truth - set(standing), set(standing) - truth
    yield row("DuckDB, every schema edge", sum(seconds.values()), f"missing {len(missing)}, wrong {len(wrong)}")
    yield row("DuckDB, edges after min-max", sum(seconds[pair] for pair in minmax), f"{len(minmax)} edges")
    some = random.Random(1).sample(minmax, min(SAMPLE_EDGES, len(minmax)))
    for name, measure in (("paper's CLP, a Spark job per edge", clp_per_edge), ("Spark exceptAll", except_all)):
        each = measure(folder, lake, some)
        yield row(name, each * len(minmax), f"extrapolated from {len(some)} of {len(minmax)} edges: {each:.2f} s each")


def ours(lake: Path, state: str) -> tuple[float, dict[str, Any]]:
    """The command as a user runs it, in a process of its own."""
    command = [sys.executable, "-m", "r2d2.cli.main", "scan", str(lake), "--state", state, "--json"]
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(done.stderr)
    return seconds, json.loads(done.stdout)


def one_pass(lake: Lake) -> float:
    """Seconds to read every column of every table once and hash its rows, in plain processes with our kernels."""
    contents = [table_content(t, p, lake.scan) for t, p in zip(lake.scan.tables, lake.scan.profiles, strict=True)]
    work = [(part, content.tokens) for content in contents for part in content.slices]
    bundles = pack(work, weight=lambda item: item[0]["bytes"], bundles=CORES)
    with ProcessPoolExecutor(CORES, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_hash, [[] for _ in range(CORES)]))  # the processes are up and have imported everything
        started = time.perf_counter()
        list(pool.map(_hash, bundles))
        return time.perf_counter() - started


def _hash(bundle: Sequence[tuple[Any, Any]]) -> int:
    from r2d2.engine.kernels import fingerprint, hash_rows
    from r2d2.formats.registry import read_slice

    rows = 0
    for part, tokens in bundle:
        (hashes,) = hash_rows(read_slice(part, tokens), projections=[tokens], key=bytes(32))
        rows += fingerprint(hashes).rows
    return rows


def schema_pairs(lake: Lake) -> list[Pair]:
    """Every pair of the schema graph."""
    graph = lake.scan.schema_graph
    assert graph is not None
    return [
        (graph.tables[p], graph.tables[c])
        for parent, child in graph.family_edges()
        for p in graph.families[parent]
        for c in graph.families[child]
        if p != c
    ]


def minmax_pairs(lake: Lake) -> list[Pair]:
    """What min-max pruning left: all edges that content checks saw."""
    graph = lake.scan.graph
    assert graph is not None
    return [
        (graph.tables[p], graph.tables[c])
        for edges in (graph.standing, graph.ruled_out)
        for p, c in zip(edges.parents, edges.children, strict=True)
    ]


def duckdb_pairs(folder: Path, lake: Lake, pairs: Sequence[Pair]) -> tuple[dict[Pair, float], set[Pair]]:
    """Seconds of each pair, and the pairs where no row of the child is missing from the parent."""
    import duckdb

    seconds: dict[Pair, float] = {}
    contained: set[Pair] = set()
    sources = {table.name: duckdb_source(table) for table in lake.scan.tables}
    columns = {p.table: ", ".join(_quoted(c.token) for c in p.schema.columns) for p in lake.scan.profiles}
    with duckdb.connect() as connection:
        connection.execute(f"SET threads={CORES}")
        for parent, child in pairs:
            started = time.perf_counter()
            query = (
                f"SELECT count(*) FROM (SELECT {columns[child]} FROM {sources[child]} "
                f"EXCEPT SELECT {columns[child]} FROM {sources[parent]})"
            )
            (missing,) = connection.execute(query).fetchone() or (1,)
            seconds[parent, child] = time.perf_counter() - started
            if missing == 0:
                contained.add((parent, child))
    return seconds, contained


def duckdb_source(table: Any) -> str:
    """A table as DuckDB reads it, its partition columns typed as ours."""
    files = ", ".join("'" + file.path.replace("'", "''") + "'" for file in table.files)
    keys = {
        key: [value for file in table.files for k, value in file.partition if k == key]
        for key, _ in table.files[0].partition
    }
    if not keys:
        return f"read_parquet([{files}], hive_partitioning=false, union_by_name=true)"
    names = {"int64": "BIGINT", "date": "DATE", "string": "VARCHAR"}
    types = ", ".join(f"{_quoted((key,))}: {names[partition_type(values, infer=True)]}" for key, values in keys.items())
    return f"read_parquet([{files}], hive_partitioning=true, union_by_name=true, hive_types={{{types}}})"


def _quoted(token: Sequence[str]) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in token)


if __name__ == "__main__":
    main()
