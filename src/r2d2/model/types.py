"""Types of columns: parsed from their names, and printed, in this one place.

A type name is the text that schemas, state files and recipes carry: int64, decimal(10,2), timestamp(us,UTC),
list<string>. Formats name their types this way; everybody else asks the parsed `ColumnType`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NUMBERS = ("int", "uint", "float", "decimal")


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of a column's values. Only the fields that its family has are set."""

    family: str  # int, uint, float, decimal, timestamp, time, duration, bool, date, string, list, map, struct, …
    bits: int = 0  # of an int, uint or float
    precision: int = 0  # digits of a decimal …
    scale: int = 0  # … and how many of them follow the point
    unit: str = ""  # of a timestamp, time or duration: s, ms, us or ns
    has_zone: bool = False  # a timestamp that is a point in time
    children: tuple[ColumnType, ...] = ()  # the item of a list; key and value of a map
    text: str = ""  # the name as it was given, of a type that is not taken apart: struct<…>, or unknown to us

    def __str__(self) -> str:
        if self.text:
            return self.text
        if self.children:
            return f"{self.family}<{','.join(map(str, self.children))}>"
        if self.unit:
            return f"{self.family}({self.unit}{',UTC' if self.has_zone else ''})"
        return f"decimal({self.precision},{self.scale})" if self.precision else f"{self.family}{self.bits or ''}"

    @property
    def kind(self) -> str:
        """The class of its values. Values of different kinds are never equal (docs/row-identity.md)."""
        if self.is_number:
            return "number"
        return "timestamp with zone" if self.has_zone else self.family

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers."""
        return self.family in _NUMBERS

    @property
    def is_whole_number(self) -> bool:
        """Whether its values are integers of a fixed width."""
        return self.family in ("int", "uint")

    @property
    def nanoseconds(self) -> int:
        """The length of its unit of time."""
        return NANOSECONDS[self.unit]


@cache
def parse_type(name: str) -> ColumnType:
    """The type of this name. An unknown name keeps its text and is a family of its own.

    >>> parse_type("decimal(10,2)").scale, parse_type("uint8").bits, parse_type("time(ms)").unit
    (2, 8, 'ms')
    >>> str(parse_type("map<string,list<date>>")), parse_type("struct<a:int8>").family
    ('map<string,list<date>>', 'struct')
    """
    for pattern, make in _GRAMMAR:
        found = pattern.fullmatch(name)
        made = make(found) if found else None
        if made is not None and str(made) == name:
            return made
    word = re.match(r"[a-z]+", name)
    family = word.group() if word else name
    return ColumnType(family, text="" if name == family else name)


@cache
def kind_of(name: str) -> str:
    """The class of values that a type of this name holds.

    >>> kind_of("int32"), kind_of("decimal(10,2)"), kind_of("timestamp(us)"), kind_of("timestamp(ms,UTC)")
    ('number', 'number', 'timestamp', 'timestamp with zone')
    >>> kind_of("list<int64>"), kind_of("list<string>"), kind_of("map<string,int32>")
    ('list', 'list', 'map')
    """
    return parse_type(name).kind


def _sized(found: re.Match[str]) -> ColumnType:
    return ColumnType(found[1], bits=int(found[2]))


def _decimal(found: re.Match[str]) -> ColumnType:
    return ColumnType("decimal", precision=int(found[1]), scale=int(found[2]))


def _in_units(found: re.Match[str]) -> ColumnType:
    return ColumnType(found[1], unit=found[2], has_zone=bool(found[3]))


def _list(found: re.Match[str]) -> ColumnType:
    return ColumnType("list", children=(parse_type(found[1]),))


def _map(found: re.Match[str]) -> ColumnType | None:
    parts = tuple(_split(found[1]))
    return ColumnType("map", children=(parse_type(parts[0]), parse_type(parts[1]))) if len(parts) == 2 else None


def _split(text: str) -> Iterator[str]:
    """Yield the parts of *text* between commas that stand in no brackets."""
    depth, start = 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


_GRAMMAR: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], ColumnType | None]], ...] = (
    (re.compile(r"(int|uint|float)([1-9]\d*)", re.ASCII), _sized),
    (re.compile(r"decimal\(([1-9]\d*),(-?\d+)\)", re.ASCII), _decimal),
    (re.compile(r"(timestamp|time|duration)\((s|ms|us|ns)(,UTC)?\)"), _in_units),
    (re.compile(r"list<(.+)>", re.DOTALL), _list),
    (re.compile(r"map<(.+)>", re.DOTALL), _map),
)
