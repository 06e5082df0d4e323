"""How results look on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from r2d2.cli.output import (
    bytes_for_people,
    console,
    plain,
    print_csv,
    print_json,
    print_json_list,
    print_table,
    printable,
)
from r2d2.model.evidence import Verdict
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.table import Absent
from r2d2.report.edges import EDGE_FIELDS, EdgeRow, as_dict
from r2d2.report.explain import Explanation, MissingRow
from r2d2.settings import Settings

if TYPE_CHECKING:
    from r2d2.synthetic import GeneratedLake

_STEPS = {
    "discover": "found",
    "profile": "with readable metadata",
    "build_schema_graph": "where one schema holds the other",
    "prune_by_minmax": "not ruled out by ranges, nulls or counts",
    "prune_by_content": "not ruled out by sampled rows",
    "verify_containment": "proven, row by row",
    "update_graph": "that stand now",
}
_MOST_PROBLEMS = 20
_LONGEST_VALUE = 200


def show_scan(scan: Scan, *, state: str, as_json: bool) -> None:
    """The funnel, the problems, and where the rest is."""
    if as_json:
        print_json(scan_as_dict(scan, state))
        return
    out = console()
    size = bytes_for_people(scan.size_bytes)
    out.print(f"[bold]{len(scan.tables):,} tables[/], {scan.rows:,} rows, {size}")
    print_table(
        "Funnel", ("step", "left", "", "dropped", "seconds"), map(_funnel_row, scan.funnel), ("left", "seconds")
    )
    show_problems(scan)
    where = "" if state == Settings().state else f" --state {plain(state)}"
    out.print(
        f"Kept in {plain(state)}. Next: [bold]r2d2 edges{where}[/] lists the pairs, "
        f"[bold]r2d2 explain PARENT CHILD{where}[/] says why."
    )


def _funnel_row(line: FunnelLine) -> tuple[str, ...]:
    dropped = ", ".join(f"{count:,} by {rule}" for rule, count in line.dropped.items())
    meaning = f"{line.unit} {_STEPS.get(line.step, '')}"
    return line.step, f"{line.left:,}", meaning, dropped, f"{line.seconds:.2f}"


def scan_as_dict(scan: Scan, state: str) -> dict[str, Any]:
    """The JSON shape of `r2d2 scan --json`."""
    assert scan.graph is not None and scan.schema_graph is not None
    return {
        "run": scan.run,
        "state": state,
        "roots": list(scan.roots),
        "tables": len(scan.tables) - len(scan.absent),
        "rows": scan.rows,
        "size_bytes": scan.size_bytes,
        "edges": len(scan.graph),
        "session_seconds": scan.session_seconds,
        "bytes_read": scan.bytes_read,
        "kept_bytes_read": scan.kept_bytes_read,
        "funnel": [asdict(line) | {"dropped": dict(line.dropped)} for line in scan.funnel],
        "schema_operations": asdict(scan.schema_graph.operations),
        "problems": [asdict(problem) for problem in scan.problems],
        "deleted": absent_as_dicts(scan.absent),
    }


def show_problems(scan: Scan) -> None:
    """What was not scanned, the worst first."""
    out = console()
    order = {"unreadable": 0, "unsupported": 1, "notice": 2}
    problems = sorted(scan.problems, key=lambda problem: order.get(problem.kind, 3))
    for problem in problems[:_MOST_PROBLEMS]:
        style = {"unreadable": "red", "unsupported": "yellow"}.get(problem.kind, "dim")
        out.print(f"[{style}]{problem.kind}[/] ", end="")
        out.print(printable(f"{problem.where}: {problem.because}"), markup=False)
        if problem.hint and problem.kind == "unreadable":
            out.print(printable(f"  Hint: {problem.hint}"), markup=False)
    if len(problems) > _MOST_PROBLEMS:
        out.print(f"… and {len(problems) - _MOST_PROBLEMS:,} more: `r2d2 scan --json` and the state's problems.parquet")


def show_absent(absent: Mapping[str, Absent]) -> None:
    """The tables that are deleted and still part of the graph: those in danger first."""
    out = console()
    in_order = sorted(absent.items(), key=lambda one: (not one[1].wrong, one[0]))
    for name, known in in_order[:_MOST_PROBLEMS]:
        out.print(printable(f"{name}: {known.says}"), markup=False, style="bold red" if known.wrong else "dim")
    if len(absent) > _MOST_PROBLEMS:
        out.print(f"… and {len(absent) - _MOST_PROBLEMS:,} more that are deleted; `r2d2 status` lists them")


def absent_as_dicts(absent: Mapping[str, Absent]) -> list[dict[str, Any]]:
    """Deleted tables, for machines."""
    return [{"table": name} | asdict(known) for name, known in sorted(absent.items())]


def show_edges(rows: Iterable[EdgeRow], form: str, most: int | None = None) -> None:
    """Pairs of tables in one of three forms."""
    if form == "json":
        print_json_list(map(as_dict, rows))
    elif form == "csv":
        print_csv(EDGE_FIELDS, map(as_dict, rows))
    else:
        _edge_table(iter(rows), most)


def _edge_table(rows: Iterator[EdgeRow], most: int | None) -> None:
    first = list(islice(rows, most))
    total = len(first) + sum(1 for _ in rows)
    columns = ("parent", "child", "verdict", "containment", "copies", "child rows", "parent rows")
    reasons = any(row.verdict is Verdict.IMPOSSIBLE for row in first)  # --all: why they were dropped
    cells = (_edge_cells(row, with_reason=reasons) for row in first)
    shown = f"{len(first):,} of {total:,}" if total > len(first) else f"{total:,}"
    print_table(
        f"Containment edges ({shown})",
        (*columns, "because") if reasons else columns,
        cells,
        ("containment", "child rows", "parent rows"),
    )


def _edge_cells(row: EdgeRow, *, with_reason: bool) -> tuple[object, ...]:
    share = "" if row.containment is None else f"{row.containment:.6g}"
    copies = {None: "", True: "all", False: "too few"}[row.bag]
    parent, child = (
        f"{name} ({says})" if says else name
        for name, says in ((row.parent, row.parent_deleted), (row.child, row.child_deleted))
    )
    cells = (parent, child, row.verdict, share, copies, f"{row.child_rows:,}", f"{row.parent_rows:,}")
    return (*cells, row.because) if with_reason else cells


def show_explanation(explanation: Explanation, *, as_json: bool) -> None:
    """The evidence trail of one pair."""
    if as_json:
        print_json(explanation_as_dict(explanation))
        return
    out = console()
    says = {
        Verdict.IMPOSSIBLE: "is not contained in",
        Verdict.POSSIBLE: "may be contained in",
        Verdict.PROVEN: "is contained in",
    }[explanation.verdict]
    out.print(printable(f"{explanation.child} {says} {explanation.parent}"), markup=False, style="bold")
    for evidence in explanation.trail:
        out.print(printable(f"  {evidence.check}: {evidence.verdict}, {evidence.because}"), markup=False)
    for table, says in explanation.deleted.items():
        out.print(printable(f"  {table}: {says}"), markup=False)
    if explanation.missing_row is not None:
        _show_missing_row(explanation.missing_row)


def _show_missing_row(row: MissingRow) -> None:
    """One line for each column; a value may hold anything, so control characters are escaped (HAZARDS 34)."""
    out = console()
    if not row.values:
        out.print("  no row of the child is missing in the parent")
        return
    out.print("  a row of the child that is not in the parent:")
    for column, value in row.values:
        out.print(printable(f"    {column}: {_cut(value)}"), markup=False)


def _cut(value: str | None) -> str:
    if value is None:
        return "NULL"
    return value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}… ({len(value):,} characters)"


def explanation_as_dict(explanation: Explanation) -> Mapping[str, Any]:
    """The JSON shape of `r2d2 explain --json`."""
    row = explanation.missing_row
    return {
        "parent": explanation.parent,
        "child": explanation.child,
        "verdict": str(explanation.verdict),
        "because": explanation.because,
        "trail": [asdict(evidence) | {"verdict": str(evidence.verdict)} for evidence in explanation.trail],
        "deleted": dict(explanation.deleted),
        "missing_row": None if row is None else [{"column": name, "value": value} for name, value in row.values],
    }


def show_generated(lake: GeneratedLake, *, truth: Path | None, as_json: bool) -> None:
    """What was generated, and where."""
    found = {
        "lake": str(lake.path),
        "lineage": str(lake.lineage_path),
        "truth": str(truth) if truth else None,
        "tables": len(lake.tables),
        "rows": lake.rows,
        "size_bytes": lake.size_bytes,
    }
    if as_json:
        print_json(found)
        return
    out = console()
    size = bytes_for_people(lake.size_bytes)
    out.print(f"[bold]{found['tables']:,} tables[/], {found['rows']:,} rows, {size} in {plain(str(lake.path))}")
    out.print(f"How each was made: {plain(str(lake.lineage_path))}")
    if truth:
        out.print(f"What is contained in what: {plain(str(truth))}")
