"""Evidence of each check about one pair, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from r2d2.model.counted import counted
from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.graph import Check, Edges
from r2d2.model.scan import Scan
from r2d2.model.schema import Column
from r2d2.steps.edges.compare_profiles import compare_ranges
from r2d2.steps.prune_by_content import Ranking, caught_share, probe_columns, rank_columns, rows_to_sample

SHARED = "they share files, or one lies inside the other: their rows are stored only once"


def profile_evidence(scan: Scan, parent: int, child: int) -> Evidence:
    """Evidence of min-max pruning about one pair."""
    if tuple(sorted((scan.tables[parent].name, scan.tables[child].name))) in scan.overlaps:
        return Evidence("prune_by_minmax", Verdict.IMPOSSIBLE, SHARED)
    return compare_ranges(parent=scan.profiles[parent], child=scan.profiles[child], containment=scan.containment)


def content_evidence(scan: Scan, edges: Edges, position: int) -> Evidence | None:
    """Evidence of the last check on an edge's content; None without such a check."""
    check = Check(edges.check[position])
    if check is Check.NONE:
        return None
    ruled_out = edges is scan.graph.ruled_out
    if check is Check.SAMPLED:
        return _sampled(scan, edges.children[position], ruled_out)
    missing, copies = edges.missing_rows[position], edges.missing_copies[position]
    rows = scan.profiles[edges.children[position]].rows
    if missing:
        share = f" (containment {1 - missing / rows:.6g})" if rows else ""
        all_rows = "rows" if rows is None else counted(rows, "rows")
        are = "is" if missing == 1 else "are"
        because = f"{missing:,} of the child's {all_rows} {are} not in the parent{share}"
        return Evidence("verify_containment", Verdict.IMPOSSIBLE, because)
    verdict = Verdict.IMPOSSIBLE if ruled_out else Verdict.PROVEN
    return Evidence("verify_containment", verdict, _proof(scan, edges, position, check) + _copies(copies))


def _proof(scan: Scan, edges: Edges, position: int, check: Check) -> str:
    rows = scan.profiles[edges.children[position]].rows
    if rows == 0:
        return "the child is empty: there is no row to look for"
    if check is Check.EQUAL:
        return "the two hold the same rows" if rows is None else f"the two hold the same {counted(rows, 'rows')}"
    if check is Check.IMPLIED:
        between = scan.tables[edges.via[position]].name
        return f"the child is in {between}, which is in the parent, row by row"
    if rows is None:
        return "each of the child's rows is in the parent"
    return f"each of the child's {rows:,} rows is in the parent" if rows > 1 else "the child's one row is in the parent"


def _copies(missing_copies: int) -> str:
    if missing_copies == 0:
        return ""
    return f"; as a set only: the parent lacks {counted(missing_copies, 'copies')}"


def _sampled(scan: Scan, child: int, ruled_out: bool) -> Evidence:
    columns = _compared_in(_sampled_columns(scan, child), len(scan.profiles[child].schema.columns))
    if ruled_out:
        because = f"a sampled row of the child has no equal in the parent in {columns}"
        return Evidence("prune_by_content", Verdict.IMPOSSIBLE, because)
    found = f"every sampled row of the child has an equal in the parent in {columns}"
    return Evidence("prune_by_content", Verdict.POSSIBLE, found + _guarantee(scan))


def _compared_in(probed: Sequence[Column], all_columns: int) -> str:
    """The columns that a sample was compared in, in words."""
    if len(probed) < all_columns:
        return f"{len(probed):,} of its {all_columns:,} columns: {', '.join(map(str, probed))}"
    return f"all {all_columns:,} columns" if all_columns > 1 else f"its only column, {probed[0]}"


def _sampled_columns(scan: Scan, child: int) -> tuple[Column, ...]:
    """The columns in which sampled rows of a child were looked for, the most selective first."""
    return probe_columns(scan.profiles[child].schema, _ranking(scan), scan.probe_width)


def compared_columns(scan: Scan, parent: int, child: int) -> tuple[Column, ...]:
    """The columns in which the deciding check looked for the child's rows: those of its sample, or all."""
    found = scan.graph.find(parent, child)
    if found and Check(found[0].check[found[1]]) is Check.SAMPLED:
        return _sampled_columns(scan, child)
    return scan.profiles[child].schema.columns


_rankings: WeakKeyDictionary[Scan, Ranking] = WeakKeyDictionary()


def _ranking(scan: Scan) -> Ranking:
    """The ranking of columns for the scan's samples; computed once."""
    if scan not in _rankings:
        _rankings[scan] = rank_columns(scan.ranked_profiles)
    return _rankings[scan]


def _guarantee(scan: Scan) -> str:
    """The guarantee of a sample in words: (ε, δ) of Theorem 4.2."""
    if not scan.samples_guarantee:
        return ""
    epsilon, delta = scan.settings.epsilon, scan.settings.delta
    rows = rows_to_sample(missing_share=epsilon, risk=delta) if epsilon else scan.sample_rows
    share = epsilon or _rounded_up(caught_share(rows=rows, risk=delta))
    copies = "; copies were not counted" if scan.containment.counts_copies else ""
    return (
        f" (of {rows:,} rows drawn uniformly: if the parent lacked a share of {share:g} or more of the child's rows, "
        f"this would happen with a probability of {delta:g} at most{copies})"
    )


def _rounded_up(share: float) -> float:
    """Round a share up to two digits: rounding down would promise too much.

    >>> _rounded_up(0.0582), _rounded_up(0.95), _rounded_up(1.2e-05)
    (0.059, 0.95, 1.2e-05)
    """
    scale = 10.0 ** (1 - math.floor(math.log10(share)))
    return math.ceil(round(share * scale, 9)) / scale
