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

from r2d2.app.lake import Lake
from r2d2.app.scan import scan_lake
from r2d2.app.workspace import Workspace
from r2d2.formats.parquet import read as read_slice
from r2d2.report.edges import EdgeRow, standing_edges
from r2d2.settings import load_settings
from r2d2.steps import prune_by_content, verify_containment
from tests.safety.tally import FUZZED
from tests.support.fuzzed_lakes import ORIGINAL, write_fuzzed_lake
from tests.support.other_readers import Seen, missing_copies, read_all

FILES = int(os.environ.get("FUZZ_FILES", 1_000))
FILES_PER_SCAN = 5_000
PER_ORIGINAL = 25
SEED = int(os.environ.get("FUZZ_SEED", 25))


@pytest.mark.parametrize("reader", ["strict", "fast"])
def test_a_damaged_file_has_no_edge_that_its_rows_do_not_bear_out(spark: Any, reader: str) -> None:
    """Small slices are read by pyarrow, others by Polars, which reads files that others refuse: both are tried."""
    left, failed = FILES // 2, []
    while left > 0:
        files = min(left, FILES_PER_SCAN)
        seed = f"{SEED} {reader} {left}"
        wrong = _scan_and_check(spark, seed, files, reader)
        print(f"seed {seed}: {len(wrong)} wrong", *wrong, sep="\n  ", flush=True)  # to be followed with pytest -s
        failed += wrong
        left -= files
    assert not failed, "\n".join(failed)  # at the end only: an hour's run should tell all that it finds


def _scan_and_check(spark: Any, seed: str, files: int, reader: str) -> list[str]:
    """What is wrong about the edges of one lake."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=base) as name, pytest.MonkeyPatch.context() as patch:
        if reader == "fast":  # and whatever is done with large tables
            patch.setattr(read_slice, "SMALL_BYTES", 0)
            patch.setattr(prune_by_content, "WITHIN", 1.0)
            patch.setattr(verify_containment, "SMALL_ROWS", 0)
        folder = Path(name)
        write_fuzzed_lake(folder / "lake", seed, files=files, per_original=PER_ORIGINAL)
        given = load_settings({"state": str(folder / "state"), "footer_timeout": 5.0}, environment={})
        with time_limit(60 + files // 5):
            lake = Lake(scan_lake(Workspace(given, spark=spark), [str(folder / "lake")]))
        return _check(lake, folder / "lake", files, reader)


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


def _check(lake: Lake, folder: Path, files: int, reader: str) -> list[str]:
    edges = list(standing_edges(lake.scan))
    names = sorted({name for edge in edges for name in (edge.parent, edge.child)})
    originals = [path.relative_to(folder).as_posix() for path in folder.glob(f"*/{ORIGINAL}.parquet")]
    unreadable = {problem.where for problem in lake.problems}
    assert not unreadable.intersection(originals), "damage costs its own file only"
    assert len({*lake.tables, *unreadable}) == files + len(originals), "each file is a table or a problem"
    by = {who: _seen(folder, sorted({*names, *originals}), who) for who in ("pyarrow", "duckdb", "polars")}
    _see_parents_in_the_columns_of_their_children(folder, edges, by["pyarrow"])
    FUZZED["damaged files"] += files
    FUZZED["called unreadable"] += len(unreadable)
    return [wrong for edge in edges if (wrong := _check_edge(edge, by, reader, folder))]


def _seen(folder: Path, names: list[str], who: str) -> dict[str, Seen | str]:
    found = read_all([str(folder / name) for name in names], who)
    return {name: found[str(folder / name)] for name in names}


By = dict[str, dict[str, Seen | str]]  # by reader and file, what it sees there


def _see_parents_in_the_columns_of_their_children(
    folder: Path, edges: list[EdgeRow], seen: dict[str, Seen | str]
) -> None:
    """A column that is not compared may be damaged: an edge speaks of the child's columns only."""
    for edge in edges:
        child = seen[edge.child]
        if isinstance(seen[edge.parent], str) and not isinstance(child, str):
            spec = "\0".join([str(folder / edge.parent), *dict.fromkeys(token[0] for token in child[0])])
            again = read_all([spec], "pyarrow")[spec]
            if not isinstance(again, str) and len(again[0]) == len(child[0]):
                seen[_of_edge(edge)] = again
                FUZZED["parents with damage elsewhere"] += 1


