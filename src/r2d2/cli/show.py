"""Print scans, edges, explanations and generated lakes, as JSON or drawn for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from r2d2.cli.output import console, plain, print_csv, print_json, print_json_list, print_table, printable
from r2d2.model.counted import counted
from r2d2.model.evidence import Verdict
from r2d2.model.scan import FunnelLine, Scan
from r2d2.model.table import Problem
from r2d2.pipeline import words_of
from r2d2.report.edges import EDGE_FIELDS, EdgeRow
from r2d2.report.explain import Explanation, MissingRow
from r2d2.report.generate import generated_report
from r2d2.report.scan import DeletedTable, scan_report, worst_first
from r2d2.report.words import bytes_for_people
from r2d2.settings import Settings

if TYPE_CHECKING:
    from r2d2.synthetic import GeneratedLake

_MOST_PROBLEMS = 20
_LONGEST_VALUE = 200


def show_scan(scan: Scan, *, state: str, as_json: bool) -> None:
    """Print the funnel, the problems, and where the rest is."""
    report = scan_report(scan, state)
    if as_json:
        print_json(report.to_json())
        return
    out = console()
    size = bytes_for_people(report.size_bytes)
    out.print(f"[bold]{counted(report.tables, 'tables')}[/], {counted(report.rows, 'rows')}, {size}")
    print_table(
        "Funnel", ("step", "left", "", "dropped", "seconds"), map(_funnel_row, report.funnel), ("left", "seconds")
    )
    show_problems(report.problems)
    where = "" if state == Settings().state else f" --state {plain(state)}"
    out.print(
        f"Kept in {plain(state)}. Next: [bold]r2d2 edges{where}[/] lists the pairs, "
        f"[bold]r2d2 explain PARENT CHILD{where}[/] says why."
    )


def _funnel_row(line: FunnelLine) -> tuple[str, ...]:
    dropped = ", ".join(f"{count:,} by {rule}" for rule, count in line.dropped.items())
    unit = line.unit.removesuffix("s") if line.left == 1 else line.unit
    step = words_of(line.step)
    meaning = f"{unit} {step.leaves if step else ''}"
    return line.step, f"{line.left:,}", meaning, dropped, f"{line.seconds:.2f}"


def show_problems(found: Sequence[Problem]) -> None:
    """Draw what was not scanned, the worst first."""
    out = console()
    for problem in worst_first(found)[:_MOST_PROBLEMS]:
        style = {"unreadable": "red", "unsupported": "yellow"}.get(problem.kind, "dim")
        out.print(f"[{style}]{problem.kind}[/] ", end="")
        out.print(printable(f"{problem.where}: {problem.because}"), markup=False)
        if problem.hint and problem.kind == "unreadable":
            out.print(printable(f"  Hint: {problem.hint}"), markup=False)
    if len(found) > _MOST_PROBLEMS:
        out.print(f"… and {len(found) - _MOST_PROBLEMS:,} more: `r2d2 scan --json` and the state's problems.parquet")


def show_deleted(tables: Sequence[DeletedTable]) -> None:
    """Draw the deleted tables that are still part of the graph, those in danger first."""
    out = console()
    for one in sorted(tables, key=lambda one: not one.wrong)[:_MOST_PROBLEMS]:
        out.print(printable(f"{one.table}: {one.says}"), markup=False, style="bold red" if one.wrong else "dim")
    if len(tables) > _MOST_PROBLEMS:
        out.print(f"… and {len(tables) - _MOST_PROBLEMS:,} more that are deleted; `r2d2 status` lists them")


def show_edges(rows: Iterable[EdgeRow], form: str, most: int | None = None) -> None:
    """Print pairs of tables in one of three forms."""
    if form == "json":
        print_json_list(row.to_json() for row in rows)
    elif form == "csv":
        print_csv(EDGE_FIELDS, (row.to_json() for row in rows))
    else:
        _edge_table(iter(rows), most)


def _edge_table(rows: Iterator[EdgeRow], most: int | None) -> None:
    first = list(islice(rows, most))
    total = len(first) + sum(1 for _ in rows)
    if not total:
        console().print("no table was found to be contained in another")
        return
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


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _edge_cells(row: EdgeRow, *, with_reason: bool) -> tuple[object, ...]:
    share = "" if row.containment is None else f"{row.containment:.6g}"
    copies = {None: "", True: "all", False: "too few"}[row.bag]
    parent, child = (
        f"{name} ({says})" if says else name
        for name, says in ((row.parent, row.parent_deleted), (row.child, row.child_deleted))
    )
    cells = (parent, child, row.verdict, share, copies, *map(_number, (row.child_rows, row.parent_rows)))
    return (*cells, row.because) if with_reason else cells


def show_explanation(explanation: Explanation, *, as_json: bool, verbose: bool = False) -> None:
    """Print the evidence trail of one pair; *verbose* with every reason of a check."""
    if as_json:
        print_json(explanation.to_json())
        return
    out = console()
    out.print(printable(explanation.says), markup=False, style="bold")
    for evidence in explanation.trail:
        out.print(printable(f"  {evidence.check}: {evidence.verdict}, {evidence.because}"), markup=False)
        for reason in evidence.reasons if verbose else ():
            out.print(printable(f"    {reason}"), markup=False)
    for table, says in explanation.deleted.items():
        out.print(printable(f"  {table}: {says}"), markup=False)
    if explanation.missing_row is not None:
        _show_missing_row(explanation.missing_row)


def _show_missing_row(row: MissingRow) -> None:
    """Draw one line for each column; control characters in values are escaped (HAZARDS 34)."""
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


def show_generated(lake: GeneratedLake, *, truth: Path | None, as_json: bool) -> None:
    """Print how large the generated lake is, and where its files are."""
    report = generated_report(lake, truth)
    if as_json:
        print_json(report.to_json())
        return
    out = console()
    size = bytes_for_people(report.size_bytes)
    tables, rows = counted(report.tables, "tables"), counted(report.rows, "rows")
    out.print(f"[bold]{tables}[/], {rows}, {size} in {plain(report.lake)}")
    out.print(f"How each was made: {plain(report.lineage)}")
    if report.truth:
        out.print(f"What is contained in what: {plain(report.truth)}")
