"""Results on stdout, everything else on stderr; tables for people, JSON and CSV for machines."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

_FORMULA = ("=", "+", "-", "@")


def console(*, stderr: bool = False) -> Console:
    """A console; in files and pipes its lines stay whole."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 400
    return Console(stderr=stderr, width=width, highlight=False, emoji=False, soft_wrap=not stream.isatty())


def printable(text: str) -> str:
    """A name with its control characters escaped: a table may be called anything (HAZARDS 34)."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def plain(text: str) -> str:
    """A name that is safe inside a text with markup: printable, and its own markup escaped."""
    return escape(printable(text))


def print_json(value: Any) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_json_list(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a JSON list item by item."""
    sys.stdout.write("[")
    for number, row in enumerate(rows):
        sys.stdout.write((",\n " if number else "\n ") + json.dumps(row))
    sys.stdout.write("\n]\n")


def print_csv(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Print CSV on stdout with control characters escaped and formulas of spreadsheets quoted (HAZARDS 34)."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(fields)
    for row in rows:
        writer.writerow([_harmless(row[field]) for field in fields])


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return "'" + shown if shown.startswith(_FORMULA) else shown


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()
) -> None:
    """Draw a table; the columns named in *right* hold numbers."""
    table = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(plain(str(cell)) for cell in row))
    console().print(table)
