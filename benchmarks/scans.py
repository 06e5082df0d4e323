"""`r2d2 scan` as a user runs it, in a process of its own and watched from outside; the pairs that its steps saw."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import Watched, watch
from r2d2.app.lake import Lake

Pair = tuple[str, str]


@dataclass(frozen=True)
class Scanned:
    """A finished scan: what it took and what it said."""

    watched: Watched
    answer: dict[str, Any]

    @property
    def seconds(self) -> float:
        """From the command to its end."""
        return self.watched.seconds

    @property
    def without_session(self) -> float:
        """Seconds of all steps but for waiting until Spark has started."""
        return float(sum(line["seconds"] for line in self.answer["funnel"]) - self.answer["session_seconds"])

    @property
    def read_share(self) -> float:
        """Bytes of rows read over the bytes of the lake."""
        return float(self.answer["bytes_read"] / max(1, self.answer["size_bytes"]))

    @property
    def peaks(self) -> dict[str, int]:
        """Columns of a result: the peak memory of the driver, of Java, and of the largest single worker process."""
        names = {"driver": "driver MB", "jvm": "JVM MB", "worker": "largest worker MB"}
        return {names[kind]: peak for kind, peak in sorted(self.watched.peak_mb.items())}


def scan(lake: Path, state: Path | str, *options: str) -> Scanned:
    """Scan a folder into a state folder."""
    command = [sys.executable, "-m", "r2d2", "scan", str(lake), "--state", str(state), *options, "--json"]
    watched = watch(command)
    return Scanned(watched, json.loads(watched.output))


def read_every_byte(lake: Path) -> None:
    """Fill the page cache, so that the first to be measured does not wait for the disk."""
    for path in lake.rglob("*.parquet"):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


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
    """Every pair that min-max pruning left: those that content checks saw."""
    graph = lake.scan.graph
    assert graph is not None
    pairs = [
        (graph.tables[p], graph.tables[c])
        for edges in (graph.standing, graph.ruled_out)
        for p, c in zip(edges.parents, edges.children, strict=True)
    ]
    (left,) = [line.left for line in lake.scan.funnel if line.step == "prune_by_minmax"]
    assert len(pairs) == left, f"{len(pairs)} pairs are kept, min-max pruning left {left}"
    return pairs


def standing_pairs(lake: Lake) -> set[Pair]:
    """The edges that the scan found."""
    return {(edge.parent, edge.child) for edge in lake.edges()}
