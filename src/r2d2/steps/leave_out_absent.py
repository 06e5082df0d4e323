"""Leave deleted tables out of a scan, for everything that reads tables or deletes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from r2d2.model.graph import ContainmentGraph, Edges
from r2d2.model.scan import Scan
from r2d2.steps.build_schema_graph import build_schema_graph
from r2d2.steps.edges.arrays import Flags, Ints, as_array, ints, take


def leave_out_absent(scan: Scan) -> Scan:
    """The scan of the tables that are there, with new numbers; the edges between them stand as they did.

    Where an edge was proven by way of a deleted table, nothing is named between the two.
    """
    here = np.fromiter((table.name not in scan.absent for table in scan.tables), dtype=bool, count=len(scan.tables))
    if here.all():
        return replace(scan, absent={})
    number = np.cumsum(here) - 1
    profiles = tuple(profile for profile, stays in zip(scan.profiles, here, strict=True) if stays)
    places = _places(scan.graph.standing, here)
    return replace(
        scan,
        tables=tuple(table for table, stays in zip(scan.tables, here, strict=True) if stays),
        profiles=profiles,
        overlaps=frozenset(pair for pair in scan.overlaps if scan.absent.keys().isdisjoint(pair)),
        schema_graph=build_schema_graph(profiles, scan.containment),
        graph=ContainmentGraph(
            tuple(profile.table for profile in profiles),
            _renumbered(take(scan.graph.standing, places), number, here),
            scan.graph.step,
            scan.graph.dropped,
            _renumbered(take(scan.graph.ruled_out, _places(scan.graph.ruled_out, here)), number, here),
        ),
        since=as_array("I", ints(scan.since)[places]) if scan.since else scan.since,
        absent={},
    )


def _places(edges: Edges, here: Flags) -> Ints:
    """Where the edges between two tables that are there stand."""
    return np.flatnonzero(here[ints(edges.parents)] & here[ints(edges.children)])


def _renumbered(edges: Edges, number: Ints, here: Flags) -> Edges:
    children, via = ints(edges.children), ints(edges.via)
    return replace(
        edges,
        parents=as_array("I", number[ints(edges.parents)]),
        children=as_array("I", number[children]),
        via=as_array("I", number[np.where(here[via], via, children)]),
    )
