"""Results on stdout, everything else on stderr; tables for people, JSON and CSV for machines."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

_FORMULA = ("=", "+", "-", "@")


def console(*, stderr: bool = False) -> Console:
    """A console that wraps nothing off a terminal, so that lines stay whole in files and pipes."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 400
    return Console(stderr=stderr, width=width, highlight=False, emoji=False, soft_wrap=not stream.isatty())


def printable(text: str) -> str:
    """A name with its control characters escaped: a table may be called anything (HAZARDS 34)."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def plain(text: str) -> str:
    """A name to stand in a text with markup: printable, and with none of its own."""
    return escape(printable(text))


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_json_list(rows: Iterable[Mapping[str, Any]]) -> None:
    """A JSON list, written as its items come."""
    sys.stdout.write("[")
    for number, row in enumerate(rows):
        sys.stdout.write((",\n " if number else "\n ") + json.dumps(row))
    sys.stdout.write("\n]\n")


def print_csv(fields: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """CSV on stdout; control characters are escaped, what a spreadsheet takes for a formula is quoted (HAZARDS 34)."""
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
    """A table for the eye; the columns named in *right* hold numbers."""
    table = RichTable(title=title, title_justify="left", title_style="bold", header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(plain(str(cell)) for cell in row))
    console().print(table)


def bytes_for_people(size: float) -> str:
    """A size with a unit.

    >>> bytes_for_people(999), bytes_for_people(1_234_567)
    ('999 B', '1.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} PB"


def money(amount: float, currency: str) -> str:
    """An amount with as many digits as it takes to see something.

    >>> money(1234.5, "USD"), money(0.0001234, "USD"), money(0, "USD")
    ('1,234.50 USD', '0.00012 USD', '0.00 USD')
    """
    if amount == 0 or abs(amount) >= 1:
        return f"{amount:,.2f} {currency}"
    return f"{Decimal(f'{amount:.2g}'):f} {currency}"
