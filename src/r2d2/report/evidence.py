"""What each check said about one pair, in words."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.graph import Check, Edges
from r2d2.model.scan import Scan
from r2d2.model.schema import Column
from r2d2.steps.compare_profiles import compare_ranges
from r2d2.steps.prune_by_content import Ranking, caught_share, probe_columns, rank_columns

SHARED = "they share files, or one lies inside the other: what is stored once is no copy"


def profile_evidence(scan: Scan, parent: int, child: int) -> Evidence:
    """What min-max pruning says of one pair."""
    if tuple(sorted((scan.tables[parent].name, scan.tables[child].name))) in scan.overlaps:
        return Evidence("prune_by_minmax", Verdict.IMPOSSIBLE, SHARED)
    return compare_ranges(parent=scan.profiles[parent], child=scan.profiles[child], bag=scan.bag)


def content_evidence(scan: Scan, edges: Edges, position: int) -> Evidence | None:
    """What the last check on content said of an edge; None if there was none."""
    assert scan.graph is not None
    check = Check(edges.check[position])
    if check is Check.NONE:
        return None
    ruled_out = edges is scan.graph.ruled_out
    if check is Check.SAMPLED:
        return _sampled(scan, edges.children[position], ruled_out)
    missing, copies = edges.missing_rows[position], edges.missing_copies[position]
    rows = scan.profiles[edges.children[position]].rows
    if missing:
        share = 1 - missing / rows
        because = f"{missing:,} of the child's {rows:,} rows are not in the parent (containment {share:.6g})"
        return Evidence("verify_containment", Verdict.IMPOSSIBLE, because)
    verdict = Verdict.IMPOSSIBLE if ruled_out else Verdict.PROVEN
    return Evidence("verify_containment", verdict, _proof(scan, edges, position, check) + _copies(copies))


def _proof(scan: Scan, edges: Edges, position: int, check: Check) -> str:
    rows = scan.profiles[edges.children[position]].rows
    if rows == 0:
        return "the child is empty: there is no row to look for"
    if check is Check.EQUAL:
        return f"the two hold the same {rows:,} rows"
    if check is Check.IMPLIED:
        between = scan.tables[edges.via[position]].name
        return f"the child is in {between}, which is in the parent, row by row"
    return f"each of the child's {rows:,} rows is in the parent"


def _copies(missing_copies: int) -> str:
    if missing_copies == 0:
        return ""
    return f"; as a set only: the parent lacks {missing_copies:,} copies"


def _sampled(scan: Scan, child: int, ruled_out: bool) -> Evidence:
    probed = probe_columns(scan.profiles[child].schema, _ranking(scan), scan.probe_width)
    columns = ", ".join(map(str, probed))
    if ruled_out:
        because = f"a sampled row of the child has no equal in the parent in columns {columns}"
        return Evidence("prune_by_content", Verdict.IMPOSSIBLE, because)
    found = f"every sampled row of the child has an equal in the parent in columns {columns}"
    return Evidence("prune_by_content", Verdict.POSSIBLE, found + _guarantee(scan))


def compared_columns(scan: Scan, parent: int, child: int) -> tuple[Column, ...]:
    """The columns in which the deciding check looked for the child's rows: those of its sample, or all."""
    found = scan.graph.find(parent, child) if scan.graph is not None else None
    if found and Check(found[0].check[found[1]]) is Check.SAMPLED:
        return probe_columns(scan.profiles[child].schema, _ranking(scan), scan.probe_width)
    return scan.profiles[child].schema.columns


_rankings: WeakKeyDictionary[Scan, Ranking] = WeakKeyDictionary()


def _ranking(scan: Scan) -> Ranking:
    """The ranking that the scan's samples were taken by; worked out once."""
    if scan not in _rankings:
        _rankings[scan] = rank_columns(scan.profiles)
    return _rankings[scan]


def _guarantee(scan: Scan) -> str:
    """What a sample alone is good for: (ε, δ) of Theorem 4.2."""
    epsilon, delta = float(str(scan.settings["epsilon"])), float(str(scan.settings["delta"]))
    if scan.settings["verify"] and not epsilon:
        return ""
    share = epsilon or caught_share(rows=scan.sample_rows, risk=delta)
    return f" (a child lacking {share:.2g} of its rows there or more is caught with probability {1 - delta:.2g})"
