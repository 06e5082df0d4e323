"""After any sequence of changes an update gives what a scan from scratch gives: graph, verdicts, counts, evidence."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from r2d2.engine.rows import same_bytes
from r2d2.flows.update import Update
from r2d2.model.graph import Check, Edges
from r2d2.model.scan import Scan
from r2d2.model.table import Absent
from r2d2.pipeline import update
from r2d2.settings import Settings
from r2d2.steps import prune_by_content, verify_containment
from r2d2.steps.leave_out_absent import leave_out_absent
from tests.support.in_process import Reader
from tests.support.random_changes import ChangingLake

SEQUENCES = int(os.environ.get("TORTURE_UPDATES", 200))  # `make torture-update` sets it
CHANGES = 6
KINDS = {
    "small": (Settings(), 20_000),
    "sampled": (Settings(rows=3, columns=2), 0),
    "bag": (Settings(bag=True), 20_000),
    "no verify": (Settings(verify=False, rows=3, columns=2), 0),
}


def counted(edges: Edges) -> dict[tuple[int, int], tuple[int, int]]:
    pairs = zip(edges.parents, edges.children, strict=True)
    return dict(zip(pairs, zip(edges.missing_rows, edges.missing_copies, strict=True), strict=True))


def assert_same(fresh: Scan, updated: Scan) -> None:
    """All that a user can see of the two is the same."""
    assert updated.tables == fresh.tables
    assert updated.profiles == fresh.profiles
    assert updated.overlaps == fresh.overlaps
    odd = noticed_by_one(fresh, updated)
    one, other = (sorted(repr(p) for p in scan.problems if p.where not in odd) for scan in (updated, fresh))
    assert one == other
    assert updated.schema_graph == fresh.schema_graph
    assert fresh.graph is not None and updated.graph is not None
    assert updated.graph.step == fresh.graph.step
    sound = {number for number, table in enumerate(fresh.tables) if table.name not in odd}
    assert among(sound, updated.graph.standing) == among(sound, fresh.graph.standing)
    one, other = among(sound, updated.graph.ruled_out), among(sound, fresh.graph.ruled_out)
    assert one.keys() == other.keys()
    for pair, missing in one.items():
        assert missing == other[pair] or (-1, -1) in (missing, other[pair])
    for edges in (updated.graph.standing, updated.graph.ruled_out):
        pairs = list(zip(edges.parents, edges.children, strict=True))
        assert pairs == sorted(pairs)
    if not fresh.settings.verify and not odd:
        assert updated.graph.standing == fresh.graph.standing
        assert updated.graph.ruled_out == fresh.graph.ruled_out


def among(tables: Collection[int], edges: Edges) -> dict[tuple[int, int], tuple[int, int]]:
    return {pair: missing for pair, missing in counted(edges).items() if pair[0] in tables and pair[1] in tables}


def noticed_by_one(fresh: Scan, updated: Scan) -> set[str]:
    """Tables with damaged rows of which only one of the two has read those: which columns are sampled may differ."""
    one, other = ({p.where for p in scan.problems if p.needs_a_look} for scan in (fresh, updated))
    files = {table.name: table.files for table in (*fresh.tables, *updated.tables)}
    odd = {name for name in one ^ other if name in files}
    assert all(is_damaged([file.path for file in files[name]]) for name in odd), odd
    return odd


def is_damaged(paths: Collection[str]) -> bool:
    try:
        for path in paths:
            pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError):
        return True
    return False


def assert_founded(scan: Scan) -> None:
    """Evidence is true of the tables as they are, and no edge stands on itself."""
    assert scan.graph is not None
    edges = scan.graph.standing
    assert len(scan.since) in (0, len(edges))
    missing = counted(edges)
    founded = set()
    waiting = {}
    for pair, check, via in zip(missing, edges.check, edges.via, strict=True):
        if check == Check.EQUAL:
            assert missing[pair] == missing[pair[1], pair[0]] == (0, 0)
        if check != Check.IMPLIED:
            founded.add(pair)
            continue
        assert via not in pair
        # Tables that share files are no edge of each other's, whatever they hold.
        links = [link for link in ((pair[0], via), (via, pair[1])) if not shares_files(scan, link)]
        assert all(missing[link][0] == 0 for link in links)
        assert missing[pair][1] or not any(missing[link][1] for link in links)
        waiting[pair] = links
    while ready := {pair for pair, links in waiting.items() if founded.issuperset(links)}:
        founded |= ready
        waiting = {pair: links for pair, links in waiting.items() if pair not in ready}
    assert not waiting


def shares_files(scan: Scan, pair: tuple[int, int]) -> bool:
    return tuple(sorted(scan.tables[number].name for number in pair)) in scan.overlaps


def play(seed: int, kind: str, seen: Counter[str]) -> None:
    """One lake, changed again and again, updated each time."""
    settings, small_rows = KINDS[kind]
    rng = random.Random(f"{seed} {kind}")
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(same_bytes, "LEAST_BYTES", 0)
        patch.setattr(prune_by_content, "WITHIN", 0.0 if small_rows else 1.0)
        patch.setattr(verify_containment, "SMALL_ROWS", small_rows)
        folder = Path(name) / "lake"
        folder.mkdir()
        aside = Path(name) / "aside"
        aside.mkdir()
        lake = ChangingLake(folder, rng, aside=aside)
        scan = named(Reader().scan(str(folder), settings), 0)
        for turn in range(CHANGES):
            done = [lake.change() for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]
            away = put_away(scan, lake)
            result = update(scan, settings=settings, tools=Reader().tools, rebuildable=away)
            fresh = Reader().scan(str(folder), settings)
            try:
                assert_same(fresh, leave_out_absent(result.scan))
                assert_still_true(result)
                assert_true_of_what_is_away(result.scan, lake, settings)
                assert_founded(result.scan)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, {kind}, turn {turn}, after {done}: {error}") from error
            scan = named(result.scan, turn + 1)
            note(result, seen)
        seen["rewritten in place"] += lake.rewritten_in_place


def put_away(scan: Scan, lake: ChangingLake) -> dict[str, Absent]:
    """The tables that were put away as the last scan knew them."""
    assert lake.aside
    found = {}
    for table in scan.tables:
        if "/" in table.name:  # a table in a folder that is put away as a whole
            continue
        files = {file.path: (file.size_bytes, file.modified_ns) for file in table.files}
        kept = {str(lake.folder / f.relative_to(lake.aside)): f.stat() for f in (lake.aside / table.name).rglob("*.p*")}
        here = (lake.folder / table.name).exists()
        if not here and files == {path: (stat.st_size, stat.st_mtime_ns) for path, stat in kept.items()}:
            found[table.name] = Absent("somewhere")
    return found


def assert_still_true(result: Update) -> None:
    """A table that is away has the edges that it had to tables that are as they were, and no new ones."""
    absent = result.scan.absent.keys()
    same = {table.name for table in result.scan.tables} - {one.table for one in result.changes.changed} | absent
    then, now = (edges_of(scan, absent) for scan in (result.old, result.scan))
    assert {pair for pair in then if same.issuperset(pair)} == {pair for pair in now if same.issuperset(pair)}


def assert_true_of_what_is_away(updated: Scan, lake: ChangingLake, settings: Settings) -> None:
    """Every edge of a table that is away is one that a scan finds if the table is where it was.

    Or would find: a table that was given a file of the other before that was put away shares it, were it back.
    """
    if not updated.absent:
        return
    with lake.back_for_a_while(updated.absent):
        everything = Reader().scan(str(lake.folder), settings)
    assert everything.graph is not None
    tables = set(everything.graph.tables)
    claimed = {pair for pair in edges_of(updated, updated.absent) if tables.issuperset(pair)}
    shared = {pair for pair in claimed if tuple(sorted(pair)) in everything.overlaps}
    assert claimed - shared <= set(everything.graph.edges())


def edges_of(scan: Scan, tables: Collection[str]) -> set[tuple[str, str]]:
    return {pair for pair in scan.graph.edges() if not set(tables).isdisjoint(pair)} if scan.graph else set()


def named(scan: Scan, turn: int) -> Scan:
    return replace(scan, run=f"run{turn}")


def note(result: Update, seen: Counter[str]) -> None:
    seen.update(str(change.change) for change in result.changes.changed)
    seen["kept edges"] += result.kept_edges
    seen["asked pairs"] += result.asked_pairs
    seen["tables away"] += len(result.scan.absent)
    seen["edges of tables away"] += len(edges_of(result.scan, result.scan.absent))
    seen["partitioned"] += sum(bool(table.files and table.files[0].partition) for table in result.scan.tables)
    seen["taken apart"] += sum("do not fit" in problem.because for problem in result.scan.problems)
    seen["back"] += sum("there again" in change.because for change in result.changes.changed)
    seen["edges"] += len(result.scan.graph or ())


@pytest.mark.slow
def test_an_update_is_what_a_scan_from_scratch_is() -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEQUENCES):
        play(seed, list(KINDS)[seed % len(KINDS)], seen)
    for change in ("new", "grown", "shrunk", "replaced", "renamed", "deleted"):
        assert seen[change] > SEQUENCES / 20, change
    for what in ("tables away", "edges of tables away", "partitioned", "back", "rewritten in place", "taken apart"):
        assert seen[what] > SEQUENCES / 20, what
    assert seen["kept edges"] > 0.3 * seen["edges"], "or nothing was put to the test"
