"""Whole scans of lakes full of damaged files: no crash, no hang, and no edge that their rows do not bear out.

`make torture-fuzz` raises the number: FUZZ_FILES. Bytes can change where no row stands (the writer's name, padding,
bounds): then an edge is right. So each edge of a damaged file is confirmed by readers that are not the product's.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from r2d2.api import Lake, scan_lake
from r2d2.lake import read_slice
from r2d2.report.edges import EdgeRow, standing_edges
from r2d2.settings import load_settings
from r2d2.steps import prune_by_content, verify_containment
from tests.fuzzed_lakes import ORIGINAL, write_fuzzed_lake
from tests.other_readers import Seen, missing_copies, read_all
from tests.safety.tally import FUZZED

FILES = int(os.environ.get("FUZZ_FILES", 1_000))
FILES_PER_SCAN = 5_000
PER_ORIGINAL = 25
SEED = int(os.environ.get("FUZZ_SEED", 25))


@pytest.mark.parametrize("reader", ["strict", "fast"])
def test_a_damaged_file_has_no_edge_that_its_rows_do_not_bear_out(spark: Any, reader: str) -> None:
    """Small slices are read by pyarrow, others by Polars, which reads files that others refuse: both are tried."""
    left = FILES // 2
    while left > 0:
        files = min(left, FILES_PER_SCAN)
        _scan_and_check(spark, f"{SEED} {reader} {left}", files, reader)
        left -= files


def _scan_and_check(spark: Any, seed: str, files: int, reader: str) -> None:
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=base) as name, pytest.MonkeyPatch.context() as patch:
        if reader == "fast":  # and whatever is done with large tables
            patch.setattr(read_slice, "SMALL_BYTES", 0)
            for step in (prune_by_content, verify_containment):
                patch.setattr(step, "SMALL_ROWS", 0)
        folder = Path(name)
        write_fuzzed_lake(folder / "lake", seed, files=files, per_original=PER_ORIGINAL)
        given = load_settings({"state": str(folder / "state"), "footer_timeout": 5.0}, environment={})
        with time_limit(60 + files // 5):
            lake = Lake(scan_lake([str(folder / "lake")], given, spark=spark))
        _check(lake, folder / "lake", files, reader)


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def too_long(*_: Any) -> None:
        raise TimeoutError(f"the scan takes more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _check(lake: Lake, folder: Path, files: int, reader: str) -> None:
    edges = list(standing_edges(lake.scan))
    names = sorted({name for edge in edges for name in (edge.parent, edge.child)})
    originals = [path.relative_to(folder).as_posix() for path in folder.glob(f"*/{ORIGINAL}.parquet")]
    unreadable = {problem.where for problem in lake.problems}
    assert not unreadable.intersection(originals), "damage costs its own file only"
    assert len({*lake.tables, *unreadable}) == files + len(originals), "each file is a table or a problem"
    by = {who: _seen(folder, names, who) for who in ("pyarrow", "duckdb", "polars")}
    for edge in edges:
        _check_edge(edge, {who: (seen[edge.parent], seen[edge.child]) for who, seen in by.items()}, reader)
    FUZZED["damaged files"] += files
    FUZZED["called unreadable"] += len(unreadable)


def _seen(folder: Path, names: list[str], who: str) -> dict[str, Seen | str]:
    found = read_all([str(folder / name) for name in names], who)
    return {name: found[str(folder / name)] for name in names}


def _check_edge(edge: EdgeRow, by: dict[str, tuple[Seen | str, Seen | str]], reader: str) -> None:
    """Readers that can read both must bear the edge out; what the strict reader read, pyarrow can read again.

    DuckDB alone is not believed: it takes the older of two fields that contradict one another for a column's type, and
    loses rows where a size that is for information only is wrong. What is left: inside a page without checksum, levels
    can be damaged so that the fast reader reads on where pyarrow refuses. These edges are counted as not read by pyarrow.
    """
    told = {who: _told(edge, *pair) for who, pair in by.items()}
    assert told["pyarrow"] or (told["pyarrow"] is None and reader == "fast"), (edge, told, by["pyarrow"])
    if told["duckdb"] is False and not _of_two_minds(by):
        assert told["pyarrow"] is None or all(_two_agree(by, place) for place in (0, 1)), (edge, told, by["duckdb"])
    for who, answer in told.items():
        FUZZED[f"edges {'not read' if answer is None else 'confirmed' if answer else 'denied'} by {who}"] += 1


def _two_agree(by: dict[str, tuple[Seen | str, Seen | str]], place: int) -> bool:
    """Whether another reader sees the rows of this file as pyarrow does."""
    seens = [by[who][place] for who in ("pyarrow", "polars", "duckdb")]
    rows = [Counter(seen[1]) for seen in seens if not isinstance(seen, str)]
    return rows[0] in rows[1:]


def _of_two_minds(by: dict[str, tuple[Seen | str, Seen | str]]) -> bool:
    """Whether DuckDB has two types for a column where pyarrow has one."""
    (parent, child), (other_parent, other_child) = by["duckdb"], by["pyarrow"]
    return parent[2] != child[2] and other_parent[2] == other_child[2]


def _told(edge: EdgeRow, parent: Seen | str, child: Seen | str) -> bool | None:
    """Whether a reader bears the edge out; None if it cannot read one of the two."""
    return None if isinstance(parent, str) or isinstance(child, str) else _bears_out(edge, parent, child)


def _bears_out(edge: EdgeRow, parent: Seen, child: Seen) -> bool:
    if len(child[1]) != edge.child_rows or len(parent[1]) != edge.parent_rows:
        return False
    distinct = (child[0], list(dict.fromkeys(child[1])), child[2])
    return missing_copies(parent=parent, child=child if edge.bag else distinct) == 0
