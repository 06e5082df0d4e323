"""Figures in Markdown pages: numbers with a unit, and the numbers of the result files that a page links to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COUNTED = (
    "tables?|rows?|edges?|pairs?|files?|columns?|schemas?|families|footers?|tasks?|jobs?|lines?|values?|hashes|digits"
    "|characters|slices|sentences|entries|classes"
)
_MEASURED = "%|percent|ns|ms|s|seconds?|milliseconds?|minutes?|hours?|days?|bytes?|[kMGT]i?B|times|USD"
_IN_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half"
_NUMBER = r"(?<![\w.,⁰-⁹^-])(?!0\d)\d+(?:,\d{3})*(?:\.\d+)?(?: (?:million|billion)| M\b)?"
_FIGURE = re.compile(
    rf"(?P<number>{_NUMBER})(?:[ -]?(?P<unit>{_MEASURED})(?!\w)| (?:(?!a |an |by |of |every )[a-z]+ )?(?:{_COUNTED})\b)"
    rf"|\b(?:{_IN_WORDS}) (?:percent|seconds?|milliseconds?|minutes?|hours?|days?|times|[kMGT]B)\b"
)
_BARE = re.compile(rf"(?<!Theorem )(?P<number>{_NUMBER})(?P<unit>)(?![\w.]*\w)")
_UNIT = re.compile(rf"(?:.*\s)?(?P<unit>{_MEASURED}|{_COUNTED})\b.*")
_LINK = re.compile(r"\]\(([^)#]*benchmarks/results/[^)#]+\.json)\)")
_ABOUT = {"date", "commit", "machine"}  # keys of a result file that measure nothing
# The scales of a result file (seconds, MB, bytes, shares) that a unit may be written for.
_SCALES = {"ms": (1, 1e-3), "%": (1, 0.01), "kB": (1, 1e3), "MB": (1, 1e6), "GB": (1, 1e3, 1e9)}
_FACTORS = {"million": 1e6, "M": 1e6, "billion": 1e9}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in a block of text; its number is empty if it is in words."""

    text: str
    number: str
    unit: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, item, table or sample of a page in one line, with its figures and the result files it links to."""

    text: str
    figures: tuple[Figure, ...]
    results: tuple[Path, ...]


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page; a table takes the links of its neighbours. Programs and JSON are left out."""
    parts = [part.strip("\n") for part in _parts(page.read_text())]
    linked = [[(page.parent / target).resolve() for target in _LINK.findall(part)] for part in parts]
    for number, part in enumerate(parts):
        near = linked[max(0, number - 1) : number + 2] if part.startswith("|") else [linked[number]]
        results = tuple(path for paths in near for path in paths)
        yield Block(_one_line(part), tuple(_figures(part, every_number=bool(linked[number]))), results)


def _parts(text: str) -> Iterator[str]:
    for number, part in enumerate(re.split(r"^```", text, flags=re.MULTILINE)):
        if number % 2 == 0:
            yield from (block for block in re.split(r"\n\s*\n|\n(?=- |\d+\. )", part) if block.strip())
        elif part.startswith("\n"):  # a fence without the name of a language: commands and what they print
            yield part


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _figures(part: str, *, every_number: bool) -> list[Figure]:
    """Numbers with a unit, in a table also by its head; beside a link to a result file, every number."""
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", lambda found: " " * len(found[0]), _one_line(part))
    found = {match.start(): match for match in _BARE.finditer(text)} if every_number else {}
    found |= {match.start(): match for match in _FIGURE.finditer(text)}
    figures = {at: Figure(m[0], m["number"] or "", m["unit"] or "", at, m.end()) for at, m in found.items()}
    if part.startswith("|"):
        figures = {figure.start: figure for figure in _in_cells(part.splitlines())} | figures
    return [figure for _, figure in sorted(figures.items())]


def _in_cells(lines: list[str]) -> Iterator[Figure]:
    """Bare numbers in the columns of a table whose head names a unit."""
    units = [_UNIT.fullmatch(cell.strip()) for cell in lines[0].split("|")]
    start = 0
    for line in map(_one_line, lines):
        place = start
        for cell, unit in zip(line.split("|"), units, strict=False):
            if unit and (found := re.match(rf"\s*({_NUMBER})\s*$", cell)):
                yield Figure(found[1], found[1], unit["unit"], place + found.start(1), place + found.end(1))
            place += len(cell) + 1
        start += len(line) + 1


def numbers(value: Any) -> Iterator[float]:
    """All numbers in the content of a result file, those in its texts included."""
    if isinstance(value, Path):
        yield from numbers(json.loads(value.read_text()))
    elif isinstance(value, dict):
        yield from (number for key, item in value.items() if key not in _ABOUT for number in numbers(item))
    elif isinstance(value, list):
        yield from (number for item in value for number in numbers(item))
    elif isinstance(value, str):
        yield from (float(number.replace(",", "")) for number in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", value))
    else:
        yield float(value)


def is_among(figure: Figure, known: set[float]) -> bool:
    """Whether a figure is one of the known numbers, rounded as it is written."""
    if not figure.number:
        return False
    written, _, factor = figure.number.partition(" ")
    shown, digits = float(written.replace(",", "")), len(written.partition(".")[2])
    scales = [_FACTORS.get(factor, 1) * scale for scale in _SCALES.get(figure.unit, (1,))]
    return any(round(number / scale, digits) == shown for number in known for scale in scales)
