"""Columns by name and type: what a table could hold, before any of its rows is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

Token = tuple[str, ...]
"""Where a column stands in the schema tree: ("a.b",) is a column named `a.b`, ("a", "b") field b of struct a."""

_PLAIN = re.compile(r"[^\W\d][\w$-]*|\d+", re.UNICODE)


def spell(token: Token) -> str:
    """The token as a user would write it: parts joined by dots, odd parts in backticks.

    >>> spell(("customer", "id")), spell(("customer.id",)), spell(("unit price",))
    ('customer.id', '`customer.id`', '`unit price`')
    """
    return ".".join(part if _PLAIN.fullmatch(part) else f"`{part.replace('`', '``')}`" for part in token)


@cache
def kind_of(type_name: str) -> str:
    """The class of values a type holds. Values of different kinds are never equal (docs/row-identity.md).

    >>> kind_of("int32"), kind_of("decimal(10,2)"), kind_of("timestamp(us)"), kind_of("timestamp(ms,UTC)")
    ('number', 'number', 'timestamp', 'timestamp with zone')
    >>> kind_of("list<int64>"), kind_of("list<string>"), kind_of("map<string,int32>")
    ('list', 'list', 'map')
    """
    head = re.match(r"[a-z]+", type_name)
    word = head.group() if head else type_name
    if word in ("int", "uint", "float", "decimal"):
        return "number"
    if word == "timestamp":
        return "timestamp with zone" if "," in type_name else "timestamp"
    return word


class Column(NamedTuple):
    """One leaf of the flattened schema. A named tuple: a lake has millions, and they are hashed and sorted."""

    token: Token
    type_name: str  # the reader's name for it: int64, decimal(10,2), timestamp(us,UTC), list<string> …

    @property
    def kind(self) -> str:
        """The class of values it can hold."""
        return kind_of(self.type_name)

    def __str__(self) -> str:
        return spell(self.token)


@dataclass(frozen=True, slots=True)
class Schema:
    """The flattened columns of a table, in order of their tokens. Position in the file means nothing."""

    columns: tuple[Column, ...]

    @staticmethod
    def of(columns: Iterable[Column]) -> Schema:
        """The schema with these columns, in whatever order they come."""
        return Schema(tuple(sorted(columns)))

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Every column's token."""
        return tuple(column.token for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)
