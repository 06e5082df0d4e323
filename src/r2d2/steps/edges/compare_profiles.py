"""Compare two profiles, with reasons in words: the slow, obvious form of SGB and MMP."""

from __future__ import annotations

from collections.abc import Iterator

from r2d2.model.containment import EXACT_SET, Containment
from r2d2.model.counted import counted
from r2d2.model.evidence import Evidence, Verdict
from r2d2.model.profile import ColumnStats, TableProfile
from r2d2.model.schema import Column
from r2d2.model.values import show
from r2d2.steps.build_schema_graph import schema_mismatch
from r2d2.steps.edges.bounds import witnesses


def compare_profiles(*, parent: TableProfile, child: TableProfile, containment: Containment = EXACT_SET) -> Evidence:
    """Evidence from the metadata of both tables, schema first."""
    schema = compare_schemas(parent=parent, child=child, containment=containment)
    return (
        compare_ranges(parent=parent, child=child, containment=containment)
        if schema.verdict is Verdict.POSSIBLE
        else schema
    )


def compare_schemas(*, parent: TableProfile, child: TableProfile, containment: Containment = EXACT_SET) -> Evidence:
    """SGB on one pair (section 4.1): impossible if the parent lacks a column, or holds another kind of value in it."""
    mismatch = schema_mismatch(parent=parent, child=child, containment=containment)
    if mismatch:
        return Evidence("build_schema_graph", Verdict.IMPOSSIBLE, mismatch)
    what = "the one column" if len(child.schema) == 1 else f"all {len(child.schema)} columns"
    return Evidence("build_schema_graph", Verdict.POSSIBLE, f"the parent has {what} of the child")


def compare_ranges(*, parent: TableProfile, child: TableProfile, containment: Containment = EXACT_SET) -> Evidence:
    """MMP on one pair (section 4.2): impossible if a range, a null count or the row counts say so."""
    conflicts = list(_conflicts(parent, child, containment))
    if not conflicts:
        return Evidence("prune_by_minmax", Verdict.POSSIBLE, _nothing_against(parent, child))
    more = len(conflicts) - 1
    also = f" (and {more} more {'reason' if more == 1 else 'reasons'})" if more else ""
    reasons = tuple(conflicts) if more else ()
    return Evidence("prune_by_minmax", Verdict.IMPOSSIBLE, conflicts[0] + also, reasons)


def _conflicts(parent: TableProfile, child: TableProfile, containment: Containment) -> Iterator[str]:
    parent, child = witnesses([parent, child], containment)
    if parent.rows == 0 and child.rows:
        yield "the parent is empty and the child is not"
    if containment.counts_copies and parent.rows is not None and child.rows is not None and child.rows > parent.rows:
        yield f"the child has {counted(child.rows, 'rows')}, more than the parent's {parent.rows:,}"
    in_parent = {c.token: (c, stats) for c, stats in zip(parent.schema.columns, parent.stats, strict=True)}
    for column, stats in zip(child.schema.columns, child.stats, strict=True):
        other, bounds = in_parent[column.token]
        if other.kind == column.kind:
            yield from _range_conflicts(column, stats, bounds)
        yield from _null_conflicts(column, stats, child.rows, bounds, parent.rows)


def _range_conflicts(column: Column, child: ColumnStats, parent: ColumnStats) -> Iterator[str]:
    below = child.low_exact and child.low is not None and parent.low is not None and child.low < parent.low  # type: ignore[operator]
    above = child.high_exact and child.high is not None and parent.high is not None and child.high > parent.high  # type: ignore[operator]
    if below or above:
        beyond = show(child.low if below else child.high, column.type_name)
        yield (
            f"column {column}: the child holds {beyond}, outside the parent's range; "
            f"child {_range(child, column)}, parent {_range(parent, column)}"
        )


def _null_conflicts(
    column: Column, child: ColumnStats, child_rows: int | None, parent: ColumnStats, parent_rows: int | None
) -> Iterator[str]:
    if child.nulls and parent.nulls == 0:
        yield f"column {column}: the child has {child.nulls:,} NULLs, the parent none"
    if child.holds_value(child_rows) and parent.nulls is not None and parent.nulls == parent_rows:
        yield f"column {column}: the parent has only NULLs, the child has values"


def _range(stats: ColumnStats, column: Column) -> str:
    return f"{show(stats.low, column.type_name)} … {show(stats.high, column.type_name)}"


def _nothing_against(parent: TableProfile, child: TableProfile) -> str:
    if child.rows == 0:
        return "the child is empty"
    known = sum(stats.low_exact or stats.high_exact for stats in child.stats)
    columns = counted(len(child.schema), "columns")
    return f"no range or null count rules it out (exact bounds for {known} of {columns})"