def _of_edge(edge: EdgeRow) -> str:
    """The name under which a parent stands that was read for one edge only."""
    return f"{edge.parent} for {edge.child}"


def _check_edge(edge: EdgeRow, by: By, reader: str, folder: Path) -> str | None:
    """pyarrow must bear the edge out, and so must DuckDB if it can read both; else, what is wrong about it.

    Inside a page without checksum, levels and dictionary indices can be damaged so that pyarrow refuses where the fast
    reader reads on. It may do so only if it sees the very rows that the file had before, or if DuckDB agrees with it.

    DuckDB alone is not believed: it takes the older of two fields that contradict one another for a column's type,
    loses rows where a size that is for information only is wrong, and of two columns that contradict one another about
    the struct, list or map that they make up it believes another one than pyarrow.
    """
    told = {who: _told(edge, seen.get(_of_edge(edge), seen[edge.parent]), seen[edge.child]) for who, seen in by.items()}
    for who, answer in told.items():
        FUZZED[f"edges {'not read' if answer is None else 'confirmed' if answer else 'denied'} by {who}"] += 1
    names = (edge.child, _of_edge(edge) if _of_edge(edge) in by["pyarrow"] else edge.parent)
    unread = [name for name in names if isinstance(by["pyarrow"][name], str)]
    if not told["pyarrow"] and not unread:
        return f"{edge} is denied by pyarrow: {told}"
    for name in unread:
        if reader != "fast" or not (told["duckdb"] or _as_it_was(by, name, "polars")):
            return f"{edge}: pyarrow cannot read {name} ({by['pyarrow'][name]}), and nobody can stand in: {told}"
    if told["duckdb"] is False and not unread and not _of_two_minds(edge, by):
        for name in (edge.parent, edge.child):
            is_clear = _as_it_was(by, name, "pyarrow") or _two_agree(by, name)
            if not is_clear and not _contradicts_itself(folder / name):
                return f"{edge}: DuckDB denies it, and only pyarrow sees {name} as it does: {told}"
    return None


def _contradicts_itself(path: Path) -> bool:
    found = read_all([str(path)], "itself")[str(path)]
    FUZZED["files that contradict themselves"] += found is True
    return found is True


def _as_it_was(by: By, name: str, who: str) -> bool:
    """Whether a reader sees the rows of the undamaged file in this one."""
    seen, original = by[who][name], by["pyarrow"][f"{name.partition('/')[0]}/{ORIGINAL}.parquet"]
    assert not isinstance(seen, str) and not isinstance(original, str), (seen, original)
    return seen[:2] == original[:2]


def _two_agree(by: By, name: str) -> bool:
    """Whether another reader sees the rows of this file as pyarrow does."""
    seens = [by[who][name] for who in ("pyarrow", "polars", "duckdb")]
    rows = [Counter(seen[1]) for seen in seens if not isinstance(seen, str)]
    return rows[0] in rows[1:]


def _of_two_minds(edge: EdgeRow, by: By) -> bool:
    """Whether DuckDB has two types for a column where pyarrow has one."""
    types = {who: by[who][edge.parent][2] == by[who][edge.child][2] for who in ("duckdb", "pyarrow")}
    return types["pyarrow"] and not types["duckdb"]


def _told(edge: EdgeRow, parent: Seen | str, child: Seen | str) -> bool | None:
    """Whether a reader bears the edge out; None if it cannot read one of the two."""
    return None if isinstance(parent, str) or isinstance(child, str) else _bears_out(edge, parent, child)


def _bears_out(edge: EdgeRow, parent: Seen, child: Seen) -> bool:
    if len(child[1]) != edge.child_rows or len(parent[1]) != edge.parent_rows:
        return False
    distinct = (child[0], list(dict.fromkeys(child[1])), child[2])
    return missing_copies(parent=parent, child=child if edge.bag else distinct) == 0
