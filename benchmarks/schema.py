"""`make bench-schema`: the schema graph up to a million schemas, min-max pruning on a family lake, footers by Spark."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.results import peak_memory_mb, save
from r2d2.app.lake_tools import read_metadata
from r2d2.engine.run.spark import SparkExecutor
from r2d2.engine.spark.session import open_session
from r2d2.lake.discover import discover
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column, Schema
from r2d2.settings import load_settings
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.prune_by_minmax import prune_by_minmax
from tests.support.cluster import spark_cluster
from tests.support.family_lake import generate_family_lake

SIZES = ((10_000, 4_000), (51_800, 20_000), (200_000, 60_000), (1_000_000, 200_000))
FOOTERS = 10_000


def main() -> None:
    """Run all three; the schema sizes each in a process of its own, so that the peak memory is theirs."""
    if len(sys.argv) > 1:
        print(*schema_graph(int(sys.argv[1]), int(sys.argv[2])))
        return
    schema_rows = list(_schema_rows())
    save("schema-graph", schema_rows, data="random projections of random base schemas, see benchmarks/schema.py")
    save("min-max", [min_max()], data="one family: equal schemas, random ranges")
    save("footers", list(footers()), data=f"{FOOTERS:,} one-file tables of 50 rows")


def _schema_rows() -> Iterator[dict[str, Any]]:
    first: dict[str, Any] = {}
    for tables, distinct in SIZES:
        command = [sys.executable, "-m", "benchmarks.schema", str(tables), str(distinct)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        seconds, memory, edges = float(answer[0]), int(answer[1]), int(answer[2])
        row: dict[str, Any] = {
            "tables": tables,
            "distinct": distinct,
            "edges": edges,
            "seconds": seconds,
            "peak MB": memory,
        }
        first = first or row
        if row is not first:
            exponent = math.log(seconds / first["seconds"]) / math.log(tables / first["tables"])
            row |= {"times the first": seconds / first["seconds"], "growth exponent": exponent}
        print(row, flush=True)
        yield row


def schema_graph(tables: int, distinct: int) -> tuple[float, int, int]:
    """Seconds, peak megabytes and edges of one size."""
    profiles = random_schemas(tables, distinct)
    started = time.perf_counter()
    graph = build_schema_graph(profiles)
    return time.perf_counter() - started, peak_memory_mb(), graph.edge_count


def random_schemas(tables: int, distinct: int, seed: int = 0) -> list[TableProfile]:
    """Base schemas of 8 to 66 columns, some common to all, their random projections, and repeats of both."""
    rng = random.Random(seed)
    types = ("int64", "string", "float64", "timestamp(us)", "date")
    columns = [Column((f"col_{number}",), types[number % 5]) for number in range(20_000)]
    bases = [
        tuple(sorted({*rng.sample(columns[:40], 6), *rng.sample(columns, rng.randint(8, 60))}))
        for _ in range(distinct // 20)
    ]
    schemas = dict.fromkeys(bases)
    while len(schemas) < distinct:
        base = rng.choice(bases)
        schemas[tuple(sorted(rng.sample(base, rng.randint(2, len(base)))))] = None
    chosen = [*schemas, *rng.choices(list(schemas), k=tables - len(schemas))]
    known = ColumnStats(0, 1, 2, True, True)
    return [TableProfile(f"t{n}", Schema(c), 10, 100, (known,) * len(c)) for n, c in enumerate(chosen)]


def min_max(members: int = 830, width: int = 30) -> dict[str, Any]:
    """Pruning a family whose pairs all have the same schema."""
    rng = random.Random(1)
    schema = Schema(tuple(Column((f"c{number:02}",), "int64") for number in range(width)))
    profiles = [_random_profile(f"t{number}", schema, rng) for number in range(members)]
    graph = build_schema_graph(profiles)
    started = time.perf_counter()
    pruned = prune_by_minmax(graph, profiles=profiles)
    return {"schema edges": graph.edge_count, "left": len(pruned), "seconds": time.perf_counter() - started}


def _random_profile(name: str, schema: Schema, rng: random.Random) -> TableProfile:
    bounds = [sorted((rng.randrange(10**6), rng.randrange(10**6))) for _ in schema.columns]
    stats = tuple(ColumnStats(0, low, high, True, True) for low, high in bounds)
    return TableProfile(name, schema, 100, 1000, stats)


def footers() -> Iterator[dict[str, Any]]:
    """Reading the metadata of many files as a Spark job, on one executor of a real cluster and on two."""
    with tempfile.TemporaryDirectory(prefix="r2d2-footers-") as folder:
        lake = generate_family_lake(Path(folder) / "lake", tables=FOOTERS, seed=1)
        tables = discover([str(lake.path)]).tables
        one = 0.0
        for executors in (1, 2):
            with spark_cluster(executors) as cluster, open_session(load_settings({"master": cluster.url})) as spark:
                executor = SparkExecutor(lambda session=spark: session)
                read = partial(read_metadata, executor=executor, timeout_seconds=30)
                read(tables[:100])  # the workers start and import
                started = time.perf_counter()
                metadata = read(tables)
                seconds = time.perf_counter() - started
                assert len(metadata.merged) == len(tables) and not metadata.problems
            one = one or seconds
            yield {
                "executors": executors,
                "files": len(tables),
                "seconds": seconds,
                "files per second": len(tables) / seconds,
                "times one executor": one / seconds,
            }


if __name__ == "__main__":
    main()
