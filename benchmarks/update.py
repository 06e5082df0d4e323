"""`make bench-update`: what an update reads and takes against a scan from scratch: lake M and 10,000 small tables.

One table is added, then rows are appended to one in a hundred tables, then one in a hundred is replaced; after each
change `r2d2 update` runs as a user runs it. At the end a scan from scratch into a new state must give the same edges.
Bytes are those of rows and of footers.
`python -m benchmarks.update families` takes one of the two lakes only.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import lakes
from benchmarks.results import save
from r2d2.app.lake import open_state
from r2d2.model.table import Table
from tests.support.family_lake import generate_family_lake
from tests.support.lineage import read_lineage

FOOTER_BYTES = 64 << 10  # what a reader of a footer reads at most, if the footer is no longer
SHARE = 0.01
FAMILY_TABLES = 10_000


def main() -> None:
    wanted = sys.argv[1:] or ["families", "M"]
    if "families" in wanted:
        measure("families", families())
    if "M" in wanted:
        measure("M", lakes.lake(lakes.M).path)


def families() -> Path:
    """10,000 small tables, each a folder, so that rows can be appended to it."""
    folder = lakes.FOLDER / f"families-{FAMILY_TABLES}"
    if not (folder / "lineage.json").exists():
        print(f"generating {FAMILY_TABLES:,} small tables", flush=True)
        return generate_family_lake(folder, tables=FAMILY_TABLES, seed=3, layout="folder").path
    return read_lineage(folder / "lineage.json").path


def measure(name: str, original: Path) -> None:
    """Everything about one lake; it is copied first."""
    with tempfile.TemporaryDirectory(prefix="r2d2-bench-") as folder:
        lake, state = Path(folder) / "lake", Path(folder) / "state"
        shutil.copytree(original, lake)
        rows = list(_rows(lake, state, Path(folder)))
    save(f"update-{name}", rows, tables=rows[0]["tables"])


def _rows(lake: Path, state: Path, folder: Path) -> Iterator[dict[str, Any]]:
    seconds, answer = r2d2("scan", str(lake), "--state", str(state))
    everything = open_state(state).scan.tables
    fresh = _row("scan from scratch", seconds, answer, everything, None)
    yield fresh
    rng = random.Random(7)
    some = rng.sample(everything, max(1, round(SHARE * len(everything))))
    others = rng.sample(everything, len(some))
    changes: list[tuple[str, Callable[[], None]]] = [
        ("one table added", lambda: _add(rng.choice(everything), lake)),
        (f"rows appended to {len(some):,}", lambda: [_append(table) for table in some] and None),
        (f"{len(others):,} replaced", lambda: [_replace(table) for table in others] and None),
        ("nothing", lambda: None),
    ]
    for what, change in changes:
        change()
        time.sleep(0.1)
        seconds, answer = r2d2("update", "--state", str(state))
        names = {one["table"] for one in answer["changed"] if one["change"] != "deleted"}
        yield _row(what, seconds, answer, [t for t in open_state(state).scan.tables if t.name in names], fresh)
    r2d2("scan", str(lake), "--state", str(folder / "again"))
    if _edges(state) != _edges(folder / "again"):
        raise SystemExit("the updated graph is not that of a scan from scratch")
    print("the updated graph is that of a scan from scratch", flush=True)


def _row(
    what: str, seconds: float, answer: dict[str, Any], profiled: Sequence[Table], fresh: dict[str, Any] | None
) -> dict[str, Any]:
    session = answer["session_seconds"]
    footers = sum(min(FOOTER_BYTES, file.size_bytes) for table in profiled for file in table.files)
    row = {
        "what": what,
        "tables": answer["tables"],
        "edges": answer["edges"],
        "asked pairs": answer.get("asked_pairs", ""),
        "seconds": seconds,
        "without session": seconds - session,
        "MB of rows": answer["bytes_read"] / 1e6,
        "MB of footers": footers / 1e6,
    }
    if fresh:
        read = ("MB of rows", "MB of footers")
        row["% of the bytes"] = 100 * sum(row[k] for k in read) / sum(fresh[k] for k in read)
        row["% of the seconds"] = 100 * row["without session"] / fresh["without session"]
    print(row, flush=True)
    return row


def r2d2(*arguments: str) -> tuple[float, dict[str, Any]]:
    """The command in a process of its own."""
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "r2d2", *arguments, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return time.perf_counter() - begun, json.loads(done.stdout)


def _read(table: Table) -> pa.Table:
    return pa.concat_tables([pq.ParquetFile(file.path).read() for file in table.files], promote_options="default")


def _add(table: Table, lake: Path) -> None:
    """A new table of half the rows of another."""
    rows = pq.ParquetFile(table.files[0].path).read()
    (lake / "added").mkdir()
    pq.write_table(rows.slice(0, rows.num_rows // 2), lake / "added" / "part-0.parquet")


def _append(table: Table) -> None:
    """A tenth of its rows again, in a new file beside the last one."""
    path = Path(table.files[-1].path)
    rows = pq.ParquetFile(path).read()
    if Path(table.location).is_dir():
        pq.write_table(rows.slice(0, 1 + rows.num_rows // 10), path.with_name("part-99999.parquet"))
    else:  # a table that is one file has to be written anew
        _write_anew(path, pa.concat_tables([rows, rows.slice(0, 1 + rows.num_rows // 10)]))


def _replace(table: Table) -> None:
    """Its first file with the rows in reverse and one of them gone."""
    path = Path(table.files[0].path)
    rows = pq.ParquetFile(path).read()
    _write_anew(path, rows.take(pa.array(range(rows.num_rows - 1, 0, -1), pa.int64())))


def _write_anew(path: Path, rows: pa.Table) -> None:
    path.unlink()
    pq.write_table(rows, path)


def _edges(state: Path) -> set[tuple[Any, ...]]:
    return {
        (edge.parent, edge.child, edge.verdict, edge.missing_rows, edge.bag, edge.parent_rows, edge.child_rows)
        for edge in open_state(state).edges()
    }


if __name__ == "__main__":
    main()
