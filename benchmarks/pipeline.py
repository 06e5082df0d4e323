"""`make bench-pipeline`: ours end to end against DuckDB, Spark edge by edge, and one pass over every byte.

All in one run on the same machine, so that the ratios mean something. *The limit* is DuckDB's time to read and hash
every byte once. `python -m benchmarks.pipeline S` runs one lake.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks import lakes
from benchmarks.duckdb_baselines import CORES, COUNT, EXISTS, ask_each, hash_everything
from benchmarks.results import save
from benchmarks.scans import Scanned, minmax_pairs, read_every_byte, scan, schema_pairs, standing_pairs
from benchmarks.spark_baselines import clp_per_edge, except_all
from r2d2.app.lake import Lake, open_state
from r2d2.app.lake_tools import table_content
from r2d2.engine.run.bundles import pack

SAMPLE_EDGES = 20


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
    read_every_byte(made.path)
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as state:
        scanned = scan(made.path, state)
        rows = list(_rows(open_state(state), scanned))
    funnel = scanned.answer["funnel"]
    about = {"tables": len(made.tables), "rows": made.rows, "bytes": made.size_bytes, "funnel": funnel}
    save(f"pipeline-{size.name}", rows, lake=about)


def _rows(lake: Lake, scanned: Scanned) -> Iterator[dict[str, Any]]:
    limit = _said("the limit", hash_everything(lake))
    minmax = minmax_pairs(lake)
    exists, held = ask_each(lake, minmax, EXISTS)
    each = _said("DuckDB after min-max", sum(exists.values()))
    differing = len(held ^ standing_pairs(lake))

    def row(what: str, seconds: float, note: str = "", **more: float) -> dict[str, Any]:
        return {"what": what, "seconds": seconds, "times ours": seconds / scanned.seconds, **more, "note": note}

    yield from _rows_of_ours(scanned, row, limit, each)
    yield row("DuckDB reads and hashes every byte once", limit, "the limit: sum(hash(all columns)) of each table")
    asked = f"EXCEPT … LIMIT 1 for each of {len(minmax)} edges, {differing} answers differ from ours"
    yield row("DuckDB, edges after min-max", each, asked)
    once = _said("one pass", one_pass(lake))
    yield row("one pass with our kernels, in plain processes", once, "", **{"times the limit": once / limit})
    yield row(*_every_schema_edge(lake))
    some = random.Random(1).sample(minmax, min(SAMPLE_EDGES, len(minmax)))
    for name, measure in (("paper's CLP, a Spark job per edge", clp_per_edge), ("Spark exceptAll", except_all)):
        mean = _said(name, measure(lake, some))
        note = f"extrapolated from {len(some)} of {len(minmax)} edges: {mean:.2f} s each"
        yield row(name, mean * len(minmax), note)


def _rows_of_ours(scanned: Scanned, row: Any, limit: float, each: float) -> Iterator[dict[str, Any]]:
    answer = scanned.answer
    whole, inside = scanned.seconds, scanned.without_session
    ratios = {"times the limit": whole / limit, "times DuckDB after min-max": whole / each}
    yield row("ours, end to end", whole, f"{answer['edges']} edges", **ratios)
    yield row("ours, without session start", inside, **{"times the limit": inside / limit})
    for line in answer["funnel"]:
        yield row(f"  {line['step']}", line["seconds"], f"{line['left']} {line['unit']}")
    yield row("  waiting for the session, within the steps", answer["session_seconds"])
    note = f"{answer['bytes_read']:,} of {answer['size_bytes']:,} bytes; the aim is 1.15"
    yield {"what": "ours, bytes of rows read", "times the lake's bytes": scanned.read_share, "note": note}


def _every_schema_edge(lake: Lake) -> tuple[str, float, str]:
    """The truth: all missing rows of each pair whose schemas fit are counted."""
    seconds, truth = ask_each(lake, schema_pairs(lake), COUNT)
    standing = standing_pairs(lake)
    note = f"every missing row counted; ours: missing {len(truth - standing)}, wrong {len(standing - truth)}"
    return "DuckDB, every schema edge", _said("DuckDB, every schema edge", sum(seconds.values())), note


def _said(what: str, seconds: float) -> float:
    print(f"{what}: {seconds:.2f} s", flush=True)
    return seconds


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


if __name__ == "__main__":
    main()
