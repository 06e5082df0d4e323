"""How an update and a finding look on a terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from r2d2.cli.output import bytes_for_people, console, plain, print_json, print_table, printable
from r2d2.cli.show import scan_as_dict, show_absent, show_problems
from r2d2.finding import Finding as Found
from r2d2.finding import Likeness
from r2d2.safety.doctor import Finding
from r2d2.updating import Update

_MOST = 20


def show_update(done: Update, *, state: str, as_json: bool, endangered: Sequence[Finding] = ()) -> None:
    """What changed in the lake, which edges came and went, and which deleted tables are in danger now."""
    if as_json:
        print_json(update_as_dict(done, state) | {"endangered": [asdict(one) for one in endangered]})
        return
    out = console()
    for one in endangered:
        out.print(
            f"[bold red]in danger[/] {plain(one.table)}, which was deleted: {plain(one.because)}. {plain(one.hint)}"
        )
    out.print(f"[bold]{len(done.scan.tables) - len(done.scan.absent):,} tables[/], {plain(_in_words(done))}")
    told = {one.table for one in endangered}
    show_absent({name: known for name, known in done.scan.absent.items() if name not in told})
    changed = done.changes.changed
    if changed:
        rows = ((one.table, str(one.change), one.because) for one in changed[:_MOST])
        print_table(_title("Changed", len(changed)), ("table", "change", "because"), rows)
    for title, pairs in (("New edges", done.gained), ("Edges that are gone", done.lost)):
        if pairs:
            print_table(_title(title, len(pairs)), ("parent", "child"), pairs[:_MOST])
    show_problems(done.scan)
    read, edges = bytes_for_people(done.scan.bytes_read), f"{len(done.scan.graph or ()):,} edges stand"
    kept = done.scan.kept_bytes_read
    out.print(
        f"{edges}; {done.kept_edges:,} were taken over, {done.asked_pairs:,} pairs were asked again, {read} of rows "
        f"{f'and {bytes_for_people(kept)} of kept hashes ' if kept else ''}read. Kept in {plain(state)}."
    )


def _title(what: str, count: int) -> str:
    return f"{what} ({_MOST:,} of {count:,}; --json names all)" if count > _MOST else f"{what} ({count:,})"


def _in_words(done: Update) -> str:
    counts = Counter(str(one.change) for one in done.changes.changed)
    return ", ".join(f"{count:,} {change}" for change, count in counts.items()) or "nothing has changed"


def update_as_dict(done: Update, state: str) -> dict[str, Any]:
    """The JSON shape of `r2d2 update --json`."""
    return scan_as_dict(done.scan, state) | {
        "previous": done.old.run,
        "changed": [asdict(one) | {"change": str(one.change)} for one in done.changes.changed],
        "gained": [{"parent": parent, "child": child} for parent, child in done.gained],
        "lost": [{"parent": parent, "child": child} for parent, child in done.lost],
        "kept_edges": done.kept_edges,
        "asked_pairs": done.asked_pairs,
    }


def show_finding(finding: Found, *, as_json: bool) -> None:
    """What the lake has of a table."""
    if as_json:
        print_json(finding_as_dict(finding))
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
            yield what, one.table, f"{one.containment:.6g}", copies, f"{one.missing_rows:,}", f"{one.rows:,}"


def finding_as_dict(finding: Found) -> dict[str, Any]:
    """The JSON shape of `r2d2 find --json`."""
    return {"is_there": finding.is_there} | asdict(finding)
