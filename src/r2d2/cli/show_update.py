"""Print updates and findings, as JSON or drawn for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from r2d2.cli.output import console, plain, print_json, print_table, printable
from r2d2.cli.show import show_deleted, show_problems
from r2d2.model.counted import counted
from r2d2.report.find import Finding as Found
from r2d2.report.find import Likeness
from r2d2.report.update import UpdateReport, changes_in_words, update_report
from r2d2.report.words import bytes_for_people

if TYPE_CHECKING:
    from r2d2.flows.update import Update
    from r2d2.safety.doctor import Finding

_MOST = 20


def show_update(done: Update, *, state: str, as_json: bool, endangered: Sequence[Finding] = ()) -> None:
    """Print what changed in the lake, which edges came and went, and which deleted tables are in danger now."""
    report = update_report(done, state, endangered)
    if as_json:
        print_json(report.to_json())
    else:
        _draw_update(report, changes_in_words(done))


def _draw_update(report: UpdateReport, changes: str) -> None:
    out = console()
    for one in report.endangered:
        out.print(
            f"[bold red]in danger[/] {plain(one.table)}, which was deleted: {plain(one.because)}. {plain(one.hint)}"
        )
    out.print(f"[bold]{counted(report.tables, 'tables')}[/], {plain(changes)}")
    told = {one.table for one in report.endangered}
    show_deleted([one for one in report.deleted if one.table not in told])
    if report.changed:
        rows = ((one.table, str(one.change), one.because) for one in report.changed[:_MOST])
        print_table(_title("Changed", len(report.changed)), ("table", "change", "because"), rows)
    for title, edges in (("New edges", report.gained), ("Edges that are gone", report.lost)):
        if edges:
            pairs = [(edge.parent, edge.child) for edge in edges[:_MOST]]
            print_table(_title(title, len(edges)), ("parent", "child"), pairs)
    show_problems(report.problems)
    out.print(_effort(report))


def _effort(report: UpdateReport) -> str:
    """One line on how much the update had to ask and to read."""
    known = f"{report.kept_edges:,} {_were(report.kept_edges)} taken over"
    asked = f"{counted(report.asked_pairs, 'pairs')} {_were(report.asked_pairs)} asked again"
    read = f"{bytes_for_people(report.bytes_read)} of rows read"
    return f"{_standing(report.edges)}; {known}, {asked}, {read}. Kept in {plain(report.state)}."


def _standing(edges: int) -> str:
    return f"{counted(edges, 'edges')} {'stands' if edges == 1 else 'stand'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _title(what: str, count: int) -> str:
    return f"{what} ({_MOST:,} of {count:,}; --json names all)" if count > _MOST else f"{what} ({count:,})"


def show_finding(finding: Found, *, as_json: bool) -> None:
    """Print what the lake has of a table."""
    if as_json:
        print_json(finding.to_json())
        return
    out = console()
    out.print(printable(f"{finding.path} {finding.says}"), markup=False, style="bold")
    rows = list(islice(_finding_rows(finding), _MOST))
    if rows:
        columns = ("", "table", "containment", "copies", "missing rows", "rows")
        print_table("", columns, rows, ("containment", "missing rows", "rows"))
    for problem in finding.problems:
        what = "could not be read" if problem.needs_a_look else "not compared"
        out.print(printable(f"{what}: {problem.where}: {problem.because}"), markup=False)


def _finding_rows(finding: Found) -> Iterator[tuple[object, ...]]:
    groups: tuple[tuple[str, Iterable[Likeness]], ...] = (
        ("equal to", finding.equal),
        ("contained in", finding.contained_in),
        ("contains", finding.contains),
        ("partly in", finding.nearest),
    )
    for what, found in groups:
        for one in found:
            copies = "all" if one.bag else "too few"
            share = "" if one.containment is None else f"{one.containment:.6g}"
            rows = "" if one.rows is None else f"{one.rows:,}"
            yield what, one.table, share, copies, f"{one.missing_rows:,}", rows
